// SPDX-License-Identifier: Apache-2.0
// What a PE is called where the shape of the machine is not known; else pe_path.
#pragma once

#include <string>

#include "models/types/ids.hpp"

namespace diecast {

/// "sip0.cube5.pe3".
[[nodiscard]] std::string owner_name(pe_coord pe);

}  // namespace diecast
