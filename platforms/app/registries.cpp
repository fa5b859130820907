// SPDX-License-Identifier: Apache-2.0
#include "platforms/app/registries.hpp"

#include "hw/hbm/hbm_simple.hpp"

namespace diecast::app {
namespace {

netlist::memory_block make_hbm(const char* name, const config::machine_config& config,
                               hw::fault_sink& faults) {
  auto memory = hw::make_hbm(name, config.hbm, config.sim.strict_memory, faults);
  netlist::memory_block block;
  block.socket = &memory->socket;
  block.module = std::move(memory);
  return block;
}

}  // namespace

registries builtin_registries(platform_entry platform) {
  return {std::move(platform), sw::builtin_kernels(), comm::builtin_patterns(), make_hbm};
}

platform_entry pod_platform() {
  return {"diecast-pod", "a pod of SIPs (packages), each a mesh of cubes (dies) of PEs", "pod",
          [](config::machine_config&) {}};
}

platform_entry sip_platform() {
  return {"diecast-sip", "one SIP: a mesh of cubes of PEs", "sip", [](config::machine_config& c) {
            c.pod.sips = 1;
            c.pod.topology = config::pod_topology::ring;
            c.pod.columns = 0;
            c.pod.links.clear();
          }};
}

platform_entry cube_platform() {
  return {"diecast-cube", "one cube of PEs", "cube", [](config::machine_config& c) {
            sip_platform().adapt(c);
            c.sip.columns = 1;
            c.sip.rows = 1;
          }};
}

}  // namespace diecast::app
