// SPDX-License-Identifier: Apache-2.0
#include "platforms/io/estimate_text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <tuple>

#include "platforms/io/result_envelope.hpp"
#include "platforms/io/text_table.hpp"

namespace diecast::platforms {
namespace {

result_node record_of(const run_estimate& e) {
  return {{"collective", e.collective},
          {"algorithm", e.algorithm},
          {"bytes", e.bytes},
          {"rank_set", e.rank_set},
          {"ranks", e.ranks},
          {"bound_ns", e.bound_ns},
          {"bound_kind", e.bound_kind},
          {"expected_ns", optional_json(e.expected_ns)},
          {"fits", e.fits},
          {"why_not", e.why_not},
          {"messages", e.messages},
          {"packet_hops", e.packet_hops},
          {"wall_s", optional_json(e.wall_s)}};
}

std::vector<const run_estimate*> by_size_and_time(const std::vector<run_estimate>& rows) {
  std::vector<const run_estimate*> sorted;
  for (const run_estimate& e : rows) sorted.push_back(&e);
  const auto key = [](const run_estimate* e) {
    return std::tuple(e->bytes, e->ranks, !e->expected_ns, e->expected_ns.value_or(0));
  };
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](const auto* a, const auto* b) { return key(a) < key(b); });
  return sorted;
}

std::vector<std::string> cells_of(const run_estimate& e) {
  const double expected = *e.expected_ns;
  return {e.algorithm,
          size_text(e.bytes),
          fmt::format("{} {}", e.ranks, e.rank_set),
          fmt::format("{:.1f}", e.bound_ns),
          e.bound_kind,
          fmt::format("{:.0f}", expected),
          fmt::format("{:.1f}%", expected > 0 ? 100 * e.bound_ns / expected : 0),
          std::to_string(e.messages),
          std::to_string(e.packet_hops),
          e.wall_s ? fmt::format("{:.1f}", *e.wall_s) : "-"};
}

}  // namespace

std::string estimate_table(const std::vector<run_estimate>& rows) {
  text_table table({{"algorithm", true},
                    {"size"},
                    {"ranks"},
                    {"bound_ns"},
                    {"bound", true},
                    {"expected_ns"},
                    {"eff"},
                    {"messages"},
                    {"packet_hops"},
                    {"wall_s"}});
  const auto sorted = by_size_and_time(rows);
  for (const run_estimate* e : sorted)
    if (e->expected_ns) table.fit(cells_of(*e));
  std::string text =
      fmt::format("{}, estimated, not simulated; wall_s: of a simulation on this computer, without data\n",
                  rows.empty() ? "" : rows.front().collective);
  text += table.header();
  std::string without;
  for (const run_estimate* e : sorted) {
    if (e->expected_ns) text += table.row(cells_of(*e));
    if (!e->expected_ns)
      without += wrapped(fmt::format("{} of {}: {}", e->algorithm, size_text(e->bytes), e->why_not), 2);
  }
  return text + without;
}

std::string estimate_json(const result_context& context, const std::vector<run_estimate>& rows) {
  result_node list = result_node::array();
  for (const run_estimate& e : rows) list.push_back(record_of(e));
  const result_node j{{"schema", "diecast.estimate/1"}, {"version", context.version},
                      {"platform", context.platform},   {"config_sha256", context.config_sha256},
                      {"argv", context.argv},           {"estimates", std::move(list)}};
  return j.dump(2, ' ', false, result_node::error_handler_t::replace) + "\n";
}

std::string estimate_csv(const std::vector<run_estimate>& rows) {
  std::string text;
  for (const run_estimate& e : rows) {
    const result_node record = record_of(e);
    std::string names, values;
    for (const auto& [name, value] : record.items()) {
      names += (names.empty() ? "" : ",") + name;
      values += (values.empty() ? "" : ",") + csv_text(value);
    }
    text += (text.empty() ? names + "\n" : "") + values + "\n";
  }
  return text;
}

}  // namespace diecast::platforms
