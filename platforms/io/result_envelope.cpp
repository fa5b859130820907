// SPDX-License-Identifier: Apache-2.0
#include "platforms/io/result_envelope.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

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

detected_fault fault_from(const result_node& j) {
  detected_fault f;
  each_field(f, [&j](const std::string& name, auto& value) {
    if (j.contains(name)) read_field(j, name, value);
  });
  return f;
}

}  // namespace diecast::platforms
