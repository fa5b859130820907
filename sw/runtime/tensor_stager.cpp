// SPDX-License-Identifier: Apache-2.0
#include "sw/runtime/tensor_stager.hpp"

#include <deque>
#include <span>

namespace diecast::sw {
namespace {

/// Copies under way: the DMA engine has the next ones when a task that works on another chunk keeps the core
/// for a while.
constexpr std::size_t copies_ahead = 8;

chunk_plan read_plan(abi::hal& hal, std::uint64_t tcm_offset) {
  chunk_plan plan;
  hal.load(tcm_offset, std::as_writable_bytes(std::span{&plan, 1}));
  return plan;
}

/// Spreads the shorter list evenly over the longer.
template <class List>
List by_turns(const List& a, const List& b) {
  List all;
  for (std::size_t i = 0, j = 0; i + j < a.size() + b.size();) {
    const bool first = j == b.size() || (i < a.size() && i * b.size() <= j * a.size());
    all.push_back(first ? a[i++] : b[j++]);
  }
  return all;
}

}  // namespace

tensor_stager::tensor_stager(pe_runtime& runtime, const abi::kernel_arguments& launch)
    : runtime_(runtime),
      launch_(launch),
      plan_(read_plan(runtime.hal(), launch.scratch)),
      cut_({static_cast<comm::collective>(plan_.what), launch.count, launch.ranks}, plan_.piece) {}

abi::kernel_arguments tensor_stager::arguments_of(std::uint64_t chunk) const {
  const chunk_arguments& of_chunk = chunk + 1 < chunks() ? plan_.full : plan_.last;
  abi::kernel_arguments a = launch_;
  a.count = of_chunk.count;
  a.input = buffer_of(chunk) + of_chunk.input;
  a.output = buffer_of(chunk) + of_chunk.output;
  a.scratch = of_chunk.scratch;
  a.scratch_bytes = of_chunk.scratch_bytes;
  a.extra = of_chunk.extra;
  return a;
}

void tensor_stager::move(chunk out, chunk in) {
  const copies results = out ? copies_out(*out) : copies{};
  const copies inputs = in ? copies_in(*in) : copies{};
  if (results.empty() && inputs.empty()) return;
  runtime_.hal().mark_step({"stage", static_cast<std::uint32_t>(in.value_or(chunks()))});
  runtime_.hal().compute(runtime_.options().call_cycles);
  if (in) runtime_.driver().wait_sources_in(buffer_of(*in), plan_.buffer_bytes);
  if (out && in && buffer_of(*out) == buffer_of(*in)) {
    run(results);
    run(inputs);
  } else {
    run(by_turns(results, inputs));
  }
}

tensor_stager::copies tensor_stager::copies_in(std::uint64_t chunk) const {
  const comm::hbm_tensor tensor{launch_.input, plan_.ports, plan_.stripe_bytes};
  const std::uint64_t element = numeric::size_of(launch_.type);
  const abi::address buffer = runtime_.options().tcm_base + buffer_of(chunk);
  copies all;
  for (const comm::staged_piece& p :
       cut_.input(chunk, launch_.rank, static_cast<comm::block_set>(plan_.read))) {
    tensor.for_stripes((p.in_tensor - plan_.input_origin) * element, p.count * element,
                       [&](abi::address hbm, std::uint64_t done, std::uint64_t bytes) {
                         all.push_back({hbm, buffer + p.in_chunk * element + done, bytes});
                       });
  }
  return all;
}

tensor_stager::copies tensor_stager::copies_out(std::uint64_t chunk) const {
  const comm::hbm_tensor tensor{launch_.output, plan_.ports, plan_.stripe_bytes};
  const std::uint64_t element = numeric::size_of(launch_.type);
  const abi::address buffer = runtime_.options().tcm_base + buffer_of(chunk) + plan_.chunk_output;
  copies all;
  for (const comm::staged_piece& p :
       cut_.output(chunk, launch_.rank, static_cast<comm::block_set>(plan_.written))) {
    tensor.for_stripes((p.in_tensor - plan_.output_origin) * element, p.count * element,
                       [&](abi::address hbm, std::uint64_t done, std::uint64_t bytes) {
                         all.push_back({buffer + p.in_chunk * element + done, hbm, bytes});
                       });
  }
  return all;
}

void tensor_stager::run(const copies& all) {
  queue_driver& driver = runtime_.driver();
  std::deque<std::uint32_t> under_way;
  for (const copy& c : all) {
    if (under_way.size() == copies_ahead) {
      driver.wait_copy(under_way.front());
      under_way.pop_front();
    }
    under_way.push_back(driver.start_copy(c.from, c.to, c.bytes));
  }
  if (!under_way.empty()) driver.wait_copy(under_way.back());
}

}  // namespace diecast::sw
