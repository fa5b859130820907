// SPDX-License-Identifier: Apache-2.0
#include "sw/runtime/firmware_trap.hpp"

#include <fmt/format.h>

#include "models/types/owner_name.hpp"

namespace diecast::sw {

firmware_trap::firmware_trap(const std::string& marked, pe_coord pe, std::optional<comm::direction> dir,
                             abi::engine_error error)
    : std::runtime_error(comm::with_names(marked)),
      marked_(marked),
      pe_(pe),
      direction_(dir),
      error_(error) {}

firmware_trap::firmware_trap(pe_coord pe, comm::direction dir, abi::engine_error error)
    : firmware_trap(fmt::format("firmware on {}: queue pair {}: {}", owner_name(pe),
                                comm::queue_pair_mark(pe, dir), abi::to_string(error)),
                    pe, dir, error) {}

firmware_trap::firmware_trap(pe_coord pe, std::string_view text)
    : firmware_trap(fmt::format("firmware on {}: {}", owner_name(pe), text), pe, std::nullopt,
                    abi::engine_error::none) {}

}  // namespace diecast::sw
