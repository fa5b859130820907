// SPDX-License-Identifier: Apache-2.0
#include "platforms/diagnose/jobs.hpp"

#include <algorithm>
#include <cstddef>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <tuple>

#include "platforms/diagnose/places.hpp"

namespace diecast::diagnose {

namespace {

using nlohmann::ordered_json;

ordered_json one_stream(const ordered_json& group, const ordered_json& ops, std::uint64_t repeat) {
  return {{"groups", {{"tried", group}}},
          {"streams",
           ordered_json::array({{{"name", "tried"}, {"on", "tried"}, {"repeat", repeat}, {"ops", ops}}})}};
}

/// All PEs in groups of neighbors, and the stream of each; a last one alone goes with the group before.
template <class Ops>
std::string in_groups(std::uint32_t pes, std::uint32_t most, std::uint64_t repeat, Ops ops_of) {
  ordered_json groups = ordered_json::object(), streams = ordered_json::array();
  for (std::uint32_t first = 0; first < pes;) {
    const std::uint32_t end = pes - first <= most + 1 ? pes : first + most;
    std::vector<std::uint32_t> ranks(end - first);
    std::iota(ranks.begin(), ranks.end(), first);
    const std::string name = "from" + std::to_string(first);
    groups[name] = {{"ranks", "pe"}, {"list", ranks}};
    streams.push_back({{"name", name}, {"on", name}, {"repeat", repeat}, {"ops", ops_of(end - first)}});
    first = end;
  }
  return ordered_json{{"groups", groups}, {"streams", streams}}.dump(1) + "\n";
}

/// Number of messages that a PE gets from each of the others.
void send_all_to(std::uint32_t receiver, std::uint32_t members, ordered_json& ops) {
  constexpr std::uint32_t from_each = 2, tag = 1;
  constexpr std::uint64_t eager = 256;
  std::vector<std::uint32_t> others;
  for (std::uint32_t rank = 0; rank < members; ++rank)
    if (rank != receiver) others.push_back(rank);
  ops.push_back({{"op", "isend"},
                 {"only", others},
                 {"peer", receiver},
                 {"tag", tag},
                 {"bytes", eager},
                 {"times", from_each}});
  ops.push_back({{"op", "irecv"},
                 {"only", {receiver}},
                 {"peer", "ANY"},
                 {"tag", tag},
                 {"bytes", eager},
                 {"times", from_each * others.size()}});
  ops.push_back({{"op", "waitall"}});
}

}  // namespace

std::string barriers_among(std::uint32_t pes) {
  constexpr std::uint32_t most = 64;
  constexpr std::uint64_t rounds = 4;
  return in_groups(pes, most, rounds, [](std::uint32_t) {
    return ordered_json::array({{{"op", "barrier"}, {"algorithm", "centralized_pull"}},
                                {{"op", "barrier"}, {"algorithm", "dissemination"}}});
  });
}

std::string messages_to_each(std::uint32_t pes) {
  constexpr std::uint32_t most = 16;
  return in_groups(pes, most, 1, [](std::uint32_t members) {
    ordered_json ops = ordered_json::array();
    for (std::uint32_t receiver = 0; receiver < members; ++receiver) send_all_to(receiver, members, ops);
    return ops;
  });
}

std::string workload_of(const collective_job& job) {
  ordered_json op{{"op", job.collective}};
  const auto set = [&op](const char* key, const std::string& value) {
    if (!value.empty()) op[key] = value;
  };
  set("algorithm", job.algorithm);
  set("dtype", job.dtype);
  set("redop", job.reduction);
  if (job.bytes > 0) op["bytes"] = job.bytes;
  ordered_json group{{"ranks", job.rank_set}};
  if (!job.ranks.empty()) group["list"] = job.ranks;
  return one_stream(group, ordered_json::array({op}), 1).dump(1) + "\n";
}

std::string ring_of_messages(std::uint64_t bytes) {
  constexpr std::uint64_t rounds = 8, eager = 256;
  const auto op = [](const char* kind, std::uint32_t tag, std::uint64_t size) -> ordered_json {
    return {{"op", kind}, {"shift", 1}, {"tag", tag}, {"bytes", size}};
  };
  // Large messages are transferred by reads, on which faults of data packets do not act.
  const ordered_json ops = ordered_json::array({op("irecv", 1, eager),
                                                op("isend", 1, eager),
                                                op("irecv", 2, bytes),
                                                op("isend", 2, bytes),
                                                {{"op", "waitall"}}});
  return one_stream({{"ranks", "pe"}}, ops, rounds).dump(1) + "\n";
}

std::optional<std::string> repeated(const std::string& workload, std::uint64_t times) {
  constexpr bool throws = false, comments = true;
  ordered_json j = ordered_json::parse(workload, nullptr, throws, comments);
  if (!j.is_object() || !j.contains("streams") || !j["streams"].is_array()) return std::nullopt;
  for (ordered_json& stream : j["streams"]) {
    if (!stream.is_object()) return std::nullopt;
    const ordered_json once = stream.value("repeat", ordered_json(1U));
    if (!once.is_number_unsigned()) return std::nullopt;
    stream["repeat"] = once.get<std::uint64_t>() * times;
  }
  return j.dump(1) + "\n";
}

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
  for (const measurement& m : o.health)
    if (m.measure == "core_clock") pes.push_back(m.where);
  if (pes.size() != o.run().value("ranks", std::size_t{})) pes.clear();
  return pes;
}

rank_list beside(const rank_list& two, std::size_t count) {
  rank_list near;
  for (const std::uint32_t rank : two) {
    for (const std::int64_t next : {std::int64_t{rank} - 1, std::int64_t{rank} + 1}) {
      const auto at = static_cast<std::uint32_t>(next);
      const bool is_rank = next >= 0 && static_cast<std::size_t>(next) < count;
      const auto is_in = [at](const rank_list& ranks) { return std::ranges::find(ranks, at) != ranks.end(); };
      if (is_rank && !is_in(two) && !is_in(near)) near.push_back(at);
    }
  }
  return near;
}

std::vector<rank_list> pairs_across(const std::vector<std::uint32_t>& sips,
                                    const std::vector<finding>& found) {
  std::map<std::uint32_t, std::uint32_t> first;  // rank of each SIP
  for (std::size_t rank = 0; rank < sips.size(); ++rank)
    first.emplace(sips[rank], static_cast<std::uint32_t>(rank));
  const auto is_named = [&found](std::uint32_t a, std::uint32_t b) {
    return std::ranges::any_of(found, [a, b](const finding& f) {
      return sips_in(f.where) == std::set{a, b};
    });
  };
  const auto count = static_cast<std::uint32_t>(first.size());
  std::vector<std::tuple<bool, std::uint32_t, rank_list>> pairs;  // not named, distance, ranks
  std::uint32_t i = 0;
  for (auto a = first.begin(); a != first.end(); ++a, ++i) {
    std::uint32_t k = i + 1;
    for (auto b = std::next(a); b != first.end(); ++b, ++k)
      pairs.emplace_back(!is_named(a->first, b->first), std::min(k - i, count - (k - i)),
                         rank_list{a->second, b->second});
  }
  std::ranges::sort(pairs);
  std::vector<rank_list> in_order;
  in_order.reserve(pairs.size());
  for (const auto& p : pairs) in_order.push_back(std::get<rank_list>(p));
  return in_order;
}

std::string to_text(const rank_list& ranks) {
  constexpr std::ptrdiff_t few = 2;  // consecutive ranks up to this number are named one by one
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
