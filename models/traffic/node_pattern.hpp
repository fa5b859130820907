// SPDX-License-Identifier: Apache-2.0
// Where the packets of a network study go: destination as a function of source and draws. Definitions as
// in BookSim2 (traffic.cpp; Jiang et al., ISPASS 2013; Dally and Towles, 2004, table 3.1), so that results
// compare.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "models/types/error.hpp"

namespace diecast::traffic {

enum class node_pattern : std::uint8_t { uniform, transpose, neighbor, hotspot, bit_complement, tornado };
inline constexpr std::array all_node_patterns{node_pattern::uniform,        node_pattern::transpose,
                                              node_pattern::neighbor,       node_pattern::hotspot,
                                              node_pattern::bit_complement, node_pattern::tornado};
[[nodiscard]] const char* to_string(node_pattern p);
[[nodiscard]] const char* description(node_pattern p);

/// Nodes numbered row by row. Rings and crossbars have one row.
struct node_grid {
  std::uint32_t columns{1};
  std::uint32_t rows{1};
  [[nodiscard]] std::uint32_t nodes() const { return columns * rows; }
};

struct hotspot {
  std::uint32_t node{};
  double fraction{0.1};  ///< share of all packets; the others go anywhere, uniformly
};

class destinations {
 public:
  /// Throws user_error when the pattern is not defined on the grid.
  destinations(node_pattern pattern, node_grid grid, hotspot hot = {});

  /// `draws`: uniform 64-bit words, the same for the same packet in every run.
  [[nodiscard]] std::uint32_t of(std::uint32_t source, const std::array<std::uint64_t, 2>& draws) const {
    if (!fixed_.empty()) return fixed_[source];
    if (pattern_ == node_pattern::hotspot && draws[1] <= hot_below_) return hot_.node;
    return anywhere(draws[0]);
  }

 private:
  /// High half of a product: off uniform by less than nodes / 2^32.
  [[nodiscard]] std::uint32_t anywhere(std::uint64_t draw) const {
    return static_cast<std::uint32_t>((draw >> 32) * nodes_ >> 32);
  }
  [[nodiscard]] std::uint32_t fixed_of(node_grid grid, std::uint32_t source) const;

  node_pattern pattern_;
  std::uint32_t nodes_;
  hotspot hot_;
  std::uint64_t hot_below_{};         ///< a draw up to here goes to the hot node
  std::vector<std::uint32_t> fixed_;  ///< by source, of patterns without a choice
};

}  // namespace diecast::traffic
