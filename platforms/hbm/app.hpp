// SPDX-License-Identifier: Apache-2.0
// Entry of an HBM binary; its main file is
//
//   int sc_main(int argc, char** argv) { return diecast::hbm::run(registries, argc, argv); }
//   int main(int argc, char** argv) { return diecast::app::start(argc, argv); }
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "platforms/app/command_line.hpp"
#include "platforms/hbm/study.hpp"
#include "platforms/result/result_json.hpp"

namespace diecast::hbm {

/// Parses the command line, runs the study, returns the exit code.
int run(const registries& tables, int argc, char** argv);

// Texts about an HBM binary and its memory, without a run.

/// --list patterns | presets
[[nodiscard]] std::string list_text(const registries& tables, const std::string& what);

// The command line of diecast-hbm as plain values.

struct options : app::common_options {
  traffic::memory_pattern pattern{traffic::memory_pattern::seq};
  std::uint64_t stride_bytes{};
  std::string replay;  ///< file; empty: the pattern
  std::optional<double> read_fraction;
  std::optional<std::uint64_t> requests;
  std::optional<std::uint64_t> request_bytes;
  std::vector<pace> paces;  ///< empty: not given
  bool check_data{};
  bool without_limits{};  ///< measure what each limit costs
};

/// Throws user_error with every problem.
[[nodiscard]] options parse_options(int argc, const char* const* argv);

/// "80%", "max", "10%:90%:+20%" and lists of them. Throws user_error.
[[nodiscard]] std::vector<pace> parse_rates(const std::string& text);

/// The text of --help.
[[nodiscard]] std::string help_text(const registries& tables);

// Results of memory studies as JSON, CSV and tables.

/// schema diecast.result/1; `context.shape` is not used.
[[nodiscard]] std::string result_json(const platforms::result_context& context, const config::hbm_block& hbm,
                                      const std::vector<study_outcome>& runs);
[[nodiscard]] std::string result_csv(const std::vector<study_outcome>& runs);
/// `pattern`: common to all rows.
[[nodiscard]] std::string table_header(const std::string& pattern);
[[nodiscard]] std::string table_row(const study_outcome& o);

}  // namespace diecast::hbm
