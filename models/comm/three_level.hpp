// SPDX-License-Identifier: Apache-2.0
// A group seen as SIPs of cubes of PEs, with rings at every level for every place: over the SIPs, over the
// cubes of a SIP, and over the PEs of a cube.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "models/comm/patterns.hpp"

namespace diecast::comm {

/// Rank = (sip * cubes + cube) * pes + pe.
struct level_grid {
  std::uint32_t sips{1}, cubes{1}, pes{1};

  [[nodiscard]] std::uint32_t sip_of(std::uint32_t rank) const { return rank / (cubes * pes); }
  [[nodiscard]] std::uint32_t cube_of(std::uint32_t rank) const { return rank / pes % cubes; }
  [[nodiscard]] std::uint32_t pe_of(std::uint32_t rank) const { return rank % pes; }
  [[nodiscard]] std::uint32_t rank_at(std::uint32_t sip, std::uint32_t cube, std::uint32_t pe) const {
    return (sip * cubes + cube) * pes + pe;
  }
  [[nodiscard]] std::uint32_t ranks() const { return sips * cubes * pes; }
  [[nodiscard]] bool has_pairs() const { return pes % 2 == 0 && pes >= 4; }
};
/// Cubes are those of the machine when all have as many members, which follow each other in rank order;
/// otherwise every member is a cube of its own. SIPs are those of sip_rows_of.
[[nodiscard]] level_grid level_grid_of(const group& g);

/// Directions of the rings, forth and back. A ring of two has the first alone.
using ring_directions = std::array<direction, 2>;
inline constexpr ring_directions round_sips{0, 1}, round_cubes{2, 3}, round_pes{4, 5}, round_half{6, 7};
inline constexpr direction in_pair = 8;

/// The rings of a group. PEs stand for their numbers among the members of a cube.
class level_rings {
 public:
  explicit level_rings(const pattern_context& c);

  [[nodiscard]] const level_grid& grid() const { return grid_; }
  /// Cubes of a SIP in the order of their ring (row_ring).
  [[nodiscard]] const std::vector<std::uint32_t>& cubes(std::uint32_t sip) const { return cubes_[sip]; }
  /// All PEs of a cube, each near the one before, so that few flows of several PEs share a link.
  [[nodiscard]] const std::vector<std::uint32_t>& pes() const { return pes_; }
  /// PEs 2i and 2i + 1 are a pair; there are pairs where PEs are even in number and four or more.
  [[nodiscard]] bool has_pairs() const { return grid_.has_pairs(); }
  /// One PE of every pair, and the others.
  [[nodiscard]] const std::array<std::vector<std::uint32_t>, 2>& halves() const { return halves_; }
  /// The half that has this PE.
  [[nodiscard]] const std::vector<std::uint32_t>& half_with(std::uint32_t pe) const;

 private:
  level_grid grid_;
  std::vector<std::vector<std::uint32_t>> cubes_;
  std::vector<std::uint32_t> pes_;
  std::array<std::vector<std::uint32_t>, 2> halves_;
};

/// PEs of a cube whose blocks go round the cubes as one message: each its own, two, or all. split: two, each
/// of which takes those of some SIPs.
enum class level_bundle : std::uint8_t { single, pair, cube, split };
/// What is best for a vector of `bytes`: messages about as long as a slot.
[[nodiscard]] level_bundle level_bundle_of(const config::machine_config& c, const level_grid& g,
                                           std::uint64_t bytes);

[[nodiscard]] std::vector<edge> three_level_rings(const pattern_context& c);
[[nodiscard]] std::vector<std::string> three_level_names();

}  // namespace diecast::comm
