// SPDX-License-Identifier: Apache-2.0
#include "platforms/diagnose/jobs.hpp"

#include <nlohmann/json.hpp>
#include <numeric>

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

/// A PE gets so many messages from each of the others.
void send_all_to(std::uint32_t receiver, std::uint32_t members, ordered_json& ops) {
  constexpr std::uint32_t from_each = 2, tag = 1;
  constexpr std::uint64_t eager = 256;
  std::vector<std::uint32_t> others;
  for (std::uint32_t rank = 0; rank < members; ++rank) {
    if (rank != receiver) others.push_back(rank);
  }
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
  // The large ones go by reads, which faults of packets of data leave out.
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

}  // namespace diecast::diagnose
