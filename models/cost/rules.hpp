// SPDX-License-Identifier: Apache-2.0
// Choices of an algorithm made by the user instead of the cost model: the rule list of
// ccl.algorithm_rules and the rows of a tuner table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/comm/collective.hpp"
#include "models/comm/patterns.hpp"
#include "models/types/error.hpp"

namespace diecast::cost {

/// One rule: its conditions and its value. The first rule that matches applies.
struct algorithm_rule {
  comm::collective what{comm::collective::all_reduce};
  std::uint64_t from_bytes{};
  std::uint64_t to_bytes{UINT64_MAX};  ///< included
  std::optional<comm::rank_set> set;   ///< empty: any
  std::optional<std::uint64_t> ranks;  ///< empty: any number
  std::string algorithm;
  std::string where;  ///< for reasons and errors: "all_reduce:0-64KiB=swing", "tuner.csv line 3"
};

struct rule_question {
  comm::collective what{comm::collective::all_reduce};
  std::uint64_t bytes{};
  comm::rank_set set{comm::rank_set::pe};
  std::uint64_t ranks{};
};
/// The first rule that matches, or null.
[[nodiscard]] const algorithm_rule* first_match(const std::vector<algorithm_rule>& rules,
                                                const rule_question& q);

/// "all_reduce:0-64KiB=rabenseifner,all_reduce:64KiB-=ring_1d": COLLECTIVE[:FROM-TO]=ALGORITHM, sizes as
/// for --bytes, both included; an end left out is open. Appends what is wrong.
[[nodiscard]] std::vector<algorithm_rule> parse_rules(const std::string& text,
                                                      std::vector<problem>& problems);

/// A tuner table: CSV with a header line. Columns collective, min_bytes, max_bytes and algorithm are needed,
/// rank_set and ranks are not; an empty field or * means any. Lines that begin with # are comments.
/// `name`: for errors. Appends problems.
[[nodiscard]] std::vector<algorithm_rule> parse_tuner(const std::string& name, const std::string& text,
                                                      std::vector<problem>& problems);

}  // namespace diecast::cost
