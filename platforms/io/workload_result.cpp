// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fmt/format.h>

#include "platforms/io/result_envelope.hpp"
#include "platforms/io/result_json.hpp"
#include "platforms/io/text_table.hpp"

namespace diecast::platforms {
namespace {

using json = result_node;

constexpr std::size_t most_ops = 40;  ///< in the table; all are in result.json

const char* verdict(bool finished, const std::optional<bool>& verified) {
  if (!finished) return "unfinished";
  if (!verified) return "-";
  return *verified ? "yes" : "NO";
}

std::string number(const std::optional<double>& v, int digits) {
  return v ? fmt::format("{:.{}f}", *v, digits) : std::string("-");
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

void read_workload(const json& run, run_outcome& o) {
  if (!run.contains("streams")) return;
  for (const json& r : run.at("streams")) o.streams.push_back(row_from<stream_row>(r));
  for (const json& r : run.at("ops")) o.ops.push_back(row_from<op_row>(r));
}

std::string workload_table(const run_outcome& o) {
  if (o.streams.empty()) return {};
  std::vector<std::vector<std::string>> rows;
  for (const stream_row& r : o.streams) {
    rows.push_back({r.name, std::to_string(r.ranks), std::to_string(r.ops * r.repeat), number(r.start_ns, 1),
                    number(r.end_ns, 1), number(r.time_ns, 1), number(r.isolated_ns, 1),
                    number(r.slowdown, 2), verdict(r.finished, r.verified)});
  }
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
  for (const stream_row& r : o.streams) {
    if (!r.not_isolated.empty())
      text += "\n" + wrapped(fmt::format("  {} not run alone: {}", r.name, r.not_isolated), 4);
  }
  rows.clear();
  for (std::size_t i = 0; i < std::min(o.ops.size(), most_ops); ++i) {
    const op_row& r = o.ops[i];
    const auto time = r.end_ns ? std::optional(*r.end_ns - r.start_ns) : std::nullopt;
    rows.push_back({r.id, std::to_string(r.iteration), r.op, r.algorithm, std::to_string(r.bytes),
                    number(r.start_ns, 1), number(r.end_ns, 1), number(time, 1),
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
