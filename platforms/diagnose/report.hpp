// SPDX-License-Identifier: Apache-2.0
// A finished examination as JSON and as one page of text.
#pragma once

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "platforms/diagnose/findings.hpp"
#include "platforms/diagnose/laboratory.hpp"
#include "platforms/diagnose/rates.hpp"

namespace diecast::diagnose {

/// One of the questions that every diagnosis answers, and the rates of failures that say so.
struct rated_question {
  std::string id;      ///< "staging"
  std::string answer;  ///< yes, no or not distinguishable
  rate before, after;
};

struct case_file {
  std::deque<observation> observations;                      ///< the run as given first
  std::vector<finding> findings;                             ///< what is most certain and gravest first
  std::vector<std::pair<std::string, std::string>> answers;  ///< questions of the list
  std::vector<rated_question> questions;                     ///< those that were asked; others do not apply
  rate failed;        ///< among draws of the faults' chances, of the run as given or the smaller one
  bool stochastic{};  ///< those draws differ
  std::vector<std::string> skipped;  ///< experiments there was no time for
  int exit_code{};
};

[[nodiscard]] std::string to_json(const case_file& file, const laboratory& lab,
                                  const std::string& config_sha256);
/// `withheld`: patient::withheld.
[[nodiscard]] std::string to_text(const case_file& file, const laboratory& lab, bool withheld);

}  // namespace diecast::diagnose
