// SPDX-License-Identifier: Apache-2.0
#include "models/cost/rules.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>

#include "models/config/text.hpp"
#include "models/types/enum_name.hpp"

namespace diecast::cost {
namespace {

constexpr const char* rules_key = "ccl.algorithm_rules";
constexpr const char* tuner_key = "ccl.tuner";

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::string collective_names() {
  std::vector<std::string> names;
  for (const auto c : comm::all_collectives()) names.emplace_back(comm::to_string(c));
  return config::join(names);
}

/// Reads the ends of a range; empty ends are open.
bool read_range(const std::string& from, const std::string& to, algorithm_rule& rule) {
  const auto low = from.empty() ? std::optional<std::uint64_t>(0) : config::parse_size(from);
  const auto high = to.empty() ? std::optional<std::uint64_t>(UINT64_MAX) : config::parse_size(to);
  if (!low || !high || *low > *high) return false;
  rule.from_bytes = *low;
  rule.to_bytes = *high;
  return true;
}

std::optional<algorithm_rule> parse_rule(const std::string& text, std::vector<problem>& problems) {
  constexpr const char* form = "COLLECTIVE[:FROM-TO]=ALGORITHM, e.g. all_reduce:0-64KiB=rabenseifner";
  algorithm_rule rule;
  rule.where = text;
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals + 1 == text.size()) {
    problems.push_back({rules_key, "a rule names no algorithm", text, form});
    return std::nullopt;
  }
  rule.algorithm = text.substr(equals + 1);
  const std::vector<std::string> parts = config::split(text.substr(0, equals), ':');
  const auto what = comm::collective_named(parts[0]);
  if (!what) {
    problems.push_back({rules_key, "a rule names no collective", text, collective_names()});
    return std::nullopt;
  }
  rule.what = *what;
  if (parts.size() == 1) return rule;
  const std::vector<std::string> ends = config::split(parts[1], '-');
  const bool one = ends.size() == 1;
  if (parts.size() > 2 || parts[1].empty() || ends.size() > 2 ||
      !read_range(ends[0], one ? ends[0] : ends[1], rule)) {
    problems.push_back({rules_key, "a rule has no range of sizes", text, form});
    return std::nullopt;
  }
  return rule;
}

constexpr std::array needed{"collective", "min_bytes", "max_bytes", "algorithm"};
constexpr std::array possible{"collective", "min_bytes", "max_bytes", "algorithm", "rank_set", "ranks"};

class tuner_reader {
 public:
  tuner_reader(const std::string& name, std::vector<problem>& problems) : name_(name), problems_(problems) {}

  std::vector<algorithm_rule> read(const std::string& text) {
    for (const std::string& line : config::split(text, '\n')) {
      ++line_;
      const std::string content = trimmed(line);
      if (content.empty() || content.front() == '#') continue;
      if (columns_.empty()) {
        if (!read_header(content)) return {};
      } else {
        read_row(content);
      }
    }
    if (columns_.empty()) wrong("the table has no header", "", "collective,min_bytes,max_bytes,algorithm");
    return std::move(rules_);
  }

 private:
  void wrong(const std::string& what, const std::string& value, const std::string& expected) {
    if (problems_.size() >= most_problems) return;
    problems_.push_back({fmt::format("{}: {} line {}", tuner_key, name_, line_), what, value, expected});
  }
  bool read_header(const std::string& content) {
    for (const std::string& field : config::split(content, ',')) columns_.push_back(trimmed(field));
    for (const std::string& c : columns_) {
      if (std::ranges::find(possible, c) == possible.end()) {
        wrong("no such column", c, config::join(std::vector<std::string>(possible.begin(), possible.end())));
        return false;
      }
      if (std::ranges::count(columns_, c) > 1) {
        wrong("a column is given twice", c, "each column once");
        return false;
      }
    }
    for (const char* c : needed) {
      if (std::ranges::find(columns_, c) != columns_.end()) continue;
      wrong("a column is missing", c, "each of collective, min_bytes, max_bytes, algorithm");
      return false;
    }
    return true;
  }
  void read_row(const std::string& content) {
    const std::vector<std::string> fields = config::split(content, ',');
    if (fields.size() != columns_.size()) {
      return wrong("the row has another number of fields than the header", std::to_string(fields.size()),
                   std::to_string(columns_.size()));
    }
    std::map<std::string, std::string> row;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const std::string value = trimmed(fields[i]);
      row[columns_[i]] = value == "*" ? std::string{} : value;
    }
    algorithm_rule rule;
    rule.where = fmt::format("{} line {}", name_, line_);
    rule.algorithm = row["algorithm"];
    if (rule.algorithm.empty()) return wrong("the row names no algorithm", content, "an algorithm");
    const auto what = comm::collective_named(row["collective"]);
    if (!what) return wrong("no such collective", row["collective"], collective_names());
    rule.what = *what;
    if (!read_range(row["min_bytes"], row["max_bytes"], rule)) {
      return wrong("no range of sizes", row["min_bytes"] + " to " + row["max_bytes"],
                   "two sizes, the second not below the first; an empty one is open");
    }
    if (!row["rank_set"].empty()) {
      rule.set = enum_named<comm::rank_set>(row["rank_set"]);
      if (!rule.set) return wrong("no such rank set", row["rank_set"], "pe, cube, sip or *");
    }
    if (!row["ranks"].empty()) {
      rule.ranks = config::parse_count(row["ranks"]);
      if (!rule.ranks) return wrong("not a number of ranks", row["ranks"], "a count or *");
    }
    rules_.push_back(std::move(rule));
  }

  const std::string& name_;
  std::vector<problem>& problems_;
  std::size_t line_{};
  std::vector<std::string> columns_;
  std::vector<algorithm_rule> rules_;
};

}  // namespace

const algorithm_rule* first_match(const std::vector<algorithm_rule>& rules, const rule_question& q) {
  const auto matches = [&q](const algorithm_rule& r) {
    return r.what == q.what && r.from_bytes <= q.bytes && q.bytes <= r.to_bytes &&
           r.set.value_or(q.set) == q.set && r.ranks.value_or(q.ranks) == q.ranks;
  };
  const auto found = std::ranges::find_if(rules, matches);
  return found == rules.end() ? nullptr : &*found;
}

std::vector<algorithm_rule> parse_rules(const std::string& text, std::vector<problem>& problems) {
  std::vector<algorithm_rule> rules;
  if (text.empty()) return rules;
  for (const std::string& part : config::split(text, ','))
    if (auto rule = parse_rule(part, problems)) rules.push_back(std::move(*rule));
  return rules;
}

std::vector<algorithm_rule> parse_tuner(const std::string& name, const std::string& text,
                                        std::vector<problem>& problems) {
  return tuner_reader(name, problems).read(text);
}

}  // namespace diecast::cost
