// SPDX-License-Identifier: Apache-2.0
#include "sw/kernels/tree_all_reduce.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace diecast::sw {
namespace {

std::uint32_t index(std::uint64_t chunk) { return static_cast<std::uint32_t>(chunk); }

void reduce_up(pe_context& pe, const tree_place& tree, const elements& e) {
  for (const auto& group : tree.children) reduce_all(pe, group, e);
  if (tree.parent) {
    send_all(pe, {*tree.parent}, e);
  } else if (tree.divides) {
    finish_average(pe, e);
  }
}

void broadcast_down(pe_context& pe, const tree_place& tree, const elements& e) {
  if (tree.parent) receive_all(pe, *tree.parent, e);
  std::vector<comm::direction> all;
  // Those whose contribution came last are the farthest from the leaves below them.
  for (auto group = tree.children.rbegin(); group != tree.children.rend(); ++group)
    all.insert(all.end(), group->begin(), group->end());
  send_all(pe, all, e);
}

}  // namespace

std::function<void()> tree_up(pe_context& pe, const tree_place& tree, const elements& range,
                              std::uint64_t chunks, std::uint64_t& summed) {
  return [&pe, tree, range, chunks, &summed] {
    for (std::uint64_t c = 0; c < chunks; ++c) {
      pe.step("reduce", index(c));
      reduce_up(pe, tree, part(range, c, chunks));
      ++summed;
    }
  };
}

std::function<void()> tree_down(pe_context& pe, const tree_place& tree, const elements& range,
                                std::uint64_t chunks, std::function<bool(std::uint64_t)> ready) {
  return [&pe, tree, range, chunks, ready = std::move(ready)] {
    for (std::uint64_t c = 0; c < chunks; ++c) {
      pe.wait_until([&ready, c] { return ready(c); });
      pe.step("broadcast", index(c));
      broadcast_down(pe, tree, part(range, c, chunks));
    }
  };
}

std::vector<std::function<void()>> tree_tasks(pe_context& pe, const tree_place& tree, const elements& range,
                                              std::uint64_t chunks, std::uint64_t& summed) {
  return {tree_up(pe, tree, range, chunks, summed),
          tree_down(pe, tree, range, chunks, [&summed](std::uint64_t c) { return summed > c; })};
}

void tree_all_reduce(pe_context& pe, const tree_place& tree, const elements& range, std::uint64_t chunks) {
  if (chunks > 1) {
    std::uint64_t summed = 0;
    pe.run_tasks(tree_tasks(pe, tree, range, chunks, summed));
    return;
  }
  pe.step("reduce");
  reduce_up(pe, tree, range);
  pe.step("broadcast");
  broadcast_down(pe, tree, range);
}

std::uint64_t chunks_for(const argument_context& c, std::uint64_t bytes, std::uint32_t depth) {
  const std::uint64_t elements = bytes / numeric::size_of(c.type);
  const std::uint64_t most = std::max<std::uint64_t>(1, elements);
  if (c.config.ccl.chunks) return std::min(*c.config.ccl.chunks, most);
  if (depth < 2 || bytes == 0) return 1;
  // Time of k chunks over d hops: (d + k - 1) (a + b S / k), least at k = sqrt((d - 1) b S / a). A message
  // costs the runtime's calls at both ends; a byte, its share of a flit. In cycles.
  const double per_message = 4.0 * static_cast<double>(c.config.ccl.kernel_call_cycles + 20);
  const double per_byte = 1.0 / static_cast<double>(c.config.noc.flit_bytes);
  const double best = std::sqrt((depth - 1) * per_byte * static_cast<double>(bytes) / per_message);
  const std::uint64_t slots = (bytes + c.config.ipcq.slot_bytes - 1) / c.config.ipcq.slot_bytes;
  return std::clamp<std::uint64_t>(static_cast<std::uint64_t>(best), 1,
                                   std::min(most, std::max<std::uint64_t>(1, 4 * slots)));
}

}  // namespace diecast::sw
