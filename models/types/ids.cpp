// SPDX-License-Identifier: Apache-2.0
#include "models/types/ids.hpp"

#include <fmt/format.h>

namespace diecast {

std::string sip_path(sip_id sip) { return fmt::format("pod.sip{}", sip.value); }

std::string cube_path(const machine_shape& shape, sip_id sip, cube_id cube) {
  return fmt::format("pod.sip{}.cube_{}_{}", sip.value, shape.cube_x(cube), shape.cube_y(cube));
}

std::string pe_path(const machine_shape& shape, pe_coord pe) {
  return fmt::format("{}.pe{}", cube_path(shape, pe.sip, pe.cube), pe.pe.value);
}

std::string owner_name(pe_coord pe) {
  return fmt::format("sip{}.cube{}.pe{}", pe.sip.value, pe.cube.value, pe.pe.value);
}

}  // namespace diecast
