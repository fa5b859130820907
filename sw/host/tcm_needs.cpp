// SPDX-License-Identifier: Apache-2.0
#include "sw/host/tcm_needs.hpp"

#include <algorithm>

#include "models/abi/alignment.hpp"
#include "models/comm/tensor_chunks.hpp"
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

}  // namespace diecast::sw
