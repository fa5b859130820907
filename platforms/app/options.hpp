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
  std::string doc;  ///< config | registers | verdicts | workload
  bool hide_faults{};
  bool ccl_trace{};  ///< by flag, or by DIECAST_CCL_TRACE=1

  std::uint64_t jitter_runs{};             ///< 0: without --jitter
  std::optional<std::uint64_t> jitter_ns;  ///< empty: ccl.jitter_ns
  platforms::process_options parallel;     ///< --processes, --partition and --launcher
  bool double_run{};
  bool inspect{};  ///< the dispatch tables
  bool diagnose{};
  bool explain{};
  std::string record;  ///< file to write
  std::string verify;  ///< file to compare with
};

/// Throws user_error with every problem: unknown or abbreviated flags (with the nearest known one),
/// stray arguments, values that are not what the flag takes.
[[nodiscard]] options parse_options(int argc, const char* const* argv);

/// The text of --help.
[[nodiscard]] std::string help_text(const platform_entry& platform);

/// "0:1:8", "0+3+5", "2..64" or "2..64:x2" (teams of the first ranks), joined by commas. Throws user_error.
[[nodiscard]] std::vector<comm::team_spec> parse_teams(const std::string& text);

/// "64KiB", "4KiB:1MiB:x4", "4KiB:16KiB:+4KiB"; without a step the factor is 2. Throws user_error.
[[nodiscard]] std::vector<std::uint64_t> parse_sizes(const std::string& text);

// --diagnose.

/// Examines the run that the flags ask for; writes its files into --out, by default the folder diagnosis of
/// the working directory. Returns the exit code of the run as given.
int run_diagnosis(const options& o, const config::machine_config& config, int argc, char** argv);

}  // namespace diecast::app
