// SPDX-License-Identifier: Apache-2.0
// A finished examination as JSON and as one page of text.
#pragma once

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "platforms/diagnose/findings.hpp"
#include "platforms/diagnose/laboratory.hpp"

namespace diecast::diagnose {

struct case_file {
  std::deque<observation> observations;                      ///< the run as given first
  std::vector<finding> findings;                             ///< what is most certain and gravest first
  std::vector<std::pair<std::string, std::string>> answers;  ///< questions of the list
  std::vector<std::string> skipped;                          ///< experiments there was no time for
  int exit_code{};
};

[[nodiscard]] std::string to_json(const case_file& file, const laboratory& lab,
                                  const std::string& config_sha256);
/// `withheld`: patient::withheld.
[[nodiscard]] std::string to_text(const case_file& file, const laboratory& lab, bool withheld);

}  // namespace diecast::diagnose
