// SPDX-License-Identifier: Apache-2.0
#include "sw/host/collective.hpp"

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <optional>

#include "models/abi/address.hpp"
#include "models/abi/dispatch_table.hpp"
#include "models/comm/hbm_tensor.hpp"
#include "models/config/faults.hpp"
#include "models/config/text.hpp"
#include "models/types/error.hpp"
#include "sw/host/hbm_tensors.hpp"
#include "sw/runtime/options.hpp"

namespace diecast::sw {
namespace {

using abi::aligned;
using comm::collective;

bool wide(const kernel_entry& kernel, const argument_context& launch) {
  return accumulates_wide(kernel, launch.config.ccl.accumulate, launch.type);
}

std::uint64_t kernel_scratch(const kernel_entry& kernel, const argument_context& launch) {
  if (!wide(kernel, launch)) return kernel.scratch_bytes(launch);
  argument_context as_f32 = launch;
  as_f32.type = numeric::dtype::f32;
  as_f32.in_place = true;
  return wide_part(kernel, launch) + kernel.scratch_bytes(as_f32);
}

/// Elements before the block of `rank`.
std::uint64_t block_begin(const kernel_entry& kernel, const argument_context& launch, std::uint32_t rank) {
  const comm::collective_shape s = shape_of(kernel, launch);
  return comm::part_of(s.count, rank, s.ranks).begin;
}

bool gathers(const kernel_entry& kernel, const argument_context& launch) {
  const collective what = shape_of(kernel, launch).what;
  return what == collective::all_gather || what == collective::gather;
}

bool scatters(const kernel_entry& kernel, const argument_context& launch) {
  const collective what = shape_of(kernel, launch).what;
  return what == collective::reduce_scatter || what == collective::scatter;
}

}  // namespace

bool in_place(const kernel_entry& kernel, const argument_context& launch) {
  return launch.in_place && !comm::never_in_place(shape_of(kernel, launch).what);
}

tensor_room room_of(const kernel_entry& kernel, const argument_context& launch) {
  const std::uint64_t element = numeric::size_of(launch.type);
  const comm::collective_shape s = shape_of(kernel, launch);
  const std::uint64_t input = aligned(largest_input(s) * element);
  const std::uint64_t output = aligned(largest_output(s) * element);
  if (in_place(kernel, launch)) return {0, std::max(input, output)};
  return {input, input + output};
}

std::uint64_t wide_part(const kernel_entry& kernel, const argument_context& launch) {
  return wide(kernel, launch) ? wide_bytes(launch.config, launch.count, launch.type) : 0;
}

std::uint64_t scratch_room(const kernel_entry& kernel, const argument_context& launch) {
  return aligned(kernel_scratch(kernel, launch)) + aligned(staging_bytes(launch.config)) +
         page_bytes(launch.config);
}

std::uint64_t input_part(const kernel_entry& kernel, const argument_context& launch, std::uint32_t rank) {
  if (!gathers(kernel, launch) || !in_place(kernel, launch)) return 0;
  return block_begin(kernel, launch, rank) * numeric::size_of(launch.type);
}

std::uint64_t output_part(const kernel_entry& kernel, const argument_context& launch, std::uint32_t rank) {
  if (!scatters(kernel, launch) || !in_place(kernel, launch)) return 0;
  return block_begin(kernel, launch, rank) * numeric::size_of(launch.type);
}

std::uint64_t input_origin(const kernel_entry& kernel, const argument_context& launch, std::uint32_t rank) {
  return gathers(kernel, launch) && !in_place(kernel, launch) ? block_begin(kernel, launch, rank) : 0;
}

std::uint64_t output_origin(const kernel_entry& kernel, const argument_context& launch, std::uint32_t rank) {
  return scatters(kernel, launch) && !in_place(kernel, launch) ? block_begin(kernel, launch, rank) : 0;
}

abi::kernel_arguments common_arguments(const argument_context& launch, std::uint32_t rank) {
  abi::kernel_arguments a;
  a.count = launch.count;
  a.type = launch.type;
  a.op = launch.op;
  a.rank = rank;
  a.ranks = static_cast<std::uint32_t>(launch.members.members.size());
  return a;
}

namespace {

std::string names_of(const std::vector<comm::rank_set>& sets) {
  std::string text;
  for (const comm::rank_set s : sets) text += (text.empty() ? "" : ", ") + std::string{comm::to_string(s)};
  return text;
}

abi::address tcm_address(pe_coord pe, std::uint64_t offset) {
  return abi::encode({pe.sip, pe.cube, abi::region::tcm, pe.pe.value, offset});
}

}  // namespace

void install(abi::host_hal& host, const comm::install_plan& plan, config::install_kind how) {
  std::vector<abi::pe_register_write> writes;
  for (const comm::queue_pair_install& q : plan.queue_pairs) {
    if (q.owner.sip != host.self()) continue;
    for (const comm::register_write& w : comm::register_writes(q))
      writes.push_back({q.owner, w.reg, w.value});
  }
  if (how == config::install_kind::timed) {
    host.write_registers(writes);
  } else {
    for (const abi::pe_register_write& w : writes) host.debug_write_register(w.pe, w.reg, w.value);
  }
  // The tag-matching units take no writes from the fabric.
  if (!plan.messages) return;
  for (const pe_coord pe : plan.messages->pes) {
    if (pe.sip != host.self()) continue;
    for (const comm::register_write& w : comm::register_writes(*plan.messages, pe))
      host.debug_write_register(pe, w.reg, w.value);
  }
}

tcm_layout lay_out(const kernel_entry& kernel, const argument_context& launch) {
  if (lies_in_hbm(kernel, launch)) {
    const chunk_layout chunks = lay_out_chunks(kernel, launch);
    return {chunks.buffer, chunks.buffer + chunks.output, chunks.plan, chunks.end - chunks.plan, chunks.end};
  }
  tcm_layout l;
  l.input = launch.tcm_base;
  const tensor_room room = room_of(kernel, launch);
  l.output = l.input + room.output;
  l.scratch = l.input + room.bytes;
  l.scratch_bytes = scratch_room(kernel, launch);
  l.end = l.scratch + l.scratch_bytes;
  return l;
}

namespace {

std::optional<shortage> check_tcm_tensors(const kernel_entry& kernel, const argument_context& launch,
                                          std::vector<problem>& problems) {
  const std::uint64_t tcm = launch.config.pe.tcm_kib * 1024;
  // A count that is larger than any memory is compared before laying out, so that no product can wrap.
  constexpr std::uint64_t countable = std::uint64_t{1} << 30;
  const std::uint64_t needed = launch.count > countable         ? launch.count
                               : launch.members.members.empty() ? 0
                                                                : lay_out(kernel, launch).end;
  if (needed <= tcm) return std::nullopt;
  const bool may_move = !launch.in_workload;
  problems.push_back({"bytes",
                      fmt::format("the tensors of {} do not fit the TCM of a PE (pe.tcm_kib)", kernel.name),
                      fmt::format("{} elements of {}", launch.count, numeric::to_string(launch.type)),
                      fmt::format("input, output and scratch within {} bytes{}", tcm,
                                  may_move ? ", or ccl.tensor_kind=hbm" : "")});
  return shortage{"TCM", needed, tcm, may_move ? "ccl.tensor_kind=hbm" : ""};
}

}  // namespace

void check_launch(const kernel_entry& kernel, const argument_context& launch) {
  std::vector<problem> problems;
  std::optional<shortage> lack;
  const auto& sets = kernel.rank_sets;
  if (std::ranges::find(sets, launch.members.set) == sets.end()) {
    problems.push_back({"ranks", fmt::format("{} does not run on this rank set", kernel.name),
                        comm::to_string(launch.members.set), names_of(sets)});
  }
  const std::size_t ranks = launch.members.members.size();
  if (ranks == 0) problems.push_back({"group", "a collective needs a member", "0", "at least 1"});
  const auto what = comm::collective_named(kernel.collective);
  if (ranks > 0 && what && comm::has_root(*what) && launch.root >= ranks) {
    problems.push_back({"ccl.root_rank", "the root is no member of the group", std::to_string(launch.root),
                        fmt::format("0 to {}", ranks - 1)});
  }
  const bool narrow = widens(launch.config.ccl.accumulate, launch.type) && what && comm::reduces(*what);
  if (narrow && (*what != comm::collective::all_reduce || kernel.element_sums)) {
    problems.push_back(
        {"ccl.accumulation",
         fmt::format("{} {} sums in its element type only", kernel.collective, kernel.name),
         launch.config.ccl.accumulate == config::accumulation::f32_acc ? "f32_acc" : "f32_wire",
         "elem, or --dtype f32"});
  }
  if (!lies_in_hbm(kernel, launch)) {
    lack = check_tcm_tensors(kernel, launch, problems);
  } else if (problems.empty()) {
    lack = check_hbm_tensors(kernel, launch, problems);
  }
  if (lack && problems.size() == 1) throw shortage_error(std::move(problems), *lack);
  if (!problems.empty()) throw user_error(std::move(problems));
}

abi::kernel_arguments make_arguments(const kernel_entry& kernel, const argument_context& launch,
                                     std::uint32_t rank) {
  const tcm_layout layout = lay_out(kernel, launch);
  abi::kernel_arguments a = common_arguments(launch, rank);
  a.scratch = layout.scratch;
  a.scratch_bytes = layout.scratch_bytes;
  if (lies_in_hbm(kernel, launch)) {
    const hbm_tensors tensors = tensors_of(kernel, launch, rank);
    a.input = tensors.input.first;
    a.output = tensors.output.first;
    return a;
  }
  a.input = layout.input + input_part(kernel, launch, rank);
  a.output = layout.output + output_part(kernel, launch, rank);
  if (kernel.fill != nullptr) kernel.fill(launch, rank, a);
  return a;
}

std::vector<abi::pe_launch> make_launches(const kernel_entry& kernel, std::uint32_t kernel_index,
                                          const argument_context& launch, sip_id sip, std::uint32_t launch_id,
                                          sim_time target_start) {
  std::vector<abi::pe_launch> launches;
  for (std::uint32_t rank = 0; rank < launch.members.members.size(); ++rank) {
    const pe_coord pe = launch.members.members[rank];
    if (pe.sip != sip) continue;
    launches.push_back({pe, {kernel_index, launch_id, target_start, make_arguments(kernel, launch, rank)}});
  }
  return launches;
}

void load_image(abi::host_hal& host, const kernel_entry& kernel, const argument_context& launch,
                std::uint32_t rank, const abi::kernel_arguments& arguments) {
  const pe_coord pe = launch.members.members[rank];
  if (lies_in_hbm(kernel, launch)) return load_chunk_images(host, kernel, launch, rank);
  if (kernel.image == nullptr) return;
  const std::vector<std::uint64_t> words = kernel.image(launch, rank);
  write_tcm(host, pe, arguments.scratch + wide_part(kernel, launch), std::as_bytes(std::span(words)));
}

void load_images(abi::host_hal& host, const kernel_entry& kernel, const argument_context& launch,
                 std::span<const abi::kernel_arguments> arguments) {
  for (std::uint32_t rank = 0; rank < launch.members.members.size(); ++rank) {
    if (launch.members.members[rank].sip != host.self()) continue;
    load_image(host, kernel, launch, rank, arguments[rank]);
  }
}

namespace {

/// The tensor in HBM behind `t`, and the offset of the member's contribution or result in it.
struct hbm_part {
  comm::hbm_tensor tensor;
  std::uint64_t offset{};
};
hbm_part part_in_hbm(const member_launch& m, tensor t) {
  const hbm_tensors tensors = tensors_of(m.kernel, m.launch, m.rank);
  if (t == tensor::input) return {tensors.input, input_part(m.kernel, m.launch, m.rank)};
  return {tensors.output, output_part(m.kernel, m.launch, m.rank)};
}

/// Calls use(address, done, bytes) for every stretch of memory that `bytes` of a member's part lie in, in
/// order.
template <class Use>
void for_stretches(const member_launch& m, tensor t, std::uint64_t bytes, const Use& use) {
  if (lies_in_hbm(m.kernel, m.launch)) {
    const hbm_part part = part_in_hbm(m, t);
    part.tensor.for_stripes(part.offset, bytes, use);
  } else {
    const std::uint64_t offset = t == tensor::input ? m.arguments.input : m.arguments.output;
    use(tcm_address(m.launch.members.members[m.rank], offset), 0, bytes);
  }
}

}  // namespace

void write_tensor(abi::host_hal& host, const member_launch& m, tensor t, std::span<const std::byte> bytes) {
  for_stretches(m, t, bytes.size(), [&](abi::address to, std::uint64_t done, std::uint64_t n) {
    host.debug_write(to, bytes.subspan(done, n));
  });
}

void read_tensor(abi::host_hal& host, const member_launch& m, tensor t, std::span<std::byte> bytes) {
  for_stretches(m, t, bytes.size(), [&](abi::address from, std::uint64_t done, std::uint64_t n) {
    host.debug_read(from, bytes.subspan(done, n));
  });
}

void write_tcm(abi::host_hal& host, pe_coord pe, std::uint64_t offset, std::span<const std::byte> bytes) {
  host.debug_write(tcm_address(pe, offset), bytes);
}

void read_tcm(abi::host_hal& host, pe_coord pe, std::uint64_t offset, std::span<std::byte> bytes) {
  host.debug_read(tcm_address(pe, offset), bytes);
}

void set_errata(abi::host_hal& host, const config::machine_config& config, std::span<const pe_coord> members,
                abi::errata_word for_all) {
  for (const pe_coord pe : members) {
    const std::uint64_t errata = for_all.bits | config::errata_of(config, pe);
    if (pe.sip == host.self() && errata != 0) host.debug_write_register(pe, abi::core_errata, errata);
  }
}

namespace {

/// Address to which a PE's monitor redirects an entry.
std::uint64_t patched_target(const config::machine_config& c, pe_coord pe, abi::entry_point e) {
  const auto fault = std::ranges::find_if(c.faults, [&](const config::fault_setting& f) {
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
