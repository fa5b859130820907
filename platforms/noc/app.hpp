// SPDX-License-Identifier: Apache-2.0
// Entry of diecast-noc; its main file is
//
//   int sc_main(int argc, char** argv) { return diecast::noc::run(argc, argv); }
//   int main(int argc, char** argv) { return diecast::app::start(argc, argv); }
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "platforms/app/command_line.hpp"
#include "platforms/noc/study.hpp"
#include "platforms/result/result_json.hpp"

namespace diecast::noc {

/// Parses the command line, runs the study, returns the exit code.
int run(int argc, char** argv);

// Texts about diecast-noc and its network, without a run.

/// --list patterns | presets
[[nodiscard]] std::string list_text(const std::string& what);

// The command line of diecast-noc as plain values.

struct options : app::common_options {
  traffic::node_pattern pattern{traffic::node_pattern::uniform};
  std::string replay;         ///< file; empty: the pattern
  std::string transactions;   ///< file of transactions
  std::vector<double> rates;  ///< empty: not given
  std::optional<std::uint64_t> packet_flits, cycles, warmup_cycles, latency_bound;
  std::optional<std::uint64_t> hotspot_node;
  std::optional<double> hotspot_fraction;
};

/// Throws user_error with every problem.
[[nodiscard]] options parse_options(int argc, const char* const* argv);

/// "0.3", "0.05:0.6:+0.05" and lists of them. Throws user_error.
[[nodiscard]] std::vector<double> parse_rates(const std::string& text);

/// The text of --help.
[[nodiscard]] std::string help_text();

// Results of network studies as JSON, CSV and tables.

/// schema diecast.result/1; `context.shape` is not used.
[[nodiscard]] std::string result_json(const platforms::result_context& context, const network& net,
                                      const std::vector<study_outcome>& runs);
[[nodiscard]] std::string result_csv(const std::vector<study_outcome>& runs);
[[nodiscard]] std::string links_csv(const std::vector<study_outcome>& runs);
/// `traffic`: common to all rows.
[[nodiscard]] std::string table_header(const std::string& traffic);
[[nodiscard]] std::string table_row(const study_outcome& o);

}  // namespace diecast::noc
