// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/partners/partner_steps.hpp"

#include <bit>

#include "sw/collectives/base/builtin.hpp"
#include "sw/collectives/base/peer_patterns.hpp"

namespace diecast::comm {
namespace {

std::uint32_t steps_over(std::uint32_t ranks) {
  return ranks > 1 ? static_cast<std::uint32_t>(std::bit_width(ranks - 1)) : 0;
}

/// rho(s) = (1 - (-2)^(s+1)) / 3.
std::int64_t swing_distance(std::uint32_t step) {
  const std::int64_t power = std::int64_t{1} << (step + 1);
  return (1 - (step % 2 == 0 ? -power : power)) / 3;
}

std::uint32_t modulo(std::int64_t value, std::uint32_t n) {
  const std::int64_t rest = value % std::int64_t{n};
  return static_cast<std::uint32_t>(rest < 0 ? rest + n : rest);
}

void add_folds(std::vector<edge>& edges, const pattern_context& c, const fold& f) {
  for (std::uint32_t pair = 0; pair < f.pairs; ++pair)
    join_ranks(edges, c, f.holder(pair), fold_partner, f.holder(pair) + 1, fold_partner);
}

/// The step in which two active ranks meet, by their numbers.
void join_numbers(std::vector<edge>& edges, const pattern_context& c, const fold& f, std::uint32_t step,
                  std::uint32_t a, std::uint32_t b) {
  join_ranks(edges, c, f.rank_of(a), partner(step), f.rank_of(b), partner(step));
}

}  // namespace

fold fold_to_power_of_two(std::uint32_t ranks) {
  const std::uint32_t active = ranks > 0 ? std::bit_floor(ranks) : 0;
  return {active, steps_over(active), ranks - active, 0};
}

fold fold_to_even(std::uint32_t ranks) {
  const std::uint32_t active = ranks > 1 ? ranks / 2 * 2 : ranks;
  const std::uint32_t pairs = ranks - active;
  return {active, steps_over(active), pairs, ranks - 2 * pairs};
}

std::uint32_t swing_peer(std::uint32_t rank, std::uint32_t step, std::uint32_t ranks) {
  const std::int64_t distance = swing_distance(step);
  return modulo(rank % 2 == 0 ? rank + distance : rank - distance, ranks);
}

std::vector<std::uint32_t> swing_tree(std::uint32_t ranks) {
  std::vector<std::uint32_t> step_of(ranks);
  std::vector<bool> known(ranks);
  std::vector<std::uint32_t> reached{0};
  known[0] = true;
  for (std::uint32_t s = steps_over(ranks); s-- > 0;) {
    const std::size_t before = reached.size();
    for (std::size_t i = 0; i < before; ++i) {
      const std::uint32_t peer = swing_peer(reached[i], s, ranks);
      if (known[peer]) continue;
      known[peer] = true;
      step_of[peer] = s;
      reached.push_back(peer);
    }
  }
  return step_of;
}

std::uint32_t swing_send_step(const std::vector<std::uint32_t>& tree, std::uint32_t rank,
                              std::uint32_t part) {
  const auto n = static_cast<std::uint32_t>(tree.size());
  // Moving by an even number, and mirroring at an odd one, map the steps of swing onto themselves.
  return part % 2 == 0 ? tree[(rank + n - part) % n] : tree[(part + n - rank) % n];
}

std::vector<std::vector<std::uint32_t>> swing_parts(std::uint32_t rank, std::uint32_t ranks) {
  const std::vector<std::uint32_t> tree = swing_tree(ranks);
  std::vector<std::vector<std::uint32_t>> sent(steps_over(ranks));
  for (std::uint32_t p = 0; p < ranks; ++p)
    if (p != rank) sent[swing_send_step(tree, rank, p)].push_back(p);
  return sent;
}

bool swing_keeps_upper(std::uint32_t rank, std::uint32_t step, std::uint32_t ranks) {
  const std::uint32_t last = steps_over(ranks) - 1;
  if (step == last) return rank % 2 != 0;
  // Ranks that still meet from step s on differ by multiples of 2^(s+1) once odd ones are moved by the
  // distance of the last step; the next higher bit distinguishes the halves.
  const std::uint32_t even = rank % 2 == 0 ? rank : swing_peer(rank, last, ranks);
  return (even >> (step + 1) & 1U) != 0;
}

std::vector<edge> recursive_doubling(const pattern_context& c) {
  const fold f = fold_to_power_of_two(group_size(c));
  std::vector<edge> edges;
  for (std::uint32_t s = 0; s < f.steps; ++s) {
    for (std::uint32_t number = 0; number < f.active; ++number) {
      const std::uint32_t other = number ^ 1U << s;
      if (number < other) join_numbers(edges, c, f, s, number, other);
    }
  }
  add_folds(edges, c, f);
  return edges;
}

std::vector<edge> swing(const pattern_context& c) {
  const fold f = fold_to_even(group_size(c));
  std::vector<edge> edges;
  for (std::uint32_t s = 0; s < f.steps; ++s) {
    for (std::uint32_t number = 0; number < f.active; number += 2)
      join_numbers(edges, c, f, s, number, swing_peer(number, s, f.active));
  }
  add_folds(edges, c, f);
  return edges;
}

std::vector<std::string> partner_names() {
  std::vector<std::string> names = numbered_names("step", 0, 32);
  names.insert(names.begin(), "fold");
  return names;
}

}  // namespace diecast::comm

namespace diecast::sw {

pattern_table partner_patterns() {
  return {
      {"recursive_doubling", "partners whose numbers differ in one bit; beyond a power of two neighbors fold",
       comm::recursive_doubling, comm::partner_names(), true},
      {"swing", "the partners of swing, and a folded last rank when their number is odd", comm::swing,
       comm::partner_names(), true}};
}

}  // namespace diecast::sw
