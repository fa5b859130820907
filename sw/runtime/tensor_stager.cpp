// SPDX-License-Identifier: Apache-2.0
#include "sw/runtime/tensor_stager.hpp"

#include <algorithm>
#include <span>

namespace diecast::sw {
namespace {

void sort_by_port(std::vector<staged_copy>& copies, std::uint64_t first, std::uint64_t ports) {
  const auto turn = [&](const staged_copy& c) { return (c.port + ports - first) % ports; };
  std::ranges::stable_sort(copies, {}, turn);
}

}  // namespace

void keep_ports_apart(std::vector<staged_copy>& out, std::vector<staged_copy>& in, std::uint64_t ports) {
  if (out.empty() || in.empty()) return;
  sort_by_port(out, 0, ports);
  sort_by_port(in, ports / 2, ports);
}

namespace {

constexpr std::size_t copies_in_a_row = 4;  ///< started before other tasks have their turn

/// Number of a port among those of its tensor.
std::uint64_t port_of(abi::address tensor, abi::address at) {
  return at / comm::port_stride - tensor / comm::port_stride;
}

}  // namespace

chunk_plan read_plan(abi::hal& hal, std::uint64_t tcm_offset) {
  chunk_plan plan;
  hal.load(tcm_offset, std::as_writable_bytes(std::span{&plan, 1}));
  return plan;
}

tensor_stager::tensor_stager(pe_runtime& runtime, const abi::kernel_arguments& launch, const chunk_plan& plan)
    : runtime_(runtime),
      launch_(launch),
      plan_(plan),
      cut_({static_cast<comm::collective>(plan_.what), launch.count, launch.ranks}, plan_.piece) {}

void tensor_stager::start(chunk_number out, chunk_number in) {
  copies results = out ? copies_out(*out) : copies{};
  copies inputs = in ? copies_in(*in) : copies{};
  if (!results.empty() || !inputs.empty()) runtime_.charge_call();
  if (out) stores_.emplace_back();
  if (in) loads_.emplace_back();
  if (out && in && buffer_of(*out) == buffer_of(*in)) {
    start_by_turns(results, {});
    free_buffer(*in);
    start_by_turns({}, inputs);
  } else {
    if (in) free_buffer(*in);
    keep_ports_apart(results, inputs, plan_.ports);
    start_by_turns(results, inputs);
  }
}

abi::kernel_arguments tensor_stager::arrived(std::uint64_t chunk) {
  wait(loads_.front());
  loads_.pop_front();
  const chunk_arguments& of_chunk = chunk + 1 < chunks() ? plan_.full : plan_.last;
  abi::kernel_arguments a = launch_;
  a.count = of_chunk.count;
  a.input = buffer_of(chunk) + of_chunk.input;
  a.output = buffer_of(chunk) + of_chunk.output;
  a.scratch = of_chunk.scratch;
  a.scratch_bytes = of_chunk.scratch_bytes;
  a.own = of_chunk.own;
  return a;
}

void tensor_stager::finish() {
  for (const job& j : stores_) wait(j);
  stores_.clear();
}

/// Every copy that the pieces of a tensor take: no longer than a stripe, or than the plan's longest.
/// `origin`: elements of the vector before the tensor; `buffer`: the chunk's place for it.
tensor_stager::copies tensor_stager::copies_of(const std::vector<comm::staged_piece>& pieces, bool out,
                                               abi::address tensor, std::uint64_t origin,
                                               std::uint64_t buffer) const {
  const comm::hbm_tensor stripes{tensor, plan_.ports, plan_.stripe_bytes};
  const std::uint64_t element = numeric::size_of(launch_.type);
  copies all;
  for (const comm::staged_piece& p : pieces) {
    const abi::address begin = runtime_.options().tcm_base + buffer + p.in_chunk * element;
    const auto copy_stripe = [&](abi::address hbm, std::uint64_t done, std::uint64_t bytes) {
      for (std::uint64_t at = 0; at < bytes; at += plan_.copy_bytes) {
        const abi::address there = hbm + at, here = begin + done + at;
        all.push_back({out ? here : there, out ? there : here, std::min(plan_.copy_bytes, bytes - at),
                       port_of(tensor, there)});
      }
    };
    stripes.for_stripes((p.in_tensor - origin) * element, p.count * element, copy_stripe);
  }
  return all;
}

tensor_stager::copies tensor_stager::copies_in(std::uint64_t chunk) const {
  return copies_of(cut_.input(chunk, launch_.rank, static_cast<comm::block_set>(plan_.read)), false,
                   launch_.input, plan_.input_origin, buffer_of(chunk));
}

tensor_stager::copies tensor_stager::copies_out(std::uint64_t chunk) const {
  return copies_of(cut_.output(chunk, launch_.rank, static_cast<comm::block_set>(plan_.written)), true,
                   launch_.output, plan_.output_origin, buffer_of(chunk) + plan_.chunk_output);
}

/// Waits until its former contents have been written to HBM and read for messages.
void tensor_stager::free_buffer(std::uint64_t chunk) {
  if (chunk >= plan_.buffers) {
    wait(stores_.front());
    stores_.pop_front();
  }
  runtime_.driver().wait_sources_in(buffer_of(chunk), plan_.buffer_bytes);
}

void tensor_stager::start_by_turns(const copies& out, const copies& in) {
  const auto begin = [this](const staged_copy& c) {
    return runtime_.driver().start_copy(c.from, c.to, c.bytes);
  };
  for (std::size_t i = 0, j = 0; i + j < out.size() + in.size();) {
    const bool first = j == in.size() || (i < out.size() && i * in.size() <= j * out.size());
    if (first) {
      stores_.back() = begin(out[i++]);
    } else {
      loads_.back() = begin(in[j++]);
    }
    // Registers take time, in which the kernel of the next chunk has slots to move.
    if ((i + j) % copies_in_a_row == 0) runtime_.tasks().yield();
  }
}

void tensor_stager::wait(const job& j) {
  if (j) runtime_.driver().wait_copy(*j);
}

}  // namespace diecast::sw
