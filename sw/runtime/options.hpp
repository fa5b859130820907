// SPDX-License-Identifier: Apache-2.0
// Firmware's part of the machine's config, and the scratch that follows from it.
#pragma once

#include <cstdint>

#include "models/abi/address.hpp"
#include "models/config/machine_config.hpp"
#include "models/numeric/types.hpp"
#include "models/types/ids.hpp"
#include "models/types/time.hpp"

namespace diecast::sw {

/// Firmware parameters, from the config; cycles of the PE's clock.
struct runtime_options {
  std::uint64_t call_cycles{20};  ///< charged once per runtime call
  std::uint64_t task_switch_cycles{12};
  std::uint64_t poll_cycles{100};  ///< backpressure = poll
  bool poll{};                     ///< poll instead of sleeping
  std::uint64_t task_stack_bytes{65536};
  std::uint64_t tcm_base{};  ///< physical address of this PE's TCM
  config::accumulation accumulate{config::accumulation::elem};
  std::uint64_t slot_bytes{};           ///< ipcq.slot_bytes, of the outboxes of f32_acc
  bool split_sendrecv{};                ///< comm.sendrecv: exchange as isend, irecv and waitall
  std::uint64_t registration_cycles{};  ///< comm.registration_cycles, without the monitor; else 0
  bool sendrecv_pages{};                ///< comm.sendrecv_staging, where the one-call form has use for it
  bool through_host{};                  ///< comm.path is staged: the one-call form needs no pages
  std::uint64_t staging_bytes{};        ///< staging pages at the end of a kernel's scratch
  bool end_to_end{};                    ///< comm.checksum: of buffers, too
  /// Longest piece of a computation between two turns of the other tasks.
  std::uint64_t quantum_cycles{200};
  config::tag_match_block tag_match;
  /// Physical address of a place as kernels name it: an offset in this PE's TCM, or, above all of these, a
  /// physical address already.
  [[nodiscard]] abi::address address_of(std::uint64_t place) const {
    return place > abi::max_offset ? place : tcm_base + place;
  }
  sim_time connect, entry_signal, exit;  ///< ccl.connect_ns, entry_signal_ns and exit_ns of a collective
  sim_time start_delay;  ///< a straggler's: from the launch's common start to the first instruction
};
[[nodiscard]] runtime_options options_from(const config::machine_config& c, pe_coord pe);

/// Scratch the runtime itself needs on top of a kernel's: with receive rings outside TCM a slot is
/// fetched here before it is reduced. It is the end of kernel_arguments::scratch. 0 with rings in TCM.
[[nodiscard]] std::uint64_t staging_bytes(const config::machine_config& c);
/// Scratch in front of staging: a slot for sends and one for receives, where some sendrecv uses pages.
[[nodiscard]] std::uint64_t page_bytes(const config::machine_config& c);

/// f16 and bf16 are summed in f32 in this mode.
[[nodiscard]] bool widens(config::accumulation mode, numeric::dtype type);
/// Outgoing pieces that f32_acc keeps in addition to the wide vector.
inline constexpr std::uint64_t outboxes = 8;
/// The vector in f32, whole cache lines.
[[nodiscard]] constexpr std::uint64_t wide_vector_bytes(std::uint64_t count) {
  return abi::aligned(count * 4);
}
/// Scratch in front of a kernel's own that pe_context::widen needs; 0 when it does not widen.
[[nodiscard]] std::uint64_t wide_bytes(const config::machine_config& c, std::uint64_t count,
                                       numeric::dtype type);

}  // namespace diecast::sw
