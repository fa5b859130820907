// SPDX-License-Identifier: Apache-2.0
#include "platforms/diagnose/jobs.hpp"

#include <nlohmann/json.hpp>

namespace diecast::diagnose {
namespace {

using json = nlohmann::ordered_json;

json one_stream(const json& group, const json& ops, std::uint64_t repeat) {
  return {{"groups", {{"tried", group}}},
          {"streams", json::array({{{"name", "tried"}, {"on", "tried"}, {"repeat", repeat}, {"ops", ops}}})}};
}

}  // namespace

std::string workload_of(const collective_job& job) {
  json op{{"op", job.collective}};
  const auto set = [&op](const char* key, const std::string& value) {
    if (!value.empty()) op[key] = value;
  };
  set("algorithm", job.algorithm);
  set("dtype", job.dtype);
  set("redop", job.reduction);
  if (job.bytes > 0) op["bytes"] = job.bytes;
  json group{{"ranks", job.rank_set}};
  if (!job.ranks.empty()) group["list"] = job.ranks;
  return one_stream(group, json::array({op}), 1).dump(1) + "\n";
}

std::string ring_of_messages(std::uint64_t bytes) {
  constexpr std::uint64_t rounds = 8, eager = 256;
  const auto op = [](const char* kind, std::uint32_t tag, std::uint64_t size) -> json {
    return {{"op", kind}, {"shift", 1}, {"tag", tag}, {"bytes", size}};
  };
  // The large ones go by reads, which faults of packets of data leave out.
  const json ops = json::array({op("irecv", 1, eager),
                                op("isend", 1, eager),
                                op("irecv", 2, bytes),
                                op("isend", 2, bytes),
                                {{"op", "waitall"}}});
  return one_stream({{"ranks", "pe"}}, ops, rounds).dump(1) + "\n";
}

std::optional<std::string> repeated(const std::string& workload, std::uint64_t times) {
  constexpr bool throws = false, comments = true;
  json j = json::parse(workload, nullptr, throws, comments);
  if (!j.is_object() || !j.contains("streams") || !j["streams"].is_array()) return std::nullopt;
  for (json& stream : j["streams"]) {
    if (!stream.is_object()) return std::nullopt;
    const json once = stream.value("repeat", json(1U));
    if (!once.is_number_unsigned()) return std::nullopt;
    stream["repeat"] = once.get<std::uint64_t>() * times;
  }
  return j.dump(1) + "\n";
}

}  // namespace diecast::diagnose
