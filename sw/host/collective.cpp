// SPDX-License-Identifier: Apache-2.0
#include "sw/host/collective.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "models/abi/alignment.hpp"
#include "models/types/error.hpp"
#include "sw/runtime/pe_context.hpp"

namespace diecast::sw {
namespace {

using abi::aligned;

bool in_place(comm::collective what, const argument_context& launch) {
  return launch.in_place && what != comm::collective::all_to_all && what != comm::collective::send_recv;
}

/// With sums in f32 a kernel works in place on an f32 vector in front of its own scratch; 0 otherwise.
std::uint64_t wide_part(const kernel_entry& kernel, const argument_context& launch) {
  if (!accumulates_wide(kernel, launch.config.ccl.accumulate, launch.type)) return 0;
  return wide_bytes(launch.config, launch.count, launch.type);
}

std::uint64_t scratch_of(const kernel_entry& kernel, const argument_context& launch) {
  if (!accumulates_wide(kernel, launch.config.ccl.accumulate, launch.type))
    return kernel.scratch_bytes(launch);
  argument_context wide = launch;
  wide.type = numeric::dtype::f32;
  wide.in_place = true;
  return wide_part(kernel, launch) + kernel.scratch_bytes(wide);
}

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
    for (const comm::register_write& w : comm::register_writes(q)) {
      writes.push_back({q.owner, w.reg, w.value});
    }
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
    for (const comm::register_write& w : comm::register_writes(*plan.messages, pe)) {
      host.debug_write_register(pe, w.reg, w.value);
    }
  }
}

tcm_layout lay_out(const kernel_entry& kernel, const argument_context& launch) {
  const std::uint64_t element = numeric::size_of(launch.type);
  const comm::collective_shape s = shape_of(kernel, launch);
  const std::uint64_t input = aligned(largest_input(s) * element);
  const std::uint64_t output = aligned(largest_output(s) * element);
  tcm_layout l;
  l.input = launch.tcm_base;
  l.output = in_place(s.what, launch) ? l.input : l.input + input;
  l.scratch = l.output + (l.output == l.input ? std::max(input, output) : output);
  l.scratch_bytes = aligned(scratch_of(kernel, launch)) + aligned(staging_bytes(launch.config));
  l.end = l.scratch + l.scratch_bytes;
  return l;
}

void check_launch(const kernel_entry& kernel, const argument_context& launch) {
  std::vector<problem> problems;
  const auto& sets = kernel.rank_sets;
  if (std::find(sets.begin(), sets.end(), launch.members.set) == sets.end()) {
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
  const std::uint64_t tcm = launch.config.pe.tcm_kib * 1024;
  // Compared before laying out, so that no product of a huge count can wrap.
  if (launch.count > tcm || (ranks > 0 && lay_out(kernel, launch).end > tcm)) {
    problems.push_back({"bytes",
                        fmt::format("the tensors of {} do not fit the TCM of a PE (pe.tcm_kib)", kernel.name),
                        fmt::format("{} elements of {}", launch.count, numeric::to_string(launch.type)),
                        fmt::format("input, output and scratch within {} bytes", tcm)});
  }
  if (!problems.empty()) throw user_error(std::move(problems));
}

abi::kernel_arguments make_arguments(const kernel_entry& kernel, const argument_context& launch,
                                     std::uint32_t rank) {
  const tcm_layout layout = lay_out(kernel, launch);
  abi::kernel_arguments a;
  const comm::collective_shape s = shape_of(kernel, launch);
  const std::uint64_t own = comm::part_of(s.count, rank, s.ranks).begin * numeric::size_of(launch.type);
  using enum comm::collective;
  const bool shared = in_place(s.what, launch);
  a.input = layout.input + (shared && (s.what == all_gather || s.what == gather) ? own : 0);
  a.output = layout.output + (shared && (s.what == reduce_scatter || s.what == scatter) ? own : 0);
  a.scratch = layout.scratch;
  a.scratch_bytes = layout.scratch_bytes;
  a.count = launch.count;
  a.type = launch.type;
  a.op = launch.op;
  a.rank = rank;
  a.ranks = static_cast<std::uint32_t>(launch.members.members.size());
  if (kernel.fill_extra != nullptr) kernel.fill_extra(launch, rank, a);
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
  if (kernel.image == nullptr) return;
  const std::vector<std::uint64_t> words = kernel.image(launch, rank);
  write_tcm(host, launch.members.members[rank], arguments.scratch + wide_part(kernel, launch),
            std::as_bytes(std::span(words)));
}

void load_images(abi::host_hal& host, const kernel_entry& kernel, const argument_context& launch,
                 std::span<const abi::kernel_arguments> arguments) {
  for (std::uint32_t rank = 0; rank < launch.members.members.size(); ++rank) {
    if (launch.members.members[rank].sip != host.self()) continue;
    load_image(host, kernel, launch, rank, arguments[rank]);
  }
}

void write_tcm(abi::host_hal& host, pe_coord pe, std::uint64_t offset, std::span<const std::byte> bytes) {
  host.debug_write(tcm_address(pe, offset), bytes);
}

void read_tcm(abi::host_hal& host, pe_coord pe, std::uint64_t offset, std::span<std::byte> bytes) {
  host.debug_read(tcm_address(pe, offset), bytes);
}

}  // namespace diecast::sw
