// SPDX-License-Identifier: Apache-2.0
// The command line of diecast-hbm as plain values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "platforms/app/common_options.hpp"
#include "platforms/hbm/study.hpp"

namespace diecast::hbm {

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

}  // namespace diecast::hbm
