// SPDX-License-Identifier: Apache-2.0
#include "platforms/run/user_rules.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "models/config/text.hpp"
#include "models/types/error.hpp"
#include "platforms/io/input.hpp"

namespace diecast::platforms {

std::vector<cost::algorithm_rule> user_rules(const config::ccl_block& ccl, const app::registries& tables) {
  std::vector<problem> problems;
  std::vector<cost::algorithm_rule> rules = cost::parse_rules(ccl.algorithm_rules, problems);
  if (!ccl.tuner.empty()) {
    const input_file& file = read_input("ccl.tuner", ccl.tuner);
    if (!file.failure.empty()) {
      problems.push_back(cannot_be_read("ccl.tuner", ccl.tuner, file.failure, "a CSV file"));
    } else {
      for (auto& rule : cost::parse_tuner(ccl.tuner, file.text, problems)) rules.push_back(std::move(rule));
    }
  }
  for (const cost::algorithm_rule& rule : rules) {
    std::vector<std::string> known;
    for (const auto& k : tables.kernels)
      if (k.collective == comm::to_string(rule.what)) known.push_back(k.name);
    if (std::find(known.begin(), known.end(), rule.algorithm) != known.end()) continue;
    problems.push_back({fmt::format("ccl: {}", rule.where),
                        fmt::format("no such {} algorithm", comm::to_string(rule.what)), rule.algorithm,
                        config::join(known)});
  }
  if (!problems.empty()) throw user_error(std::move(problems));
  return rules;
}

}  // namespace diecast::platforms
