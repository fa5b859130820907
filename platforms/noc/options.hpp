// SPDX-License-Identifier: Apache-2.0
// The command line of diecast-noc as plain values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "platforms/app/common_options.hpp"
#include "platforms/noc/study.hpp"

namespace diecast::noc {

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

}  // namespace diecast::noc
