// SPDX-License-Identifier: Apache-2.0
#include "sw/kernels/tree_all_reduce.hpp"

#include <fmt/format.h>
#include <utility>

#include "models/comm/patterns.hpp"
#include "models/comm/trees.hpp"

namespace diecast::sw {
namespace {

std::uint32_t index(std::uint64_t chunk) { return static_cast<std::uint32_t>(chunk); }

/// Marks a step "reduce from rank 12, round 2"; of other trees none, whose steps are the chunks.
void name_step(pe_context& pe, const tree_place& tree, const char* what, comm::direction edge) {
  if (!tree.binomial_rank) return;
  const auto round = static_cast<std::uint32_t>(edge - comm::partner(0));
  pe.step(fmt::format("{} rank {}, round", what, *tree.binomial_rank ^ 1U << round), round);
}

void reduce_up(pe_context& pe, const tree_place& tree, const elements& e) {
  for (const auto& group : tree.children)
    reduce_all(pe, group, e, [&](comm::direction from) { name_step(pe, tree, "reduce from", from); });
  if (tree.parent) {
    name_step(pe, tree, "reduce to", *tree.parent);
    send_all(pe, {*tree.parent}, e);
  } else if (tree.divides) {
    finish_average(pe, e);
  }
}

void broadcast_down(pe_context& pe, const tree_place& tree, const elements& e) {
  if (tree.parent) {
    name_step(pe, tree, "broadcast from", *tree.parent);
    receive_all(pe, *tree.parent, e);
  }
  std::vector<comm::direction> all;
  // Those whose contribution came last are the farthest from the leaves below them.
  for (auto group = tree.children.rbegin(); group != tree.children.rend(); ++group)
    all.insert(all.end(), group->begin(), group->end());
  send_all(pe, all, e, [&](comm::direction to) { name_step(pe, tree, "broadcast to", to); });
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
  return comm::chunks_on_pipeline(c.config, bytes, bytes / numeric::size_of(c.type), depth);
}

}  // namespace diecast::sw
