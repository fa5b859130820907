// SPDX-License-Identifier: Apache-2.0
#include "platforms/result/result_json.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <utility>

#include "models/config/field.hpp"
#include "platforms/result/result_envelope.hpp"

namespace diecast::platforms {

namespace {

std::vector<std::string> paths_of(const std::vector<unread_key>& keys) {
  std::vector<std::string> paths;
  paths.reserve(keys.size());
  for (const unread_key& k : keys) paths.push_back(k.path);
  return paths;
}

}  // namespace

std::string csv_text(const result_node& value) {
  if (value.is_null()) return "";
  return value.is_string() ? csv_field(value.get<std::string>()) : value.dump();
}

std::string csv_value(const result_node& value) {
  if (value.is_array()) {
    std::vector<std::string> all;
    for (const auto& each : value) all.push_back(csv_value(each));
    return fmt::format("{}", fmt::join(all, ","));
  }
  return value.is_number_float() ? fmt::format("{}", value.get<double>()) : csv_text(value);
}

std::string result_text(const result_context& context, result_node machine, result_node runs,
                        result_node costs, run_status status) {
  const result_node j{{"schema", "diecast.result/1"},  {"version", context.version},
                      {"platform", context.platform},  {"config_sha256", context.config_sha256},
                      {"seed", context.seed},          {"argv", context.argv},
                      {"machine", std::move(machine)}, {"unread_keys", paths_of(context.unread)},
                      {"runs", std::move(runs)},       {"sim", std::move(costs)},
                      {"status", to_string(status)}};
  return j.dump(2, ' ', false, result_node::error_handler_t::replace) + "\n";
}

result_node fault_json(const detected_fault& f) {
  result_node j = result_node::object();
  each_field(f, [&j](const std::string& name, const auto& value) {
    const result_node node = node_of(value);
    if (!node.is_null() && node != "" && node != result_node::array()) j[name] = node;
  });
  return j;
}

namespace {

std::string block_of(const std::string& path) { return path.substr(0, path.find('.')); }

template <class IsUnread>
std::vector<unread_key> select(const loaded_config& given, IsUnread is_unread) {
  std::vector<unread_key> keys;
  for (const auto& [path, origin] : given.origins) {
    if (!is_unread(path)) continue;
    keys.push_back({path, origin.starts_with("--set ") || path == "overrides" || path == "faults"});
  }
  return keys;
}

}  // namespace

std::vector<unread_key> unread_keys(const loaded_config& given, const std::set<std::string>& read) {
  return select(given, [&](const std::string& path) { return !read.contains(block_of(path)); });
}

std::vector<unread_key> unread_keys(const loaded_config& given, const config::machine_config& built) {
  const bool one_sip = built.pod.sips == 1;
  const bool one_cube = built.shape().cubes_per_sip() == 1;
  return select(given, [&](const std::string& path) {
    // A count of one is read, because it is the reason why other keys are not.
    if (path == "pod.sips") return given.config.pod.sips != built.pod.sips;
    if (path == "sip.columns") return given.config.sip.columns != built.sip.columns;
    if (path == "sip.rows") return given.config.sip.rows != built.sip.rows;
    const std::string block = block_of(path);
    return (one_sip && (block == "pod" || block == "sip_link")) ||
           (one_cube && (block == "sip" || block == "ucie"));
  });
}

std::string unread_text(const std::vector<unread_key>& keys) {
  std::string text;
  for (const unread_key& k : keys)
    if (k.reported) text += (text.empty() ? "note: this machine does not read " : ", ") + k.path;
  return text.empty() ? text : text + '\n';
}

namespace {

using json = result_node;

json fault_row_json(const fault_row& r) {
  json j = object_of(r);
  if (r.why_not.empty()) j.erase("why_not");
  return j;
}

}  // namespace

json run_json(const run_outcome& o) {
  json j = object_of(o);
  for (const auto& [name, figure] :
       {std::pair{"time_ns", o.time_ns}, {"time_min_ns", o.time_min_ns}, {"time_max_ns", o.time_max_ns}})
    if (!o.timed(figure)) j[name] = nullptr;
  for (const char* const bandwidth : {"algbw_gbytes_s", "busbw_gbytes_s"})
    if (j[bandwidth] == 0.0) j[bandwidth] = nullptr;  // no end, no data, or no other rank
  if (o.jitter) j.update(object_of(*o.jitter, "jitter_"));
  if (o.why) j["explanation"] = explanation_json(*o.why);
  if (!o.team.empty()) j["team"] = o.team;
  if (!o.message.empty()) j["message"] = o.message;
  for (const fault_row& r : o.faults) j["faults_met"].push_back(fault_row_json(r));
  if (o.detected) j["fault"] = fault_json(*o.detected);
  write_workload(o, j);
  return j;
}

std::string result_json(const result_context& context, const std::vector<run_outcome>& runs) {
  const machine_shape& shape = context.shape;
  const json machine{{"sips", shape.sips}, {"cubes", shape.cubes()}, {"pes", shape.pes()}};
  return result_text(context, machine, runs, run_json, fabric_costs(runs));
}

}  // namespace diecast::platforms
