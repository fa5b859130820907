// SPDX-License-Identifier: Apache-2.0
#include "platforms/netlist/build_order.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "models/config/text.hpp"
#include "models/random/stream.hpp"
#include "models/types/error.hpp"

namespace diecast::netlist {

build_order::build_order(const std::string& text) {
  constexpr std::string_view prefix = "shuffle:";
  if (text == "forward") return;
  if (text == "reverse") {
    kind_ = kind::reverse;
    return;
  }
  const auto seed = text.starts_with(prefix)
                        ? config::parse_count(std::string_view(text).substr(prefix.size()))
                        : std::nullopt;
  if (!seed)
    throw user_error(problem{"sim.build_order", "no such order", text, "forward, reverse or shuffle:N"});
  kind_ = kind::shuffle;
  seed_ = *seed;
}

void build_order::run(const std::string& where, const std::vector<std::function<void()>>& steps) const {
  std::vector<std::size_t> order(steps.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (kind_ == kind::reverse) std::reverse(order.begin(), order.end());
  if (kind_ == kind::shuffle) {
    const random::stream draws(seed_, where, "build_order");
    std::vector<std::pair<std::uint64_t, std::size_t>> keyed;
    for (const std::size_t i : order) keyed.emplace_back(draws.at(i), i);
    std::sort(keyed.begin(), keyed.end());
    for (std::size_t i = 0; i < keyed.size(); ++i) order[i] = keyed[i].second;
  }
  for (const std::size_t i : order) steps[i]();
}

}  // namespace diecast::netlist
