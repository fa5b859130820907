// SPDX-License-Identifier: Apache-2.0
#include "platforms/app/builtin.hpp"

#include <utility>

#include "platforms/job/jobs.hpp"

namespace diecast::app {
registries builtin_registries(platform_entry platform) {
  sw::kernel_table kernels = sw::builtin_kernels();
  sw::op_table ops = sw::builtin_ops(kernels);
  return {std::move(platform),
          std::move(kernels),
          sw::builtin_patterns(),
          comm::builtin_mappers(),
          comm::builtin_validators(),
          {platforms::collective_job(), platforms::barrier_job(), platforms::workload_job(),
           platforms::program_job()},
          std::move(ops),
          netlist::make_hbm};
}

platform_entry pod_platform() {
  return {"diecast-pod",
          "a pod of SIPs (packages), each a mesh of cubes (dies) of PEs",
          "pod_default.json",
          [](config::machine_config&) {},
          {}};
}

platform_entry sip_platform() {
  return {"diecast-sip",
          "one SIP: a mesh of cubes of PEs",
          "sip_default.json",
          [](config::machine_config& c) {
            c.pod.sips = 1;
            c.pod.topology = config::pod_topology::ring;
            c.pod.columns = 0;
            c.pod.links.clear();
          },
          {}};
}

platform_entry cube_platform() {
  return {"diecast-cube",
          "one cube of PEs",
          "cube_default.json",
          [](config::machine_config& c) {
            sip_platform().adapt(c);
            c.sip.columns = 1;
            c.sip.rows = 1;
          },
          {}};
}

}  // namespace diecast::app
