// SPDX-License-Identifier: Apache-2.0
// lab-hbm: the patterns, traces and statistics of diecast-hbm on another memory.
#include <memory>

#include "plain_memory.hpp"
#include "platforms/app/app.hpp"
#include "platforms/hbm/app.hpp"

namespace {

diecast::netlist::memory_block make_memory(const char* name, const diecast::config::machine_config& config,
                                           diecast::hw::fault_sink&) {
  const sc_core::sc_time latency(config.hbm.simple_latency_ns, sc_core::SC_NS);
  return diecast::netlist::memory_block_of(
      std::make_unique<lab::plain_memory>(name, config.hbm.port_mib << 20, latency));
}

}  // namespace

int sc_main(int argc, char** argv) {
  return diecast::hbm::run(
      {"lab-hbm", "a plain memory with traffic generators", LAB_CONFIG, DIECAST_DATA_DIR, make_memory}, argc,
      argv);
}

int main(int argc, char** argv) { return diecast::app::start(argc, argv); }
