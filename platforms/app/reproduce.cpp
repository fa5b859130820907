// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fmt/format.h>
#include <stdexcept>
#include <string_view>

#include "models/types/error.hpp"
#include "platforms/app/prepare_all.hpp"
#include "platforms/files/input.hpp"
#include "platforms/files/output_dir.hpp"
#include "platforms/result/result_json.hpp"
#include "platforms/result/step_rows.hpp"

namespace diecast::app {
namespace {

using platforms::run_outcome;
using platforms::run_status;

constexpr std::string_view first_line = platforms::record_head.substr(0, platforms::record_head.size() - 1);

/// The last line of a record, which a record that was cut off or interrupted lacks.
constexpr std::string_view last_line = "end of record";

std::string name_of(const run_outcome& o) {
  return fmt::format("{} {} {} {} {} bytes {} ranks of {}{}", o.collective, o.algorithm, o.dtype, o.op,
                     o.bytes, o.ranks, o.rank_set, o.team.empty() ? "" : " team " + o.team);
}

void complain(run_outcome& o, const std::string& what, run_status how = run_status::not_reproducible) {
  o.message += (o.message.empty() ? "" : "\n") + what;
  o.status = platforms::worst({o.status, how});
}

/// Properties of the job that the steps show: its launches, and whether there was data.
std::string extent_of(const std::vector<platforms::step_row>& rows) {
  std::uint32_t launches = 0;
  bool data = false;
  for (const platforms::step_row& r : rows) {
    launches = std::max(launches, r.launch + 1);
    data = data || r.result != 0;
  }
  return fmt::format("launches: {}, {} data", launches, data ? "with" : "without");
}

/// The fields that must be equal: all but the cost on the host.
run_outcome without_costs(run_outcome o) {
  o.wall_s = o.elaborate_s = o.peak_rss_mib = 0;
  for (auto& [name, value] : o.stats)
    if (name == "elaborate_s") value = 0;
  return o;
}

std::string differing_number(const run_outcome& a, const run_outcome& b) {
  if (a.fingerprint != b.fingerprint)
    return fmt::format("fingerprint is {}, was {}", b.fingerprint, a.fingerprint);
  for (std::size_t i = 0; i < std::min(a.stats.size(), b.stats.size()); ++i) {
    if (a.stats[i] == b.stats[i]) continue;
    return fmt::format("{} is {}, was {}", a.stats[i].first, b.stats[i].second, a.stats[i].second);
  }
  return "link or queue-pair counters differ";
}

/// Compares a run with a second one of itself: everything but the time it took the host. Says what differs
/// in the outcome, whose status becomes not_reproducible unless it is worse already.
void compare_runs(run_outcome& first, const run_outcome& second) {
  const run_outcome a = without_costs(first);
  const run_outcome b = without_costs(second);
  const auto steps = platforms::rows_from(a.steps);
  if (archived(a) != archived(b)) {
    const auto d = platforms::first_difference(steps, platforms::rows_from(b.steps));
    complain(first, "not reproducible: a second run differs first at " +
                        (d ? platforms::to_text(*d) : differing_number(a, b)));
  }
  if (const auto d = platforms::launch_difference(steps))
    complain(first,
             fmt::format("not reproducible: launch {} differs from the first at rank {}: {} is {}, was {}",
                         d->at.launch, d->at.rank, d->field, d->found, d->expected));
}

}  // namespace

run_record::run_record(const std::string& file) : file_(file) {
  const platforms::input_file& input = platforms::read_input("--verify", file);
  if (!input.failure.empty())
    throw user_error(
        platforms::cannot_be_read("--verify", file, input.failure, "a file that --record wrote"));
  std::string_view rest = input.text;
  const auto refuse = [&](const std::string& what) {
    throw user_error(problem{"--verify", "is no record: " + what, file, "a file that --record wrote"});
  };
  if (platforms::take_line(rest) != first_line) refuse(fmt::format("its first line is not {}", first_line));
  bool ended = false;
  while (!ended && !rest.empty()) {
    const bool cut_off = rest.find('\n') == std::string_view::npos;
    const std::string line(platforms::take_line(rest));
    if (cut_off) refuse("its last line is cut off");
    if (line == last_line) {
      ended = true;
    } else if (line.starts_with("run ")) {
      entries_.push_back({line.substr(4), {}});
    } else if (entries_.empty()) {
      refuse("rows before the first run");
    } else {
      entries_.back().steps += line + '\n';
    }
  }
  if (!ended) refuse(fmt::format("it is truncated: no line is {}", last_line));
  if (!rest.empty()) refuse(fmt::format("more follows its {}", last_line));
  for (const entry& e : entries_) {
    try {
      (void)platforms::rows_from(e.steps);
    } catch (const std::runtime_error& error) {
      refuse(error.what());
    }
  }
}

void run_record::add(const run_outcome& o) { entries_.push_back({name_of(o), o.steps}); }

std::string run_record::text(std::size_t runs) const {
  std::string all{platforms::record_head};
  for (const entry& e : entries_) all += fmt::format("run {}\n{}", e.name, e.steps);
  if (entries_.size() == runs) all += fmt::format("{}\n", last_line);
  return all;
}

void run_record::verify(std::size_t index, run_outcome& o) const {
  if (index >= entries_.size() || entries_[index].name != name_of(o))
    return complain(o,
                    fmt::format("{}: run {} is {}, recorded is {}", file_, index, name_of(o),
                                index < entries_.size() ? entries_[index].name : "none"),
                    run_status::error);
  const auto recorded = platforms::rows_from(entries_[index].steps), now = platforms::rows_from(o.steps);
  if (o.status == run_status::ok && extent_of(recorded) != extent_of(now))
    return complain(o,
                    fmt::format("{}: run {} is another job: {}, recorded is {}", file_, index, extent_of(now),
                                extent_of(recorded)),
                    run_status::error);
  const auto d = platforms::first_difference(recorded, now);
  if (d) complain(o, fmt::format("differs from {} first at {}", file_, platforms::to_text(*d)));
}

void run_record::expect(std::size_t runs, run_outcome& last) const {
  if (entries_.size() <= runs) return;
  complain(last,
           fmt::format("{}: holds {} runs, of which these are {}; the next is {}", file_, entries_.size(),
                       runs, entries_[runs].name),
           run_status::error);
}

reproducer::reproducer(const options& o, std::size_t runs) : options_(o), runs_(runs) {
  if (!o.verify.empty()) reference_ = run_record(o.verify);
}

namespace {

/// Whether a run was ended from outside, so that its steps cannot be compared.
bool is_cut_short(run_status s) {
  return s == run_status::interrupted || s == run_status::internal || s == run_status::system;
}

}  // namespace

void reproducer::look_at(std::size_t index, run_outcome& outcome, const std::function<run_outcome()>& again) {
  if (is_cut_short(outcome.status)) return;
  if (options_.double_run) {
    const run_outcome second = again();
    if (is_cut_short(second.status)) {
      outcome.status = second.status;
      outcome.message = "the second run: " + second.message;
      return;
    }
    compare_runs(outcome, second);
  }
  if (!options_.verify.empty()) reference_.verify(index, outcome);
  if (index + 1 == runs_) reference_.expect(runs_, outcome);
  if (!options_.record.empty()) recorded_.add(outcome);
}

void reproducer::finish() const {
  if (options_.record.empty()) return;
  platforms::write_whole_file(options_.record, recorded_.text(runs_), "--record " + options_.record);
}

}  // namespace diecast::app
