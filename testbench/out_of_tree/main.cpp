// SPDX-License-Identifier: Apache-2.0
// lab-pod: Diecast's pod with another memory in it, one more pattern, algorithm and kind of job.
#include <memory>

#include "hypercube_doubling.hpp"
#include "plain_memory.hpp"
#include "platforms/app/app.hpp"

namespace lab {
diecast::platforms::job_entry sharded_step();
}

namespace {

namespace app = diecast::app;
namespace netlist = diecast::netlist;

netlist::memory_block make_memory(const char* name, const diecast::config::machine_config& config,
                                  diecast::hw::fault_sink&) {
  const sc_core::sc_time latency(config.hbm.simple_latency_ns, sc_core::SC_NS);
  return netlist::memory_block_of(
      std::make_unique<lab::plain_memory>(name, config.hbm.port_mib << 20, latency));
}

app::registries tables() {
  app::platform_entry platform = app::pod_platform();
  platform.name = "lab-pod";
  platform.description = "a pod with plain memories";
  platform.default_config = LAB_CONFIG;
  platform.data_dir = DIECAST_DATA_DIR;

  app::registries all = app::builtin_registries(platform);
  all.kernels.push_back(lab::hypercube_doubling());
  all.patterns.push_back(lab::hypercube());
  all.jobs.push_back(lab::sharded_step());
  all.hbm = make_memory;
  return all;
}

}  // namespace

int sc_main(int argc, char** argv) { return app::run(tables(), argc, argv); }

int main(int argc, char** argv) { return app::start(argc, argv); }
