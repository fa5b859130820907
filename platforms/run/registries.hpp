// SPDX-License-Identifier: Apache-2.0
// Tables of everything that a binary offers. An out-of-tree platform starts from builtin_registries(),
// (platforms/app/builtin.hpp), adds its own entries and calls app::run.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "models/comm/mappers.hpp"
#include "models/comm/patterns.hpp"
#include "models/config/machine_config.hpp"
#include "platforms/netlist/cube.hpp"
#include "platforms/run/job.hpp"
#include "sw/collectives/base/kernel_table.hpp"
#include "sw/workload/op_kind.hpp"

namespace diecast::app {

/// A binary: its name, its default config and the levels it does not build.
struct platform_entry {
  std::string name;         ///< "diecast-pod"
  std::string description;  ///< one line for --help
  /// Config used without --config: a file of the data folder's configs/, or an absolute path.
  std::filesystem::path default_config;
  /// Reduces the machine to what this platform builds (one SIP, one cube).
  void (*adapt)(config::machine_config&){};
  /// Folder of configs/ and presets/; empty: share/diecast beside the binary. A platform built against
  /// an installed package gives the package's diecast_DATA_DIR.
  std::filesystem::path data_dir;
};

struct registries {
  platform_entry platform;
  sw::kernel_table kernels;
  std::vector<comm::pattern_entry> patterns;
  std::vector<comm::mapper_entry> mappers{comm::builtin_mappers()};
  std::vector<comm::validator_entry> validators{comm::builtin_validators()};
  std::vector<platforms::job_entry> jobs;  ///< kinds of jobs of a command line; the last is checked first
  sw::op_table ops;                        ///< kinds of ops of workloads
  netlist::memory_factory hbm;             ///< makes the memory of each HBM port
};

/// Throws user_error with everything wrong in the tables: a name given twice, a kernel whose pattern is
/// in no table, an entry without its function.
void check(const registries& tables);

}  // namespace diecast::app
