// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "platforms/io/result_envelope.hpp"
#include "platforms/io/result_json.hpp"
#include "platforms/io/text_table.hpp"

namespace diecast::platforms {
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
  std::stable_sort(parts.begin(), parts.end(),
                   [](const auto* a, const auto* b) { return a->time_ns > b->time_ns; });
  std::string text = fmt::format("    where {:.1f} ns went:\n", e.time_ns);
  text += line(e.bound_ns, e.time_ns, bound_words(o));
  constexpr double shown_percent = 0.05;
  for (const time_part* p : parts)
    if (percent(p->time_ns, e.time_ns) >= shown_percent) text += line(p->time_ns, e.time_ns, words_of(*p));
  for (const time_part* p : parts) {
    if (!p->measured)
      text += wrapped(fmt::format("    not measured, its removal is refused: {}", p->cause), 6);
  }
  return text + line(e.rest_ns, e.time_ns,
                     "rest: rounds and bytes of the algorithm beyond the bound, waits of PEs for each other");
}

result_node explanation_json(const explanation& e) {
  result_node parts = result_node::array();
  for (const time_part& p : e.parts) {
    parts.push_back({{"cause", p.cause},
                     {"time_ns", p.time_ns},
                     {"share", e.time_ns > 0 ? p.time_ns / e.time_ns : 0.0},
                     {"keys", p.keys},
                     {"measured", p.measured},
                     {"detail", p.detail}});
  }
  return {
      {"time_ns", e.time_ns}, {"bound_ns", e.bound_ns}, {"parts", std::move(parts)}, {"rest_ns", e.rest_ns}};
}

}  // namespace diecast::platforms
