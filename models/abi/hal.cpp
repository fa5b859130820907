// SPDX-License-Identifier: Apache-2.0
#include "models/abi/hal.hpp"

namespace diecast::abi {

const char* to_string(compare how) {
  switch (how) {
    case compare::eq: return "==";
    case compare::ne: return "!=";
    case compare::lt: return "<";
    case compare::le: return "<=";
    case compare::gt: return ">";
    case compare::ge: return ">=";
  }
  return "unknown";
}

void host_hal::debug_write_register(pe_coord pe, register_offset reg, std::uint64_t value) {
  const address to = encode({pe.sip, pe.cube, region::pe_registers, pe.pe.value, reg});
  debug_write(to, std::as_bytes(std::span{&value, 1}));
}

}  // namespace diecast::abi
