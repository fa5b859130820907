// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tuple>

#include "platforms/result/result_envelope.hpp"
#include "platforms/result/result_json.hpp"
#include "platforms/result/result_table.hpp"
#include "platforms/run/bound.hpp"

namespace diecast::platforms {

namespace {

std::vector<const run_estimate*> by_size_and_time(const std::vector<run_estimate>& rows) {
  std::vector<const run_estimate*> sorted;
  for (const run_estimate& e : rows) sorted.push_back(&e);
  const auto key = [](const run_estimate* e) {
    return std::tuple(e->bytes, e->ranks, !e->expected_ns, e->expected_ns.value_or(0));
  };
  std::ranges::stable_sort(sorted, {}, key);
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
          e.bound_ns > 0 && expected > 0 ? fmt::format("{:.1f}%", 100 * e.bound_ns / expected) : "-",
          std::to_string(e.messages),
          std::to_string(e.packet_hops),
          number_text(e.wall_s, 1)};
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
  for (const run_estimate& e : rows) list.push_back(object_of(e));
  const result_node j{{"schema", "diecast.estimate/1"}, {"version", context.version},
                      {"platform", context.platform},   {"config_sha256", context.config_sha256},
                      {"argv", context.argv},           {"estimates", std::move(list)}};
  return j.dump(2, ' ', false, result_node::error_handler_t::replace) + "\n";
}

std::string estimate_csv(const std::vector<run_estimate>& rows) {
  const auto line = [](std::string cells) {
    cells.back() = '\n';  // replaces the last comma
    return cells;
  };
  std::string text = rows.empty() ? "" : line(csv_names<run_estimate>());
  for (const run_estimate& e : rows) text += line(csv_values(e));
  return text;
}

namespace {

double percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

std::string line(double ns, double whole, const std::string& what) {
  const std::string figures = fmt::format("    {:6.1f}%  {:>11.1f} ns ", percent(ns, whole), ns);
  std::string text = wrapped(std::string(figures.size(), '#') + " " + what, figures.size() + 1);
  return text.replace(0, figures.size(), figures);
}

std::string words_of(const time_part& p) {
  std::string text = p.cause;
  if (!p.detail.empty()) text += ": " + p.detail;
  return p.keys.empty() ? text + "; no key of this machine makes it less"
                        : fmt::format("{}; less by {}", text, fmt::join(p.keys, ", "));
}

std::string bound_words(const run_outcome& o) {
  if (o.why->bound_ns <= 0) return "bound: none is known of this job";
  std::string text = fmt::format("bound, {}: {}", o.bound_kind, o.bound_detail);
  if (o.rank_set == "cube" || o.rank_set == "sip")
    text += fmt::format("; of each {0} one PE alone takes part (--ranks {0})", o.rank_set);
  return text;
}

}  // namespace

std::string explanation_text(const run_outcome& o) {
  const explanation& e = *o.why;
  std::vector<const time_part*> parts;
  for (const time_part& p : e.parts) parts.push_back(&p);
  std::ranges::stable_sort(parts, std::greater{}, &time_part::time_ns);
  std::string text = fmt::format("    where {:.1f} ns went:\n", e.time_ns);
  text += line(e.bound_ns, e.time_ns, bound_words(o));
  constexpr double shown_percent = 0.05;
  for (const time_part* p : parts)
    if (percent(p->time_ns, e.time_ns) >= shown_percent) text += line(p->time_ns, e.time_ns, words_of(*p));
  for (const time_part* p : parts)
    if (!p->measured)
      text += wrapped(fmt::format("    not measured, its removal is refused: {}", p->cause), 6);
  return text + line(e.rest_ns, e.time_ns,
                     "rest: rounds and bytes of the algorithm beyond the bound, waits of PEs for each other");
}

result_node explanation_json(const explanation& e) {
  result_node parts = result_node::array();
  for (const time_part& p : e.parts)
    parts.push_back({{"cause", p.cause},
                     {"time_ns", p.time_ns},
                     {"share", e.time_ns > 0 ? p.time_ns / e.time_ns : 0.0},
                     {"keys", p.keys},
                     {"measured", p.measured},
                     {"detail", p.detail}});
  return {
      {"time_ns", e.time_ns}, {"bound_ns", e.bound_ns}, {"parts", std::move(parts)}, {"rest_ns", e.rest_ns}};
}

}  // namespace diecast::platforms
