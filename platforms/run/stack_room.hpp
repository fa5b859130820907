// SPDX-License-Identifier: Apache-2.0
// Whether the operating system lets a process have the stacks of a machine's firmware. SystemC maps each
// thread a stack and a page beside it that nobody may touch, and a process has so many mappings at most.
#pragma once

#include <cstdint>
#include <optional>

#include "models/config/population.hpp"
#include "models/types/error.hpp"

namespace diecast::platforms {

/// How many mappings a process may have (vm.max_map_count); nothing where the system does not say.
[[nodiscard]] std::optional<std::uint64_t> permitted_mappings();

/// What is wrong when `permitted` are too few for the firmware of these PEs and hosts of one process.
[[nodiscard]] std::optional<problem> find_lack_of_stacks(std::uint64_t pes, std::uint64_t hosts,
                                                         std::optional<std::uint64_t> permitted);
/// What is wrong when one process is to simulate all PEs and hosts of `machine`.
[[nodiscard]] inline std::optional<problem> find_lack_of_stacks(const config::population& machine,
                                                                std::optional<std::uint64_t> permitted) {
  return find_lack_of_stacks(machine.pes().size(), machine.shape().sips, permitted);
}

/// Throws user_error when this system permits too few.
void check_stacks(std::uint64_t pes, std::uint64_t hosts);

}  // namespace diecast::platforms
