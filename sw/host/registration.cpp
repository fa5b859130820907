// SPDX-License-Identifier: Apache-2.0
#include "sw/host/registration.hpp"

#include <algorithm>
#include <cstdint>

#include "models/abi/dispatch_table.hpp"
#include "models/config/faults.hpp"
#include "models/config/text.hpp"

namespace diecast::sw {

void set_errata(abi::host_hal& host, const config::machine_config& config, std::span<const pe_coord> members,
                abi::errata_word asked) {
  for (const pe_coord pe : members) {
    const std::uint64_t errata = asked.bits | config::errata_of(config, pe);
    if (pe.sip == host.self() && errata != 0) host.debug_write_register(pe, abi::core_errata, errata);
  }
}

namespace {

/// Where the monitor of a PE leads an entry.
std::uint64_t patched_target(const config::machine_config& c, pe_coord pe, abi::entry_point e) {
  const auto fault = std::find_if(c.faults.begin(), c.faults.end(), [&](const config::fault_setting& f) {
    return f.kind == config::fault_kind::dispatch_corruption &&
           config::matches(f.where, pe_path(c.shape(), pe));
  });
  if (fault == c.faults.end()) return abi::stub_of(e);
  if (fault->variant == "wrong_routine") return abi::sleep_routine;
  constexpr std::uint64_t half = 0xFFFF'FFFF;
  return abi::routine_of(e) << 32 | half;  // an address in the wrong half of the word
}

}  // namespace

void register_memory(abi::host_hal& host, const config::machine_config& config,
                     std::span<const pe_coord> members) {
  if (config.comm.monitor == config::mr_cache_monitor::disabled) return;
  for (const pe_coord pe : members) {
    if (pe.sip != host.self()) continue;
    const abi::address table =
        abi::encode({pe.sip, pe.cube, abi::region::tcm, pe.pe.value, config.pe.tcm_kib * 1024});
    abi::dispatch_image words{};
    const auto bytes = std::as_writable_bytes(std::span{words});
    host.debug_read(table, bytes);
    for (unsigned i = 0; i < abi::entry_points; ++i) {
      words.at(abi::entry_points + i) = words.at(i);
      words.at(i) = patched_target(config, pe, static_cast<abi::entry_point>(i));
    }
    host.debug_write(table, bytes);
  }
}

}  // namespace diecast::sw
