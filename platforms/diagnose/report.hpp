// SPDX-License-Identifier: Apache-2.0
// A finished examination as JSON and as one page of text.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "platforms/diagnose/experiment_runner.hpp"
#include "platforms/diagnose/findings.hpp"

namespace diecast::diagnose {

// Rates of failures, and whether two of them differ.

struct rate {
  std::uint32_t failures{}, draws{};

  /// 0 without draws.
  [[nodiscard]] double share() const;
  void add(bool failed) {
    failures += failed ? 1U : 0U;
    ++draws;
  }
};

struct interval {
  double low{}, high{1.0};
};
/// Holds the true rate in at least 95% of all campaigns: Clopper and Pearson, "The use of confidence or
/// fiducial limits illustrated in the case of the binomial", Biometrika 26 (1934).
[[nodiscard]] interval interval_of(const rate& r);

/// Fisher's exact test, two-sided: the chance that two groups of draws from one rate differ at least as much.
[[nodiscard]] double chance_of_equal(const rate& a, const rate& b);
/// Whether that chance is less than 5%.
[[nodiscard]] bool differ(const rate& a, const rate& b);

/// "60% (45 to 74) of 40 draws".
[[nodiscard]] std::string to_text(const rate& r);

/// One of the questions that every diagnosis answers, and the rates of failures that the answer follows from.
struct rated_question {
  std::string id;      ///< "staging"
  std::string answer;  ///< yes, no or not distinguishable
  rate before, after;
};

struct case_file {
  std::deque<observation> observations;                      ///< the run as given first
  std::vector<finding> findings;                             ///< most certain and severe first
  std::vector<std::pair<std::string, std::string>> answers;  ///< questions of the list
  std::vector<rated_question> questions;  ///< questions that were asked; others do not apply
  rate failed;                            ///< failures among draws of the run as given or the smaller one
  bool stochastic{};                      ///< the draws differ
  std::vector<std::string> skipped;       ///< experiments there was no time for
  int exit_code{};
};

[[nodiscard]] std::string to_json(const case_file& file, const experiment_runner& runner,
                                  const std::string& config_sha256);
/// `withheld`: target::withheld.
[[nodiscard]] std::string to_text(const case_file& file, const experiment_runner& runner, bool withheld);

}  // namespace diecast::diagnose
