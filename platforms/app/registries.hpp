// SPDX-License-Identifier: Apache-2.0
// What a binary offers, in explicit tables. An out-of-tree platform starts from builtin_registries(),
// adds its own entries and calls app::run.
#pragma once

#include <string>
#include <vector>

#include "models/comm/patterns.hpp"
#include "models/config/machine_config.hpp"
#include "platforms/netlist/cube.hpp"
#include "sw/kernels/kernel_table.hpp"

namespace diecast::app {

/// A binary: its name, its default config and the levels it does not build.
struct platform_entry {
  std::string name;            ///< "diecast-pod"
  std::string description;     ///< one line for --help
  std::string default_config;  ///< stem of configs/*_default.json: "pod"
  /// Reduces the machine to what this platform builds (one SIP, one cube).
  void (*adapt)(config::machine_config&){};
};

struct registries {
  platform_entry platform;
  sw::kernel_table kernels;
  std::vector<comm::pattern_entry> patterns;
  netlist::memory_factory hbm;  ///< makes the memory behind each HBM port
};

/// Everything Diecast ships, for one of its platforms.
[[nodiscard]] registries builtin_registries(platform_entry platform);

[[nodiscard]] platform_entry pod_platform();
[[nodiscard]] platform_entry sip_platform();
[[nodiscard]] platform_entry cube_platform();

}  // namespace diecast::app
