// SPDX-License-Identifier: Apache-2.0
#include "platforms/result/result_table.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <sstream>
#include <utility>

#include "platforms/result/result_json.hpp"

namespace diecast::platforms {

text_table::text_table(std::vector<text_column> columns, std::size_t indent)
    : columns_(std::move(columns)), indent_(indent) {
  for (text_column& c : columns_) c.width = std::max(c.width, c.name.size());
}

void text_table::fit(const std::vector<std::string>& cells) {
  for (std::size_t i = 0; i < columns_.size(); ++i)
    columns_[i].width = std::max(columns_[i].width, cells[i].size());
}

std::string text_table::header() const {
  std::vector<std::string> names;
  for (const text_column& c : columns_) names.push_back(c.name);
  return row(names);
}

std::string text_table::row(const std::vector<std::string>& cells) const {
  std::size_t width = indent_ + 2 * (columns_.size() - 1);
  for (const text_column& c : columns_) width += c.width;
  const std::string space(width > line_width ? 1 : 2, ' ');
  std::string text(indent_, ' ');
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const text_column& c = columns_[i];
    if (i > 0) text += space;
    text += c.left ? fmt::format("{:<{}}", cells[i], c.width) : fmt::format("{:>{}}", cells[i], c.width);
  }
  return text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
}

std::string wrapped(const std::string& text, std::size_t indent) {
  std::string lines, line;
  std::istringstream words(text);
  line.append(text, 0, std::min(text.find_first_not_of(' '), text.size()));
  const std::string begin(indent, ' ');
  bool empty = true;
  for (std::string word; words >> word; empty = false) {
    if (!empty && line.size() + 1 + word.size() > line_width) {
      lines += line + "\n";
      line = begin;
      empty = true;
    }
    line += (empty ? "" : " ") + word;
  }
  return lines + line + "\n";
}

std::string size_text(std::uint64_t bytes) {
  std::size_t unit = 0;
  for (; unit < 3 && bytes >= 1024 && bytes % 1024 == 0; ++unit) bytes /= 1024;
  constexpr std::array units{"B", "KiB", "MiB", "GiB"};
  return fmt::format("{} {}", bytes, units[unit]);
}

std::string number_text(const std::optional<double>& value, int decimals) {
  return value ? fmt::format("{:.{}f}", *value, decimals) : "-";
}

namespace {

/// Nothing for 0, which a run has without an end, data or other ranks.
template <double run_outcome::*Bandwidth>
std::string bandwidth_text(const run_outcome& o) {
  return o.*Bandwidth > 0 ? number_text(o.*Bandwidth, 3) : "-";
}

std::string verified_text(const run_outcome& o) {
  if (o.status != run_status::ok && o.status != run_status::wrong) return to_string(o.status);
  if (!o.verified) return "not checked";
  return *o.verified ? "yes" : "NO";
}

std::string efficiency_text(const run_outcome& o) {
  return o.efficiency ? fmt::format("{:.1f}%", 100 * *o.efficiency) : "-";
}

std::string ranks_text(const run_outcome& o) { return fmt::format("{} ranks ({})", o.ranks, o.rank_set); }

/// A figure of --jitter.
template <double jitter_times::*Figure, bool Percent = false>
std::string jitter_text(const run_outcome& o) {
  return o.jitter ? fmt::format("{:.1f}{}", *o.jitter.*Figure, Percent ? "%" : "") : "-";
}

}  // namespace

struct result_table::column {
  text_column shape;
  std::string (*text)(const run_outcome&);
  bool planned{};       ///< known before the run
  bool of_data{};       ///< barriers have none
  bool of_algorithm{};  ///< a workload of streams has none
  bool of_jitter{};     ///< shown with --jitter only
};

// The names of nccl-tests, and the bound.
const std::vector<result_table::column>& result_table::all_columns() {
  static const std::vector<column> columns{
      {{"size"}, [](const run_outcome& o) { return size_text(o.bytes); }, true, true},
      {{"algorithm", true}, [](const run_outcome& o) { return o.algorithm; }, true},
      {{"team", true}, [](const run_outcome& o) { return o.team; }, true},
      {{"time_ns", false, 9}, [](const run_outcome& o) { return number_text(o.timed(o.time_ns), 1); }},
      {.shape = {"median_ns", false, 9}, .text = jitter_text<&jitter_times::median_ns>, .of_jitter = true},
      {.shape = {"min_ns", false, 9}, .text = jitter_text<&jitter_times::min_ns>, .of_jitter = true},
      {.shape = {"max_ns", false, 9}, .text = jitter_text<&jitter_times::max_ns>, .of_jitter = true},
      {.shape = {"spread", false, 6},
       .text = jitter_text<&jitter_times::spread_percent, true>,
       .of_jitter = true},
      {.shape = {"less_delay", false, 10},
       .text = jitter_text<&jitter_times::spread_without_delay_percent, true>,
       .of_jitter = true},
      {{"algbw", false, 7}, bandwidth_text<&run_outcome::algbw_gbytes_s>, false, true, true},
      {{"busbw", false, 7}, bandwidth_text<&run_outcome::busbw_gbytes_s>, false, true, true},
      {{"bound_ns"},
       [](const run_outcome& o) { return fmt::format("{:.1f}", o.bound_ns); },
       true,
       false,
       true},
      {{"bound", true}, [](const run_outcome& o) { return o.bound_kind; }, true, false, true},
      {{"eff", false, 5}, efficiency_text, false, false, true},
      {{"#wrong"},
       [](const run_outcome& o) { return o.wrong_elements ? std::to_string(*o.wrong_elements) : "-"; }},
      {{"verified", true}, verified_text}};
  return columns;
}

result_table::result_table(const std::vector<run_outcome>& planned, bool data, bool jitter)
    : table_({}), data_(data) {
  const auto differs = [&planned](const auto& text) {
    return std::ranges::any_of(planned,
                               [&](const run_outcome& o) { return text(o) != text(planned.front()); });
  };
  one_algorithm_ = !differs([](const run_outcome& o) { return o.algorithm; });
  std::vector<text_column> shapes;
  for (const column& c : all_columns()) {
    const std::string& name = c.shape.name;
    const job_form& form = planned.front().form;
    if ((c.of_data && !form.moves_data) || (c.of_algorithm && !form.one_algorithm)) continue;
    if ((name == "algorithm" || name == "team") && !differs(c.text)) continue;
    if (name == "#wrong" && !data) continue;
    if (c.of_jitter && !jitter) continue;
    columns_.push_back(&c);
    shapes.push_back(c.shape);
    if (!c.planned) continue;
    for (const run_outcome& o : planned)
      shapes.back().width = std::max(shapes.back().width, c.text(o).size());
  }
  table_ = text_table(std::move(shapes));
  first_ = caption(planned.front()) + table_.header();
  ranks_ = ranks_text(planned.front());
}

std::string result_table::caption(const run_outcome& o) const {
  std::string text = o.collective;
  if (one_algorithm_) text += (o.form.one_algorithm ? " by " : " ") + o.algorithm;
  const bool one_type = o.form.moves_data && o.form.one_algorithm;
  if (one_type) text += fmt::format(", {}", o.dtype) + (o.op == "none" ? "" : " " + o.op);
  text += fmt::format(", {}", ranks_text(o));
  const auto is_team = [](const column* c) { return c->shape.name == "team"; };
  if (!o.team.empty() && std::ranges::none_of(columns_, is_team)) text += ", team " + o.team;
  if (one_type) text += "; algbw and busbw in GB/s";
  if (!o.of_packets()) text += "; sim.fidelity=" + o.fidelity;
  if (!data_) text += "; --no-data: not checked";
  return wrapped(text, 2);
}

std::string result_table::row(const run_outcome& o) {
  std::string text;
  if (ranks_text(o) != ranks_) {
    ranks_ = ranks_text(o);
    text += "\n" + caption(o) + table_.header();
  }
  std::vector<std::string> cells;
  for (const column* c : columns_) cells.push_back(c->text(o));
  text += table_.row(cells) + workload_table(o);
  if (o.algorithm_chosen_by != to_string(chooser::user)) text += wrapped("    why: " + o.algorithm_reason, 9);
  if (o.why) text += explanation_text(o);
  for (const auto& note : o.notes)
    if (std::ranges::find(notes_, note) == notes_.end()) text += wrapped("    note: " + note, 10);
  notes_ = o.notes;
  return text;
}

}  // namespace diecast::platforms
