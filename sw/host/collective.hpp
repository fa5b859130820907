// SPDX-License-Identifier: Apache-2.0
// A collective as the host prepares it.
//
// TCM that a kernel needs on a PE for a launch, and a member's own parts of the vectors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "models/abi/errata.hpp"
#include "models/abi/hal.hpp"
#include "models/abi/launch.hpp"
#include "models/comm/install_plan.hpp"
#include "models/config/machine_config.hpp"
#include "sw/collectives/base/kernel_table.hpp"

namespace diecast::sw {

/// Input and output are one vector.
[[nodiscard]] bool in_place(const kernel_entry& kernel, const argument_context& launch);

/// Input and output, whole lines each; `output` counts from the input.
struct tensor_room {
  std::uint64_t output{};
  std::uint64_t bytes{};
};
[[nodiscard]] tensor_room room_of(const kernel_entry& kernel, const argument_context& launch);

/// Bytes of the f32 vector in front of the kernel's scratch, on which sums in f32 work; 0 otherwise.
[[nodiscard]] std::uint64_t wide_part(const kernel_entry& kernel, const argument_context& launch);
/// Scratch with all of this, in whole lines.
[[nodiscard]] std::uint64_t scratch_room(const kernel_entry& kernel, const argument_context& launch);

/// Where a member's contribution begins in the input vector, and its result in the output: in place,
/// gathering collectives take it from its own block, scattering ones leave it there. Bytes.
[[nodiscard]] std::uint64_t input_part(const kernel_entry& kernel, const argument_context& launch,
                                       std::uint32_t rank);
[[nodiscard]] std::uint64_t output_part(const kernel_entry& kernel, const argument_context& launch,
                                        std::uint32_t rank);

/// Elements of the vector before the first of a member's input, and of its output, where the tensor is one
/// block alone: not in place.
[[nodiscard]] std::uint64_t input_origin(const kernel_entry& kernel, const argument_context& launch,
                                         std::uint32_t rank);
[[nodiscard]] std::uint64_t output_origin(const kernel_entry& kernel, const argument_context& launch,
                                          std::uint32_t rank);

/// A member's arguments except places and the kernel's own parameters.
[[nodiscard]] abi::kernel_arguments common_arguments(const argument_context& launch, std::uint32_t rank);

// The host's side of a collective: wiring the queue pairs, placing tensors, making the arguments of
// every PE. The machine is reached through abi::host_hal alone.

/// Writes the registers of the plan's queue pairs that belong to the host's SIP: by the backdoor, or over
/// the fabric (ccl.install).
void install(abi::host_hal& host, const comm::install_plan& plan,
             config::install_kind how = config::install_kind::backdoor);

/// Where the tensors of one launch lie in the TCM of every member, from tcm_base upwards: input,
/// output, scratch. `end` is what the install plan must leave free of rings. With tensors in HBM, input and
/// output are those of the first chunk, and `scratch` is where the plan of the chunks lies.
///
/// In place, input and output are one vector of `count` elements: gathering collectives (all_gather,
/// gather) take a rank's contribution from its own part of it, scattering ones (reduce_scatter, scatter)
/// leave its result there, as NCCL's do. all_to_all and send_recv are never in place. Every member has the
/// whole of both tensors, also where it contributes or receives nothing: kernels work there.
struct tcm_layout {
  std::uint64_t input{};
  std::uint64_t output{};
  std::uint64_t scratch{};
  std::uint64_t scratch_bytes{};
  std::uint64_t end{};
};
/// Offsets are multiples of 64 bytes.
[[nodiscard]] tcm_layout lay_out(const kernel_entry& kernel, const argument_context& launch);

/// Throws user_error with every reason why this launch cannot be made: a rank set the kernel does
/// not run on (and which it does), no members, tensors beyond the TCM or the HBM ports of a PE.
void check_launch(const kernel_entry& kernel, const argument_context& launch);

/// Arguments of one member. Precondition: check_launch passed, rank < members.
[[nodiscard]] abi::kernel_arguments make_arguments(const kernel_entry& kernel, const argument_context& launch,
                                                   std::uint32_t rank);

/// The launches of the members that live on `sip`, in rank order. `kernel_index` is the kernel's
/// place in the table the PEs were built with.
[[nodiscard]] std::vector<abi::pe_launch> make_launches(const kernel_entry& kernel,
                                                        std::uint32_t kernel_index,
                                                        const argument_context& launch, sip_id sip,
                                                        std::uint32_t launch_id, sim_time target_start);

/// Writes the image of the kernel (kernel_entry::image), if it has one, to the start of the scratch of a
/// member, after the wide vector of sums in f32; with tensors in HBM the plan of the chunks, too. By the
/// backdoor.
void load_image(abi::host_hal& host, const kernel_entry& kernel, const argument_context& launch,
                std::uint32_t rank, const abi::kernel_arguments& arguments);
/// load_image() for all members of this SIP. `arguments`: those of all members, in rank order.
void load_images(abi::host_hal& host, const kernel_entry& kernel, const argument_context& launch,
                 std::span<const abi::kernel_arguments> arguments);

/// A member's launch. `arguments`: what make_arguments gave for it.
struct member_launch {
  const kernel_entry& kernel;
  const argument_context& launch;
  std::uint32_t rank{};
  const abi::kernel_arguments& arguments;
};
/// A member's contribution, or its result.
enum class tensor : std::uint8_t { input, output };
/// Backdoor copies to and from a tensor of a member of the host's SIP, wherever ccl.tensor_kind has it.
void write_tensor(abi::host_hal& host, const member_launch& m, tensor t, std::span<const std::byte> bytes);
void read_tensor(abi::host_hal& host, const member_launch& m, tensor t, std::span<std::byte> bytes);

/// Backdoor copies to and from the TCM of a PE of the host's SIP.
void write_tcm(abi::host_hal& host, pe_coord pe, std::uint64_t offset, std::span<const std::byte> bytes);
void read_tcm(abi::host_hal& host, pe_coord pe, std::uint64_t offset, std::span<std::byte> bytes);

// The host writes these once, before the first launch: firmware defects as bits of the PEs' errata registers,
// and dispatch tables.

/// Writes, by the backdoor, the errata registers of those `members` that are in the host's SIP: the
/// bits of the config's faults for each, and the bits `for_all` (ccl.errata). PEs without any keep
/// their reset value. Once, before the first launch: nothing else writes them.
void set_errata(abi::host_hal& host, const config::machine_config& config, std::span<const pe_coord> members,
                abi::errata_word for_all = {});

// The monitor of the registration cache: an agent of the host that watches allocations by leading the entries
// of each PE's dispatch table (models/abi/dispatch_table.hpp) over stubs of its own, once memory is
// registered.

/// Registers the memory of those of `members` that are of the host's SIP; nothing to do with
/// comm.mr_cache_monitor = disabled. With the fault dispatch_corruption the monitor writes wrong targets.
void register_memory(abi::host_hal& host, const config::machine_config& config,
                     std::span<const pe_coord> members);

}  // namespace diecast::sw
