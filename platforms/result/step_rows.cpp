// SPDX-License-Identifier: Apache-2.0
#include "platforms/result/step_rows.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <sstream>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace diecast::platforms {

namespace {

struct number_field {
  const char* name;
  std::uint64_t step_row::*member;
  bool time;
};
/// In the order in which differences are looked for.
constexpr number_field number_fields[]{
    {"sends", &step_row::sends, false},       {"sent_bytes", &step_row::sent_bytes, false},
    {"receives", &step_row::receives, false}, {"received_bytes", &step_row::received_bytes, false},
    {"contents", &step_row::contents, false}, {"result", &step_row::result, false},
    {"barriers", &step_row::barriers, false}, {"start_fs", &step_row::start_fs, true},
    {"last_fs", &step_row::last_fs, true}};

using row_key = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;
row_key key_of(const step_row& r) { return {r.launch, r.rank, r.number}; }

std::string value_text(const number_field& f, std::uint64_t value) {
  const bool digest = f.member == &step_row::contents || f.member == &step_row::result;
  return digest ? fmt::format("{:#018x}", value) : fmt::format("{}", value);
}

std::optional<row_difference> difference(const step_row& a, const step_row& b) {
  if (a.step != b.step) return row_difference{a, "step", a.step, b.step};
  for (const number_field& f : number_fields) {
    if (a.*f.member == b.*f.member) continue;
    return row_difference{a, f.name, value_text(f, a.*f.member), value_text(f, b.*f.member)};
  }
  return std::nullopt;
}

}  // namespace

void sort(std::vector<step_row>& rows) { std::ranges::stable_sort(rows, {}, key_of); }

std::string to_text(const std::vector<step_row>& rows) {
  std::string text;
  for (const step_row& r : rows) {
    text += fmt::format("{}\t{}\t{}\t{}", r.launch, r.rank, r.number, r.step);
    for (const number_field& f : number_fields) text += fmt::format("\t{}", r.*f.member);
    text += '\n';
  }
  return text;
}

std::vector<step_row> rows_from(const std::string& text) {
  std::vector<step_row> rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    step_row r;
    words >> r.launch >> r.rank >> r.number;
    words.ignore(1);
    std::getline(words, r.step, '\t');
    for (const number_field& f : number_fields) words >> r.*f.member;
    if (words.fail()) throw std::runtime_error(fmt::format("no row of steps: '{}'", line));
    rows.push_back(std::move(r));
  }
  return rows;
}

std::optional<row_difference> first_difference(const std::vector<step_row>& reference,
                                               const std::vector<step_row>& other) {
  std::map<row_key, const step_row*> found;
  for (const step_row& r : other) found[key_of(r)] = &r;
  std::optional<row_difference> first;
  const auto offer = [&first](row_difference d) {
    const auto place = [](const step_row& r) { return std::tuple(r.launch, r.start_fs, r.rank, r.number); };
    if (!first || place(d.at) < place(first->at)) first = std::move(d);
  };
  for (const step_row& r : reference) {
    const auto at = found.find(key_of(r));
    if (at == found.end()) {
      offer({r, "step", r.step, "none"});
      continue;
    }
    if (auto d = difference(r, *at->second)) offer(std::move(*d));
    found.erase(at);
  }
  for (const auto& [key, row] : found) offer({*row, "step", "none", row->step});
  return first;
}

std::optional<row_difference> launch_difference(const std::vector<step_row>& rows) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, step_row> sums;  // by launch and rank
  for (const step_row& r : rows) {
    step_row& sum = sums[{r.launch, r.rank}];
    sum.launch = r.launch;
    sum.rank = r.rank;
    for (const number_field& f : number_fields)
      if (!f.time) sum.*f.member += r.*f.member;
  }
  for (const auto& [key, sum] : sums) {
    const auto reference = sums.find({0, sum.rank});
    if (reference == sums.end()) continue;
    if (auto d = difference(reference->second, sum)) {
      d->at = sum;
      return d;
    }
  }
  return std::nullopt;
}

std::string to_text(const row_difference& d) {
  return fmt::format("rank {}, step {} (number {} of launch {}): {} is {}, was {}", d.at.rank,
                     d.at.step.empty() ? "before the first" : d.at.step, d.at.number, d.at.launch, d.field,
                     d.found.empty() ? "nothing" : d.found, d.expected.empty() ? "nothing" : d.expected);
}

std::vector<wait_row> wait_rows(const machine_shape& shape, const std::vector<pe_coord>& members,
                                const analysis::waited_time& waits, sim_time now,
                                const std::function<bool(sip_id)>& here) {
  std::vector<wait_row> rows;
  for (std::size_t rank = 0; rank < members.size(); ++rank) {
    if (!here(members[rank].sip)) continue;
    const analysis::core_waits core = waits.of(members[rank]);
    wait_row& row = rows.emplace_back();
    row.pe = pe_path(shape, members[rank]);
    std::ranges::transform(core.by_cause, row.cause_ns.begin(), [](sim_time t) { return t.ns(); });
    row.poll_ns = core.poll.ns();
    row.never_ended_ns = core.asleep_since ? (now - *core.asleep_since).ns() : 0;
    row.rank = rank;
  }
  return rows;
}

}  // namespace diecast::platforms
