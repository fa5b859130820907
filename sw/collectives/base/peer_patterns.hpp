// SPDX-License-Identifier: Apache-2.0
// Patterns that lead to ranks at fixed distances instead of neighbors on the machine. Their directions
// start at 0 and have names of their own (pattern_entry::names_all).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/comm/patterns.hpp"

namespace diecast::comm {

/// Levels of a circulant over n ranks: ceil(log2 n), the k for which 2^k < n.
[[nodiscard]] std::uint32_t circulant_levels(std::uint64_t ranks);
/// Direction of level k that leads to rank + 2^k, and to rank - 2^k (modulo the ranks).
[[nodiscard]] constexpr direction up(std::uint32_t level) { return static_cast<direction>(2 * level); }
[[nodiscard]] constexpr direction down(std::uint32_t level) { return static_cast<direction>(2 * level + 1); }

/// The graph of dissemination and of binomial trees with any root: up(k) and down(k) of every level,
/// in both directions.
[[nodiscard]] std::vector<edge> circulant(const pattern_context& c);
/// circulant() in one direction: every rank sends up(k) and receives down(k).
[[nodiscard]] std::vector<edge> circulant_unidir(const pattern_context& c);

/// Direction that leads `distance` ranks on (modulo the ranks), 1 to ranks - 1.
[[nodiscard]] constexpr direction ahead(std::uint32_t distance) {
  return static_cast<direction>(distance - 1);
}
/// Every rank with every other, in both directions.
[[nodiscard]] std::vector<edge> pairwise(const pattern_context& c);

/// Every rank to the next one, cyclically.
inline constexpr direction shift_next = 0, shift_last = 1;
[[nodiscard]] std::vector<edge> shift(const pattern_context& c);

/// The root with every other rank, in both directions. All others have the one queue pair star_root; the root
/// leads to the rank `distance` on by star_spoke(distance).
inline constexpr direction star_root = 0;
[[nodiscard]] constexpr direction star_spoke(std::uint32_t distance) {
  return static_cast<direction>(distance);
}
[[nodiscard]] std::vector<edge> star(const pattern_context& c);

[[nodiscard]] std::vector<std::string> circulant_names();
[[nodiscard]] std::vector<std::string> star_names();

/// Every rank with every other: direction k leads to rank + k + 1 (modulo n).
[[nodiscard]] std::vector<edge> all_to_all(const pattern_context& c);

/// Every rank with those in its lines of comm::member_box, in both directions (comm::box_ahead).
[[nodiscard]] std::vector<edge> box_lines(const pattern_context& c);

// For patterns of other files.

/// Both directions of a line or ring over `stops`: `forth` leads to the next stop, `back` to the one before.
/// One stop has no edges; a ring of two has both directions lead to the same peer.
void add_line(std::vector<edge>& edges, const std::vector<pe_coord>& stops, direction forth, direction back,
              bool closed);
/// Both directions of an edge whose directions are known at both ends, which are ranks.
void join_ranks(std::vector<edge>& edges, const pattern_context& c, std::uint32_t a, direction at_a,
                std::uint32_t b, direction at_b);
[[nodiscard]] std::uint32_t group_size(const pattern_context& c);

}  // namespace diecast::comm
