// SPDX-License-Identifier: Apache-2.0
#include "sw/host/errata.hpp"

#include <cstdint>

#include "models/config/faults.hpp"

namespace diecast::sw {

void set_errata(abi::host_hal& host, const config::machine_config& config, std::span<const pe_coord> members,
                abi::errata_word asked) {
  for (const pe_coord pe : members) {
    const std::uint64_t errata = asked.bits | config::errata_of(config, pe);
    if (pe.sip == host.self() && errata != 0) host.debug_write_register(pe, abi::core_errata, errata);
  }
}

}  // namespace diecast::sw
