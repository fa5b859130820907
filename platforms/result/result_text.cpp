// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <functional>

#include "models/config/text.hpp"
#include "models/numeric/types.hpp"
#include "platforms/result/result_envelope.hpp"
#include "platforms/result/result_json.hpp"
#include "platforms/result/result_table.hpp"

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

std::string health_csv(const std::vector<run_outcome>& runs) {
  return rows_csv(runs, &run_outcome::health, health_columns);
}

std::string ipcq_csv(const std::vector<run_outcome>& runs) {
  return rows_csv(runs, &run_outcome::queue_pairs);
}

namespace {

/// Names a column of each cause where a row has an array of them.
std::string name_causes(std::string csv, std::string_view array, const char* form, std::size_t causes,
                        const std::function<std::string_view(std::size_t)>& name) {
  std::string columns;
  for (std::size_t c = 0; c < causes; ++c) columns += fmt::format(fmt::runtime(form), name(c));
  return csv.replace(csv.find(array), array.size(), columns);
}

}  // namespace

std::string waits_csv(const std::vector<run_outcome>& runs) {
  return name_causes(rows_csv(runs, &run_outcome::waits, wait_columns), ",cause_ns", ",{}_ns",
                     analysis::wait_causes,
                     [](std::size_t c) { return events::to_string(static_cast<events::wait_cause>(c)); });
}

std::string hbm_csv(const std::vector<run_outcome>& runs) {
  return name_causes(rows_csv(runs, &run_outcome::hbm), ",lost_share", ",lost_{}_share", timing::lost_causes,
                     [](std::size_t c) { return timing::to_string(static_cast<timing::lost_cause>(c)); });
}

namespace {

using json = result_node;

constexpr std::size_t most_ops = 40;  ///< rows of the table; result.json has all ops

const char* verdict(bool finished, const std::optional<bool>& verified) {
  if (!finished) return "unfinished";
  if (!verified) return "-";
  return *verified ? "yes" : "NO";
}

std::string table_text(std::vector<text_column> columns, const std::vector<std::vector<std::string>>& rows) {
  text_table table(std::move(columns), 2);
  for (const auto& cells : rows) table.fit(cells);
  std::string text = table.header();
  for (const auto& cells : rows) text += table.row(cells);
  return text;
}

}  // namespace

void write_workload(const run_outcome& o, json& run) {
  if (o.streams.empty()) return;
  run["streams"] = json::array();
  for (const stream_row& r : o.streams) run["streams"].push_back(object_of(r));
  run["ops"] = json::array();
  for (const op_row& r : o.ops) run["ops"].push_back(object_of(r));
}

std::string workload_table(const run_outcome& o) {
  if (o.streams.empty()) return {};
  std::vector<std::vector<std::string>> rows;
  for (const stream_row& r : o.streams)
    rows.push_back({r.name, std::to_string(r.ranks), std::to_string(r.ops * r.repeat),
                    number_text(r.start_ns, 1), number_text(r.end_ns, 1), number_text(r.time_ns, 1),
                    number_text(r.isolated_ns, 1), number_text(r.slowdown, 2),
                    verdict(r.finished, r.verified)});
  std::string text = "\n" + table_text({{"stream", true},
                                        {"ranks"},
                                        {"ops"},
                                        {"start_ns"},
                                        {"end_ns"},
                                        {"time_ns"},
                                        {"alone_ns"},
                                        {"slowdown"},
                                        {"verified", true}},
                                       rows);
  for (const stream_row& r : o.streams)
    if (!r.not_isolated.empty())
      text += "\n" + wrapped(fmt::format("  {} not run alone: {}", r.name, r.not_isolated), 4);
  rows.clear();
  for (std::size_t i = 0; i < std::min(o.ops.size(), most_ops); ++i) {
    const op_row& r = o.ops[i];
    const auto time = r.end_ns ? std::optional(*r.end_ns - r.start_ns) : std::nullopt;
    rows.push_back({r.id, std::to_string(r.iteration), r.op, r.algorithm, std::to_string(r.bytes),
                    number_text(r.start_ns, 1), number_text(r.end_ns, 1), number_text(time, 1),
                    verdict(r.finished, r.verified)});
  }
  text += "\n" + table_text({{"op", true},
                             {"iter"},
                             {"kind", true},
                             {"algorithm", true},
                             {"bytes"},
                             {"start_ns"},
                             {"end_ns"},
                             {"time_ns"},
                             {"verified", true}},
                            rows);
  if (o.ops.size() > most_ops)
    text += fmt::format("  ... and {} more in result.json (--out, --format json)\n", o.ops.size() - most_ops);
  return text + "\n";
}

}  // namespace diecast::platforms
