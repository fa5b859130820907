// SPDX-License-Identifier: Apache-2.0
#include "sw/runtime/firmware_trap.hpp"

#include <fmt/format.h>

#include "models/types/owner_name.hpp"

namespace diecast::sw {

firmware_trap::firmware_trap(pe_coord pe, comm::direction dir, abi::engine_error error)
    : std::runtime_error(fmt::format("firmware on {}: queue pair {}: {}", owner_name(pe),
                                     comm::direction_name(dir), abi::to_string(error))),
      pe_(pe),
      direction_(dir),
      error_(error) {}

firmware_trap::firmware_trap(pe_coord pe, std::string_view text)
    : std::runtime_error(fmt::format("firmware on {}: {}", owner_name(pe), text)), pe_(pe) {}

}  // namespace diecast::sw
