// SPDX-License-Identifier: Apache-2.0
// Reductions of contributions in various orders, with the vector unit's arithmetic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "models/numeric/elementwise.hpp"
#include "models/random/stream.hpp"
#include "models/random/test_data.hpp"

namespace diecast::test {

using bytes = std::vector<std::byte>;

inline std::vector<bytes> contributions(const random::test_data& data, numeric::dtype t, std::uint32_t ranks,
                                        std::size_t count) {
  std::vector<bytes> all(ranks, bytes(count * numeric::size_of(t)));
  for (std::uint32_t r = 0; r < ranks; ++r) data.fill(r, all[r]);
  return all;
}

/// Reduces by a random tree: two partial results, picked anywhere, are replaced by their
/// reduction until one is left. Covers every permutation and nesting.
inline bytes reduce_randomly(numeric::reduction op, numeric::dtype t, std::vector<bytes> partial,
                             std::uint64_t seed) {
  random::sequence draws{random::stream{seed, "test", "tree"}};
  const auto ranks = static_cast<std::uint32_t>(partial.size());
  while (partial.size() > 1) {
    std::swap(partial[draws.below(partial.size())], partial.back());
    const bytes b = std::move(partial.back());
    partial.pop_back();
    bytes& a = partial[draws.below(partial.size())];
    numeric::apply(op, t, a, a, b);
  }
  if (op == numeric::reduction::avg) numeric::divide(t, partial[0], ranks);
  return partial[0];
}

/// Reduces pairs, then pairs of pairs; one that is left over stays as it is.
inline bytes reduce_in_pairs(numeric::reduction op, numeric::dtype t, std::vector<bytes> partial) {
  const auto ranks = static_cast<std::uint32_t>(partial.size());
  while (partial.size() > 1) {
    std::vector<bytes> pairs;
    for (std::size_t i = 0; i < partial.size(); i += 2) {
      pairs.push_back(partial[i]);
      if (i + 1 < partial.size()) numeric::apply(op, t, pairs.back(), pairs.back(), partial[i + 1]);
    }
    partial = std::move(pairs);
  }
  if (op == numeric::reduction::avg) numeric::divide(t, partial[0], ranks);
  return partial[0];
}

/// Reduces one after the other in rank order.
inline bytes reduce_in_order(numeric::reduction op, numeric::dtype t, const std::vector<bytes>& parts) {
  bytes sum = parts[0];
  for (std::size_t i = 1; i < parts.size(); ++i) numeric::apply(op, t, sum, sum, parts[i]);
  if (op == numeric::reduction::avg) numeric::divide(t, sum, static_cast<std::uint32_t>(parts.size()));
  return sum;
}

}  // namespace diecast::test
