// SPDX-License-Identifier: Apache-2.0
#include "models/abi/host_hal.hpp"

namespace diecast::abi {

void host_hal::debug_write_register(pe_coord pe, register_offset reg, std::uint64_t value) {
  const address to = encode({pe.sip, pe.cube, region::pe_registers, pe.pe.value, reg});
  debug_write(to, std::as_bytes(std::span{&value, 1}));
}

}  // namespace diecast::abi
