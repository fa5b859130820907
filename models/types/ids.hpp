// SPDX-License-Identifier: Apache-2.0
// Strong index types and the shape of the machine. An id of one kind never converts to another.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>

namespace diecast {

template <class Tag>
struct id {
  std::uint32_t value{};
  auto operator<=>(const id&) const = default;
};

using sip_id = id<struct sip_tag>;    ///< package within the pod
using cube_id = id<struct cube_tag>;  ///< die within its SIP, row-major: y * columns + x
using pe_id = id<struct pe_tag>;      ///< processing element within its cube

/// One processing element of the pod.
struct pe_coord {
  sip_id sip;
  cube_id cube;
  pe_id pe;
  auto operator<=>(const pe_coord&) const = default;
};

/// Counts per level; every coordinate of the pod is checked against it.
struct machine_shape {
  std::uint32_t sips{1};
  std::uint32_t cube_columns{1};
  std::uint32_t cube_rows{1};
  std::uint32_t pes_per_cube{1};

  [[nodiscard]] std::uint32_t cubes_per_sip() const { return cube_columns * cube_rows; }
  [[nodiscard]] std::uint32_t cubes() const { return sips * cubes_per_sip(); }
  [[nodiscard]] std::uint32_t pes() const { return cubes() * pes_per_cube; }
  [[nodiscard]] std::uint32_t cube_x(cube_id c) const { return c.value % cube_columns; }
  [[nodiscard]] std::uint32_t cube_y(cube_id c) const { return c.value / cube_columns; }
  [[nodiscard]] cube_id cube_at(std::uint32_t x, std::uint32_t y) const {
    return cube_id{y * cube_columns + x};
  }
  /// Dense index of a PE over the pod: SIP, then cube, then PE.
  [[nodiscard]] std::uint32_t pe_index(pe_coord p) const {
    return (p.sip.value * cubes_per_sip() + p.cube.value) * pes_per_cube + p.pe.value;
  }
  [[nodiscard]] pe_coord pe_at(std::uint32_t index) const {
    const std::uint32_t cube = index / pes_per_cube;
    return {sip_id{cube / cubes_per_sip()}, cube_id{cube % cubes_per_sip()}, pe_id{index % pes_per_cube}};
  }
  [[nodiscard]] bool contains(pe_coord p) const {
    return p.sip.value < sips && p.cube.value < cubes_per_sip() && p.pe.value < pes_per_cube;
  }
  bool operator==(const machine_shape&) const = default;
};

/// SystemC instance path of a cube or PE as the user reads it: "pod.sip0.cube_1_2.pe3".
[[nodiscard]] std::string sip_path(sip_id sip);
[[nodiscard]] std::string cube_path(const machine_shape& shape, sip_id sip, cube_id cube);
[[nodiscard]] std::string pe_path(const machine_shape& shape, pe_coord pe);

/// A PE as configs spell it: "sip0.cube5.pe3".
[[nodiscard]] std::string pe_key(pe_coord pe);

/// From here on the names below are paths of this machine, the one that the process simulates.
void name_pes_of(const machine_shape& shape);
// Names where the shape of the machine is not known; without a machine "sip0 cube5" and "sip0.cube5.pe3".
[[nodiscard]] std::string cube_name(sip_id sip, cube_id cube);
[[nodiscard]] std::string owner_name(pe_coord pe);

}  // namespace diecast

template <class Tag>

struct std::hash<diecast::id<Tag>> {
  std::size_t operator()(diecast::id<Tag> i) const noexcept { return i.value; }
};

namespace diecast::comm {

// Directions: numbers and names of the queue pairs of a PE.

/// A direction is the index of a queue pair within its PE. The first eleven have names of their
/// own; a pattern may define more (MSCCL channels do).
using direction = std::uint16_t;
inline constexpr direction north = 0, south = 1, east = 2, west = 3;
inline constexpr direction global_north = 4, global_south = 5, global_east = 6, global_west = 7;
inline constexpr direction parent = 8, child_left = 9, child_right = 10;
inline constexpr direction first_custom = 11;
inline constexpr direction no_direction = 0xffff;
/// "N", "global_E", "child_left", or "custom11".
[[nodiscard]] std::string direction_name(direction d);
/// The opposite of a compass direction; the same direction for the others.
[[nodiscard]] direction opposite(direction d);

/// How a direction of a PE is called: a program or pattern may have names of its own.
using direction_namer = std::function<std::string(pe_coord, direction)>;
[[nodiscard]] direction_namer generic_names();

}  // namespace diecast::comm
