// SPDX-License-Identifier: Apache-2.0
// The parts of result.json that are the same for every binary. Include it only in writers of results: the
// JSON library's header compiles slowly.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "platforms/result/result_json.hpp"

namespace diecast::platforms {

using result_node = nlohmann::ordered_json;

/// A run's object in result.json.
[[nodiscard]] result_node run_json(const run_outcome& o);

/// null where there is no value.
template <class T>
[[nodiscard]] result_node optional_json(const std::optional<T>& value) {
  return value ? result_node(*value) : result_node(nullptr);
}

/// A type that lists its fields (platforms/result/run_point).
template <class T>
concept row_type = requires {
  T::fields_names;
};

/// A field of a run's record: optional ones are null where there is no value.
template <class T>
[[nodiscard]] result_node node_of(const T& value) {
  return value;
}
template <class T>
[[nodiscard]] result_node node_of(const std::optional<T>& value) {
  return optional_json(value);
}
[[nodiscard]] inline result_node node_of(run_status s) { return to_string(s); }
[[nodiscard]] inline result_node node_of(const statistics& numbers) {
  result_node j = result_node::object();
  for (const auto& [name, value] : numbers) j[name] = value;
  return j;
}

/// An object with the fields of a row by name.
template <row_type Row>
[[nodiscard]] result_node object_of(const Row& r, const std::string& prefix = "") {
  result_node j = result_node::object();
  each_field(r, [&](const std::string& name, const auto& value) { j[prefix + name] = node_of(value); });
  return j;
}
/// A detected fault; without the fields that do not apply to it.
[[nodiscard]] result_node fault_json(const detected_fault& f);

/// A value of a CSV row: numbers in their shortest exact form, nothing for null.
[[nodiscard]] std::string csv_value(const result_node& value);

/// The rows of all runs, each after the number of its run; of each row the first `most` columns.
template <class Outcome, row_type Row>
[[nodiscard]] std::string rows_csv(const std::vector<Outcome>& runs, std::vector<Row> Outcome::*rows,
                                   std::size_t most = SIZE_MAX) {
  std::string text = "run";
  const Row none{};
  const auto each_column = [most](const Row& r, auto visit) {
    std::size_t column = 0;
    each_field(r, [&](const std::string& name, const auto& value) {
      if (column++ < most) visit(name, value);
    });
  };
  each_column(none, [&text](const std::string& name, const auto&) { text += "," + name; });
  text += "\n";
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (const Row& r : runs[i].*rows) {
      text += std::to_string(i);
      each_column(
          r, [&text](const std::string&, const auto& value) { text += "," + csv_value(node_of(value)); });
      text += "\n";
    }
  }
  return text;
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

/// Largest peak of memory among the runs.
template <class Outcome>
[[nodiscard]] double peak_rss_mib_of(const std::vector<Outcome>& runs) {
  double most = 0;
  for (const Outcome& o : runs) most = std::max(most, o.peak_rss_mib);
  return most;
}

/// Costs of runs of a fabric on the host: `sim` of result.json.
template <class Outcome>
[[nodiscard]] result_node fabric_costs(const std::vector<Outcome>& runs) {
  return {{"wall_s", total(runs, &Outcome::wall_s)},
          {"wakeups", total(runs, &Outcome::wakeups)},
          {"packet_hops", total(runs, &Outcome::packet_hops)},
          {"peak_rss_mib", peak_rss_mib_of(runs)}};
}

/// The text of result.json, schema diecast.result/1: the binary's description of the `machine`, each run as
/// `write_run` writes it, and their costs on the host.
[[nodiscard]] std::string result_text(const result_context& context, result_node machine, result_node runs,
                                      result_node costs, run_status status);
template <class Outcome, class WriteRun>
[[nodiscard]] std::string result_text(const result_context& context, result_node machine,
                                      const std::vector<Outcome>& runs, WriteRun write_run,
                                      result_node costs) {
  result_node list = result_node::array();
  for (const Outcome& o : runs) list.push_back(write_run(o));
  run_status status = worst(runs);
  const bool lost = std::ranges::any_of(runs, [](const Outcome& o) { return o.output_lost; });
  if (status == run_status::ok && lost) status = run_status::error;  // an output is missing
  return result_text(context, std::move(machine), std::move(list), std::move(costs), status);
}

/// Names or values of a row's fields, a comma after each.
template <row_type Row>
[[nodiscard]] std::string csv_names() {
  std::string text;
  const Row none{};
  each_field(none, [&text](const std::string& name, const auto&) { text += name + ","; });
  return text;
}
template <row_type Row>
[[nodiscard]] std::string csv_values(const Row& r) {
  std::string text;
  each_field(r, [&text](const std::string&, const auto& v) { text += csv_text(node_of(v)) + ","; });
  return text;
}

}  // namespace diecast::platforms
