// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fmt/format.h>
#include <optional>

#include "models/comm/patterns.hpp"
#include "models/types/error.hpp"

namespace diecast::comm {
namespace {

std::optional<direction> known_direction(const std::string& name) {
  for (direction d = 0; d < first_custom; ++d)
    if (direction_name(d) == name) return d;
  return std::nullopt;
}

/// Numbers of names, in order of appearance.
class direction_numbers {
 public:
  direction of(const std::string& name) {
    if (const auto d = known_direction(name)) return *d;
    const auto at = std::find(names_.begin(), names_.end(), name);
    if (at == names_.end()) names_.push_back(name);
    return static_cast<direction>(first_custom +
                                  (std::find(names_.begin(), names_.end(), name) - names_.begin()));
  }
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

 private:
  std::vector<std::string> names_;
};

std::vector<edge> checked(const std::vector<edge>& edges, const std::string& name, const pattern_context& c) {
  std::vector<pe_coord> members = c.members.members;
  std::sort(members.begin(), members.end());
  std::vector<problem> problems;
  for (std::size_t i = 0; i < edges.size(); ++i) {
    for (const auto& [end, key] : {std::pair{edges[i].from, "from"}, {edges[i].to, "to"}}) {
      if (std::binary_search(members.begin(), members.end(), end)) continue;
      problems.push_back(
          {fmt::format("ccl.patterns.{}[{}].{}", name, i, key),
           c.shape.contains(end) ? "is no member of the collective" : "no such PE in this machine",
           owner_name(end), fmt::format("one of the {} members", members.size())});
    }
  }
  if (!problems.empty()) throw user_error(std::move(problems));
  return edges;
}

}  // namespace

pattern_entry custom_pattern(const config::custom_pattern& p) {
  direction_numbers numbers;
  std::vector<edge> edges;
  for (const config::custom_edge& e : p.edges) {
    edge made{e.from, numbers.of(e.direction), e.to, e.bidirectional};
    if (e.reverse) made.reverse = numbers.of(*e.reverse);
    edges.push_back(made);
  }
  pattern_entry entry;
  entry.name = p.name;
  entry.description = "edges of ccl.patterns";
  entry.build = [edges, name = p.name](const pattern_context& c) { return checked(edges, name, c); };
  entry.direction_names = numbers.names();
  return entry;
}

}  // namespace diecast::comm
