// SPDX-License-Identifier: Apache-2.0
// What the vector unit of a PE computes, on both mock machines.
#pragma once

#include <functional>

#include "models/abi/hal.hpp"
#include "sw/mock_machine/memory_map.hpp"

namespace diecast::sw {

/// Address of `bytes` at an offset of the PE's TCM; throws protocol_error where they do not lie in it.
using tcm_place = std::function<abi::address(std::uint64_t offset, std::uint64_t bytes)>;

void evaluate(memory_map& memory, const abi::vector_command& command, const tcm_place& place);

}  // namespace diecast::sw
