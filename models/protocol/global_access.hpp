// SPDX-License-Identifier: Apache-2.0
// What a core may ask of global memory, wherever its firmware runs.
#pragma once

#include <cstdint>
#include <string>

#include "models/abi/address.hpp"

namespace diecast::protocol {

/// Throws protocol_error unless the access is to bytes of one cache line of HBM or SRAM. `who` and `what`
/// are for the error.
void check_global_access(const std::string& who, const char* what, abi::address at, std::uint64_t bytes);
/// Checks an addition at the memory, which takes a whole word.
void check_atomic_access(const std::string& who, abi::address at);

}  // namespace diecast::protocol
