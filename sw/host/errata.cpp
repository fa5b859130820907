// SPDX-License-Identifier: Apache-2.0
#include "platforms/run/errata.hpp"

#include "models/config/faults.hpp"

namespace diecast::platforms {

void set_errata(abi::host_hal& host, const config::machine_config& config,
                const std::vector<pe_coord>& members, std::uint64_t asked) {
  if (config.faults.empty()) return;
  for (const pe_coord pe : members) {
    const std::uint64_t errata = asked | config::errata_of(config, pe);
    if (pe.sip == host.self() && errata != 0) host.debug_write_register(pe, abi::core_errata, errata);
  }
}

}  // namespace diecast::platforms
