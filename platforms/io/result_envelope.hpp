// SPDX-License-Identifier: Apache-2.0
// What result.json says around its runs, the same for every binary. For the writers of results only: the JSON
// library is a slow header.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "platforms/io/result_json.hpp"

namespace diecast::platforms {

using result_node = nlohmann::ordered_json;

/// null where there is no value.
template <class T>
[[nodiscard]] result_node optional_json(const std::optional<T>& value) {
  return value ? result_node(*value) : result_node(nullptr);
}

/// A field of a run's record: optional ones are null where there is no value.
template <class T>
[[nodiscard]] result_node node_of(const T& value) {
  return value;
}
template <class T>
[[nodiscard]] result_node node_of(const std::optional<T>& value) {
  return optional_json(value);
}
template <class T>
void read_field(const result_node& record, const char* name, T& value) {
  value = record.at(name).get<T>();
}
template <class T>
void read_field(const result_node& record, const char* name, std::optional<T>& value) {
  if (!record.at(name).is_null()) value = record.at(name).get<T>();
}

/// A field of a CSV row: strings with commas, quotes or line ends are quoted as RFC 4180 says; empty for
/// null.
[[nodiscard]] std::string csv_text(const result_node& value);

/// Sum of one number over all runs.
template <class Outcome, class Number>
[[nodiscard]] Number total(const std::vector<Outcome>& runs, Number Outcome::*number) {
  Number sum{};
  for (const Outcome& o : runs) sum += o.*number;
  return sum;
}

/// Most memory that one of the runs needed.
template <class Outcome>
[[nodiscard]] double peak_rss_mib_of(const std::vector<Outcome>& runs) {
  double most = 0;
  for (const Outcome& o : runs) most = std::max(most, o.peak_rss_mib);
  return most;
}

/// What the host spent on runs of a fabric: `sim` of result.json.
template <class Outcome>
[[nodiscard]] result_node fabric_costs(const std::vector<Outcome>& runs) {
  return {{"wall_s", total(runs, &Outcome::wall_s)},
          {"wakeups", total(runs, &Outcome::wakeups)},
          {"packet_hops", total(runs, &Outcome::packet_hops)},
          {"peak_rss_mib", peak_rss_mib_of(runs)}};
}

/// The text of result.json, schema diecast.result/1: `machine` as the binary describes it, each run as
/// `write_run` does, and what they cost the host.
[[nodiscard]] std::string result_text(const result_context& context, result_node machine, result_node runs,
                                      result_node costs, run_status status);
template <class Outcome, class WriteRun>
[[nodiscard]] std::string result_text(const result_context& context, result_node machine,
                                      const std::vector<Outcome>& runs, WriteRun write_run,
                                      result_node costs) {
  result_node list = result_node::array();
  for (const Outcome& o : runs) list.push_back(write_run(o));
  run_status status = worst(runs);
  const bool lost = std::any_of(runs.begin(), runs.end(), [](const Outcome& o) { return o.output_lost; });
  if (status == run_status::ok && lost) status = run_status::error;  // not everything asked for is there
  return result_text(context, std::move(machine), std::move(list), std::move(costs), status);
}

/// The text that crosses the pipe between a run and its parent. Bytes that are no UTF-8 (names of files) do
/// not end it.
[[nodiscard]] std::string packed(const result_node& outcome);

}  // namespace diecast::platforms
