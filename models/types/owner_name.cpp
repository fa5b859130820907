// SPDX-License-Identifier: Apache-2.0
#include "models/types/owner_name.hpp"

#include <fmt/format.h>

namespace diecast {

std::string owner_name(pe_coord pe) {
  return fmt::format("sip{}.cube{}.pe{}", pe.sip.value, pe.cube.value, pe.pe.value);
}

}  // namespace diecast
