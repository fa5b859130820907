// SPDX-License-Identifier: Apache-2.0
#include "models/types/ids.hpp"

#include <array>
#include <fmt/format.h>

namespace diecast {

std::string sip_path(sip_id sip) { return fmt::format("pod.sip{}", sip.value); }

std::string cube_path(const machine_shape& shape, sip_id sip, cube_id cube) {
  return fmt::format("pod.sip{}.cube_{}_{}", sip.value, shape.cube_x(cube), shape.cube_y(cube));
}

std::string pe_path(const machine_shape& shape, pe_coord pe) {
  return fmt::format("{}.pe{}", cube_path(shape, pe.sip, pe.cube), pe.pe.value);
}

std::string pe_key(pe_coord pe) {
  return fmt::format("sip{}.cube{}.pe{}", pe.sip.value, pe.cube.value, pe.pe.value);
}

static machine_shape named{0, 0, 0, 0};

void name_pes_of(const machine_shape& shape) { named = shape; }

std::string cube_name(sip_id sip, cube_id cube) {
  if (named.contains({sip, cube, {}})) return cube_path(named, sip, cube);
  return fmt::format("sip{} cube{}", sip.value, cube.value);
}

std::string owner_name(pe_coord pe) {
  if (named.contains(pe)) return pe_path(named, pe);
  return pe_key(pe);
}

}  // namespace diecast

namespace diecast::comm {

constexpr std::array<const char*, first_custom> names{"N",        "S",          "E",          "W",
                                                      "global_N", "global_S",   "global_E",   "global_W",
                                                      "parent",   "child_left", "child_right"};

std::string direction_name(direction d) {
  return d < first_custom ? std::string(names[d]) : fmt::format("custom{}", d);
}

direction opposite(direction d) {
  switch (d) {
    case north: return south;
    case south: return north;
    case east: return west;
    case west: return east;
    case global_north: return global_south;
    case global_south: return global_north;
    case global_east: return global_west;
    case global_west: return global_east;
    default: return d;
  }
}

direction_namer generic_names() {
  return [](pe_coord, direction d) { return direction_name(d); };
}

}  // namespace diecast::comm
