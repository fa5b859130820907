// SPDX-License-Identifier: Apache-2.0
#include "models/protocol/global_access.hpp"

#include <fmt/format.h>

#include "models/protocol/data_cache.hpp"
#include "models/types/error.hpp"

namespace diecast::protocol {

void check_global_access(const std::string& who, const char* what, abi::address at, std::uint64_t bytes) {
  const auto where = abi::decode(at);
  const bool global = where && (where->kind == abi::region::hbm || where->kind == abi::region::sram);
  if (global && bytes > 0 && within_a_line(at, bytes)) return;
  throw protocol_error(
      fmt::format("{}: {} of {} bytes at {}; expected bytes of one {}-byte line of HBM or SRAM", who, what,
                  bytes, abi::describe(at), cache_line_bytes));
}

void check_atomic_access(const std::string& who, abi::address at) {
  constexpr std::uint64_t word = sizeof(std::uint64_t);
  check_global_access(who, "atomic add", at, word);
  if (at % word == 0) return;
  throw protocol_error(
      fmt::format("{}: atomic add of {} bytes at {}; expected an address that is a multiple of {}", who, word,
                  abi::describe(at), word));
}

}  // namespace diecast::protocol
