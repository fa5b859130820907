// SPDX-License-Identifier: Apache-2.0
#include "platforms/diagnose/rank_sets.hpp"

#include <algorithm>
#include <cstddef>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "platforms/diagnose/places.hpp"

namespace diecast::diagnose {
rank_list first_ranks(std::uint32_t n) {
  rank_list all(n);
  std::iota(all.begin(), all.end(), 0U);
  return all;
}

std::vector<rank_list> parts_of(const rank_list& ranks) {
  if (ranks.size() < 3) return {};
  if (ranks.size() == 3) return {{ranks[0], ranks[1]}, {ranks[1], ranks[2]}, {ranks[0], ranks[2]}};
  const auto middle = ranks.begin() + static_cast<std::ptrdiff_t>(ranks.size() / 2);
  return {{ranks.begin(), middle}, {middle, ranks.end()}};
}

std::vector<std::uint32_t> sips_of(const observation& o, std::uint32_t ranks) {
  const std::vector<std::string> pes = pes_of(o);
  if (pes.size() != ranks) return {};
  std::vector<std::uint32_t> sips;
  for (const std::string& pe : pes) {
    const std::set<std::uint32_t> named = sips_in(pe);
    if (named.size() != 1) return {};
    sips.push_back(*named.begin());
  }
  return sips;
}

std::vector<std::string> pes_of(const observation& o) {
  std::vector<std::string> pes;
  for (const measurement& m : o.health) {
    if (m.measure == "core_clock") pes.push_back(m.where);
  }
  const std::size_t ranks = o.run().is_object() ? o.run().value("ranks", std::size_t{}) : 0;
  if (pes.size() != ranks) pes.clear();
  return pes;
}

rank_list beside(const rank_list& two, std::size_t count) {
  rank_list near;
  for (const std::uint32_t rank : two) {
    for (const std::int64_t next : {std::int64_t{rank} - 1, std::int64_t{rank} + 1}) {
      const auto at = static_cast<std::uint32_t>(next);
      const bool is_rank = next >= 0 && static_cast<std::size_t>(next) < count;
      const auto is_in = [at](const rank_list& ranks) {
        return std::find(ranks.begin(), ranks.end(), at) != ranks.end();
      };
      if (is_rank && !is_in(two) && !is_in(near)) near.push_back(at);
    }
  }
  return near;
}

std::vector<rank_list> pairs_across(const std::vector<std::uint32_t>& sips,
                                    const std::vector<finding>& found) {
  std::map<std::uint32_t, std::uint32_t> first;  // rank of each SIP
  for (std::size_t rank = 0; rank < sips.size(); ++rank) {
    first.emplace(sips[rank], static_cast<std::uint32_t>(rank));
  }
  const auto is_named = [&found](std::uint32_t a, std::uint32_t b) {
    return std::any_of(found.begin(), found.end(), [a, b](const finding& f) {
      return sips_in(f.where) == std::set{a, b};
    });
  };
  const auto count = static_cast<std::uint32_t>(first.size());
  std::vector<std::tuple<bool, std::uint32_t, rank_list>> pairs;  // not named, distance, ranks
  std::uint32_t i = 0;
  for (auto a = first.begin(); a != first.end(); ++a, ++i) {
    std::uint32_t k = i + 1;
    for (auto b = std::next(a); b != first.end(); ++b, ++k) {
      pairs.emplace_back(!is_named(a->first, b->first), std::min(k - i, count - (k - i)),
                         rank_list{a->second, b->second});
    }
  }
  std::sort(pairs.begin(), pairs.end());
  std::vector<rank_list> in_order;
  in_order.reserve(pairs.size());
  for (const auto& p : pairs) in_order.push_back(std::get<rank_list>(p));
  return in_order;
}

std::string to_text(const rank_list& ranks) {
  constexpr std::ptrdiff_t few = 2;  // in a row, that are named one by one
  std::vector<std::string> runs;
  for (auto first = ranks.begin(); first != ranks.end();) {
    auto last = first;
    while (std::next(last) != ranks.end() && *std::next(last) == *last + 1) ++last;
    const auto end = std::next(last);
    if (end - first > few) {
      runs.push_back(fmt::format("{} to {}", *first, *last));
    } else {
      runs.push_back(fmt::format("{}", fmt::join(first, end, ", ")));
    }
    first = end;
  }
  return fmt::format("{}", fmt::join(runs, ", "));
}

}  // namespace diecast::diagnose
