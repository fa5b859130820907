// SPDX-License-Identifier: Apache-2.0
#include "sw/kernels/tree_all_reduce.hpp"

#include <algorithm>
#include <cmath>

namespace diecast::sw {
namespace {

std::uint32_t index(std::uint64_t chunk) { return static_cast<std::uint32_t>(chunk); }

void reduce_up(pe_context& pe, const tree_place& tree, const elements& e) {
  for (const auto& group : tree.children) reduce_all(pe, group, e);
  if (tree.parent) {
    send_all(pe, {*tree.parent}, e);
  } else {
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

std::vector<std::function<void()>> tree_tasks(pe_context& pe, const tree_place& tree, const elements& range,
                                              std::uint64_t chunks, std::uint64_t& done) {
  const auto up = [&pe, tree, range, chunks, &done] {
    for (std::uint64_t c = 0; c < chunks; ++c) {
      pe.step("reduce", index(c));
      reduce_up(pe, tree, part(range, c, chunks));
      ++done;
    }
  };
  const auto down = [&pe, tree, range, chunks, &done] {
    for (std::uint64_t c = 0; c < chunks; ++c) {
      // The result of a chunk follows its sum; and no chunk may be overwritten before it was passed on.
      pe.wait_until([&done, c] { return done > c; });
      pe.step("broadcast", index(c));
      broadcast_down(pe, tree, part(range, c, chunks));
    }
  };
  return {up, down};
}

void tree_all_reduce(pe_context& pe, const tree_place& tree, const elements& range, std::uint64_t chunks) {
  if (chunks > 1) {
    std::uint64_t done = 0;
    pe.run_tasks(tree_tasks(pe, tree, range, chunks, done));
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
