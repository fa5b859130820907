// SPDX-License-Identifier: Apache-2.0
#include "platforms/io/result_envelope.hpp"

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

std::string packed(const result_node& outcome) {
  return outcome.dump(-1, ' ', false, result_node::error_handler_t::replace);
}

}  // namespace diecast::platforms
