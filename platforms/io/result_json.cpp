// SPDX-License-Identifier: Apache-2.0
#include "platforms/io/result_json.hpp"

#include <type_traits>
#include <utility>

#include "platforms/io/explain_text.hpp"
#include "platforms/io/result_envelope.hpp"
#include "platforms/io/workload_result.hpp"

namespace diecast::platforms {
namespace {

using json = result_node;

json fault_row_json(const fault_row& r) {
  json j = object_of(r);
  if (r.why_not.empty()) j.erase("why_not");
  return j;
}

fault_row fault_row_from(json j) {
  j.emplace("why_not", "");
  return row_from<fault_row>(j);
}

}  // namespace

json run_json(const run_outcome& o) {
  json j = object_of(o);
  for (const auto& [name, figure] : {std::pair{"time_ns", o.time_ns},
                                     {"time_min_ns", o.time_min_ns},
                                     {"time_max_ns", o.time_max_ns},
                                     {"algbw_gbytes_s", o.algbw_gbytes_s},
                                     {"busbw_gbytes_s", o.busbw_gbytes_s}}) {
    if (!o.timed(figure)) j[name] = nullptr;
  }
  if (o.jitter) j.update(object_of(*o.jitter, "jitter_"));
  if (o.why) j["explanation"] = explanation_json(*o.why);
  if (!o.team.empty()) j["team"] = o.team;
  if (!o.message.empty()) j["message"] = o.message;
  for (const fault_row& r : o.faults) j["faults_met"].push_back(fault_row_json(r));
  if (o.detected) j["fault"] = fault_json(*o.detected);
  write_workload(o, j);
  return j;
}

namespace {

void read_run(const json& j, run_outcome& o) {
  each_field(o, [&j](const std::string& name, auto& value) {
    if constexpr (std::is_same_v<decltype(value), double&>) {
      if (j.at(name).is_null()) return;  // a run without a time
    }
    read_field(j, name, value);
  });
  if (j.contains("team")) o.team = j.at("team");
  if (j.contains("message")) o.message = j.at("message");
  for (const json& r : j.value("faults_met", json::array())) o.faults.push_back(fault_row_from(r));
  if (j.contains("fault")) o.detected = fault_from(j.at("fault"));
  read_workload(j, o);
}

}  // namespace

std::string pack(const run_outcome& o) {
  json j = run_json(o);
  each_carried(o, [&j](const std::string& name, const auto& value) { j[name] = node_of(value); });
  // Messages may quote bytes a user wrote; anything that is not UTF-8 is replaced, not refused.
  return packed(j);
}

run_outcome unpack(const std::string& text) {
  const json j = json::parse(text);
  run_outcome o;
  read_run(j, o);
  each_carried(o, [&j](const std::string& name, auto& value) { read_field(j, name, value); });
  return o;
}

std::string result_json(const result_context& context, const std::vector<run_outcome>& runs) {
  const machine_shape& shape = context.shape;
  const json machine{{"sips", shape.sips}, {"cubes", shape.cubes()}, {"pes", shape.pes()}};
  return result_text(context, machine, runs, run_json, fabric_costs(runs));
}

}  // namespace diecast::platforms
