// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sstream>

#include "models/config/text.hpp"
#include "models/numeric/types.hpp"
#include "platforms/io/result_envelope.hpp"
#include "platforms/run/wait_rows.hpp"

namespace diecast::platforms {
namespace {

std::string count_text(const run_outcome& o) {
  const auto type = numeric::parse_dtype(o.dtype);
  return type ? std::to_string(o.bytes / numeric::size_of(*type)) : "";
}

}  // namespace

std::string csv_field(const std::string& s) {
  if (s.find_first_of(",\"\n") == std::string::npos) return s;
  std::string quoted = "\"";
  for (const char c : s) {
    quoted += c;
    if (c == '"') quoted += '"';
  }
  return quoted + "\"";
}

std::string result_csv(const std::vector<run_outcome>& runs) {
  const std::string columns =
      "collective,algorithm,dtype,op,bytes,rank_set,ranks,time_ns,time_min_ns,time_max_ns,launch_ns,"
      "algbw_gbytes_s,busbw_gbytes_s,bound_ns,bound_kind,efficiency,wrong_elements,verified,fingerprint,"
      "status,fidelity,count,algorithm_reason,jitter_median_ns,jitter_min_ns,jitter_max_ns,"
      "jitter_spread_percent,jitter_spread_without_delay_percent";
  std::string text = columns + "\n";
  for (const run_outcome& o : runs) {
    result_node run = run_json(o);
    run["count"] = count_text(o);
    std::vector<std::string> cells;
    for (const std::string& name : config::split(columns, ','))
      cells.push_back(csv_value(run.value(name, result_node())));
    text += fmt::format("{}\n", fmt::join(cells, ","));
  }
  return text;
}

std::string links_csv(const std::vector<run_outcome>& runs) {
  const bool packets = !runs.empty() && runs.front().of_packets();
  return rows_csv(runs, &run_outcome::links, packets ? link_columns : transfer_link_columns);
}

namespace {

/// Rows as the runs gave them, behind the run's number.
std::string numbered(const std::string& columns, const std::vector<run_outcome>& runs,
                     std::string run_outcome::*rows_of) {
  std::string text = "run," + columns + "\n";
  for (std::size_t i = 0; i < runs.size(); ++i) {
    std::istringstream rows(runs[i].*rows_of);
    for (std::string row; std::getline(rows, row);) text += fmt::format("{},{}\n", i, row);
  }
  return text;
}

}  // namespace

std::string health_csv(const std::vector<run_outcome>& runs) {
  return numbered("measure,where,value,expected,unit", runs, &run_outcome::health);
}

std::string waits_csv(const std::vector<run_outcome>& runs) {
  return numbered(wait_columns(), runs, &run_outcome::waits);
}

std::string ipcq_csv(const std::vector<run_outcome>& runs) {
  return rows_csv(runs, &run_outcome::queue_pairs);
}

std::string hbm_csv(const std::vector<run_outcome>& runs) {
  constexpr std::string_view of_all = ",lost_share";
  std::string columns;
  for (std::size_t c = 0; c < timing::lost_causes; ++c)
    columns += fmt::format(",lost_{}_share", timing::to_string(static_cast<timing::lost_cause>(c)));
  std::string text = rows_csv(runs, &run_outcome::hbm);
  return text.replace(text.find(of_all), of_all.size(), columns);
}

}  // namespace diecast::platforms
