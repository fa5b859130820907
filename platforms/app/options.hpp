// SPDX-License-Identifier: Apache-2.0
// The command line as plain values. Every number goes through the config's own typed readers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "platforms/app/command_line.hpp"
#include "platforms/run/processes.hpp"
#include "platforms/run/registries.hpp"

namespace diecast::app {

struct options : common_options, platforms::job_request {
  bool dump_install{}, print_map{};
  std::string doc;                      ///< config | registers | verdicts | workload
  platforms::process_options parallel;  ///< --processes, --partition and --launcher
  bool double_run{};
  bool diagnose{};
  bool explain{};
  std::string record;  ///< file to write
  std::string verify;  ///< file to compare with
};

/// Throws user_error with every problem: unknown or abbreviated flags (with the nearest known one),
/// stray arguments, values that are not what the flag takes.
[[nodiscard]] options parse_options(int argc, const char* const* argv);

/// The files that processes 1 and up write instead of those of --vcd and --timeline.
[[nodiscard]] flag_files parts_of(const options& o);

/// The text of --help.
[[nodiscard]] std::string help_text(const platform_entry& platform);

// --diagnose.

/// Examines the run that the flags describe; writes its files into --out, by default the folder diagnosis of
/// the working directory. Returns the exit code of the run as given.
int run_diagnosis(const options& o, const config::machine_config& config, int argc, char** argv);

}  // namespace diecast::app
