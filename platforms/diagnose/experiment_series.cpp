// SPDX-License-Identifier: Apache-2.0
#include "platforms/diagnose/experiment_series.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <initializer_list>
#include <iterator>
#include <set>
#include <sstream>
#include <string_view>

namespace diecast::diagnose {

using nlohmann::json;

namespace {

/// Flags that make a run smaller.
struct reduction {
  std::string name;
  changes flags;
  std::uint64_t bytes;
};

/// `sized`: --bytes has a meaning.
std::vector<reduction> reductions(std::uint64_t bytes, bool sized) {
  constexpr std::uint64_t least = 1024;
  std::vector<reduction> all;
  for (const std::uint64_t step : {16U, 256U}) {
    const std::uint64_t fewer = bytes / step;
    if (!sized || fewer < least / 4) continue;
    all.push_back({fmt::format("{} bytes", fewer), {"--bytes", std::to_string(fewer)}, fewer});
  }
  for (const char* unit : {"cube", "sip"}) {
    reduction r{fmt::format("a rank per {}", unit), {"--ranks", unit}, bytes};
    if (sized) {
      const std::uint64_t few = std::min(bytes, least);
      r = {fmt::format("{} bytes, a rank per {}", few, unit),
           {"--bytes", std::to_string(few), "--ranks", unit},
           few};
    }
    all.push_back(std::move(r));
  }
  return all;
}

bool has(const changes& more, std::initializer_list<const char*> flags) {
  return std::ranges::any_of(flags,
                             [&more](const char* f) { return std::ranges::find(more, f) != more.end(); });
}

/// Classes that are a consequence of any fault: in later subjects they are no new finding.
bool is_effect(const std::string& kind) {
  constexpr std::array<std::string_view, 6> effects{"deadlock_cycle",  "half_message", "stuck_packets",
                                                    "missing_packets", "hang",         "unexplained_fault"};
  return std::ranges::find(effects, kind) != effects.end();
}

/// Whether the list that begins here, as in "pe, cube, sip", has these ranks. `ranks` is empty for a run
/// without a result: an algorithm that cannot have them is refused later.
bool lists_ranks(std::istringstream& words, const std::string& ranks) {
  if (ranks.empty()) return true;
  for (std::string word; words >> word;) {
    const bool last = word.back() != ',';
    if (!last) word.pop_back();
    if (word == ranks) return true;
    if (last) return false;
  }
  return false;
}

}  // namespace

const observation& experiment_series::keep(observation o) {
  file_.observations.push_back(std::move(o));
  return file_.observations.back();
}

/// The expected time follows from the run of the subject, not from longer experiments before. An experiment
/// that takes much longer is stopped, so that there is time for the others.
const observation* experiment_series::attempt(const std::string& name, const changes& more, signs what,
                                              const cost& c) {
  constexpr double spare_s = 2.0, least_s = 10.0;
  const double expected = expected_s(more, c);
  if (runner_.seconds_left() < expected + spare_s) return skip(name), nullptr;
  const observation& o =
      keep(runner_.run(prefix_ + name, joined(more), std::max(c.patience * expected, least_s)));
  // A refused run shows nothing about the machine.
  if (what == signs::count && o.exit_code != 2) merge(open_, signs_of(o));
  if (o.timed_out) return skip(name), nullptr;
  if (o.exit_code == 2) return answer(name, "is refused: " + o.complaint()), nullptr;
  last_ = {more, {}, 0, o.wall_s};
  last_.after.add(fails(o));
  const observation* const distinct = until_distinct(&o, name, std::max(c.patience * expected, least_s));
  if (distinct != &o && what == signs::count) merge(open_, signs_of(*distinct));
  return distinct;
}

/// Changes of the job itself are made to the whole run, others to the present subject (with --workload only
/// its time is used).
const experiment_series::subject& experiment_series::subject_of(const changes& more) const {
  return has(more, {"--algorithm", "--bytes", "--ranks", "--iters"}) ? whole_ : at_;
}

double experiment_series::expected_s(const changes& more, const cost& c) const {
  return std::min(c.runs * file_.observations.at(subject_of(more).base).wall_s, c.at_most_s);
}

changes experiment_series::joined(const changes& more) const {
  changes replaced;
  for (const std::string& word : more)
    if (word.starts_with("--") && word != "--set") replaced.push_back(word);
  changes all = has(more, {"--workload"}) ? changes{} : without(subject_of(more).flags, replaced, {});
  all.insert(all.end(), workarounds_.begin(), workarounds_.end());
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

const observation& experiment_series::first_run() {
  constexpr double share = 1.0 / 3;  // most of the time that the run as given may use
  constexpr double few = 5;          // repetitions; with time for fewer, a smaller run is used
  const observation& given = keep(runner_.run("as given", {}, runner_.budget() * share));
  merge(open_, signs_of(given));
  unfinished_ = given.timed_out;
  const observation& first =
      given.timed_out || given.wall_s * few > runner_.budget() ? smaller(given) : given;
  // At another size or on other ranks auto might choose another algorithm.
  if (!is_workload() && first.text("algorithm_chosen_by") == "estimate") {
    whole_.flags.insert(whole_.flags.end(), {"--algorithm", first.text("algorithm")});
    at_ = whole_;
  }
  return first;
}

/// Most of the remaining time is for experiments.
const observation& experiment_series::smaller(const observation& given) {
  for (const auto& [name, flags, bytes] : reductions(whole_.bytes, sized())) {
    constexpr double least_s = 2.0, share = 0.25;
    if (is_workload() || runner_.seconds_left() < least_s) break;
    const observation& o = keep(runner_.run("smaller: " + name, flags, runner_.seconds_left() * share));
    if (o.timed_out || o.exit_code == 2) continue;
    if (!given.timed_out && o.exit_code != given.exit_code) continue;  // does not show the fault
    merge(open_, signs_of(o));
    answer("examined instead, for lack of time", name);
    at_ = whole_ = {file_.observations.size() - 1, flags, bytes};
    return o;
  }
  return given;
}

std::optional<collective_job> experiment_series::job() const {
  if (at_.part) return at_.part;
  const json& run = base().run();
  if (is_workload() || !given("--team").empty() || run.empty()) return std::nullopt;
  collective_job job{who_.collective,
                     run.value("algorithm", std::string{}),
                     given("--dtype"),
                     run.value("op", "none") != "none" ? given("--op") : "",
                     run.value("rank_set", std::string{}),
                     first_ranks(run.value("ranks", std::uint32_t{})),
                     sized() ? at_.bytes : 0};
  // A barrier over cubes or SIPs is one of all their PEs, which a group does not have.
  if (job.ranks.size() < 2 || (is_barrier() && job.rank_set != "pe")) return std::nullopt;
  return job;
}

void experiment_series::set_subject(const collective_job& part, const observation& o) {
  const auto file = std::ranges::find(o.changes, "--workload");
  changes flags{file, std::next(file, 2)};
  at_ = {number_of(o), flags, part.bytes, part};
  keep_draw_of(o);
}

void experiment_series::set_subject(own_kind job, const changes& flags, const observation& o) {
  at_ = {number_of(o), flags, 0, {}, job};
  keep_draw_of(o);
}

std::size_t experiment_series::number_of(const observation& o) const {
  const auto at =
      std::ranges::find_if(file_.observations, [&o](const observation& known) { return &known == &o; });
  return static_cast<std::size_t>(std::distance(file_.observations.begin(), at));
}

std::uint32_t experiment_series::count_of_pes() const {
  std::istringstream words(runner_.output_of_run("--print-map"));
  std::set<std::string> pes;
  for (std::string word; words >> word;)
    if (!parts_of_path(word).pe.empty()) pes.insert(pe_or_cube(word));
  return static_cast<std::uint32_t>(pes.size());
}

std::vector<std::string> experiment_series::other_algorithms() const {
  if (is_workload()) return {};
  const std::string rank_set = base().text("rank_set");
  std::vector<std::string> others;
  const std::string own = base().text("algorithm");
  std::istringstream lines(runner_.output_of({"--list", "algorithms"}));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string collective, name;
    words >> collective >> name;
    if (collective != who_.collective) continue;
    if (!lists_ranks(words, rank_set)) continue;
    if (name != own) others.push_back(name);
  }
  return others;
}

std::string experiment_series::outcome(const observation& o) const {
  if (shows(o)) return "the same";
  return right(o) ? "right" : fmt::format("different: exit code {}", o.exit_code);
}

std::vector<finding> experiment_series::new_findings() const {
  std::vector<finding> found = open_;
  resolve(found);
  return found;
}

std::vector<finding> experiment_series::findings() const {
  std::vector<finding> found = new_findings();
  found.insert(found.end(), file_.findings.begin(), file_.findings.end());
  sort_by_gravity(found);
  return found;
}

std::vector<const observation*> experiment_series::subject_runs() const {
  std::vector<const observation*> all;
  for (std::size_t i = at_.base; i < file_.observations.size(); ++i) all.push_back(&file_.observations[i]);
  return all;
}

bool experiment_series::was_tried(const std::string& name) const {
  const auto all = subject_runs();
  return std::ranges::any_of(all, [&](const observation* o) {
    return o->name == prefix_ + name && !o->timed_out && o->exit_code != 2;
  });
}

bool experiment_series::all_hidden() const {
  return std::ranges::all_of(open_, [](const finding& f) { return f.hidden; });
}

/// Findings of firmware, which wrong results show, without a place.
std::vector<const finding*> experiment_series::placeless() const {
  static const std::set<std::string> of_firmware{"sendrecv_alias", "token_before_data", "premature_barrier",
                                                 "wrong_data"};
  std::vector<const finding*> all;
  for (const auto* list : {&open_, &file_.findings})
    for (const finding& f : *list)
      if (f.where.empty() && of_firmware.contains(f.kind)) all.push_back(&f);
  return all;
}

void experiment_series::place(const std::string& where, const std::string& evidence) {
  const finding* const it = placeless().front();
  for (auto* list : {&open_, &file_.findings}) {
    for (finding& f : *list) {
      if (&f != it) continue;
      f.where = where;
      f.evidence.push_back({{}, evidence});
    }
  }
}

bool experiment_series::was_refused(const std::string& name) const {
  const observation& last = file_.observations.back();
  return last.name == prefix_ + name && last.exit_code == 2;
}

void experiment_series::answer(const std::string& question, const std::string& text) {
  file_.answers.emplace_back(prefix_ + question, text);
}

void experiment_series::conclude() {
  resolve(open_);
  const std::vector<finding> before = file_.findings;
  for (finding& f : open_) {
    const bool adds = before.empty() || !(names(before, f.kind) || is_effect(f.kind));
    if (adds) file_.findings.push_back(std::move(f));
  }
  open_.clear();
}

void experiment_series::add_workaround(const changes& workaround, bool cures) {
  workarounds_.insert(workarounds_.end(), workaround.begin(), workaround.end());
  cured_ = cures;
}

void experiment_series::name_the_root() {
  const observation& o = base();
  if (o.exit_code != 3) return;
  const json roots = o.deadlock.value("roots", json::array());
  if (roots.empty()) return;
  const json& root = roots.front();
  std::string at;
  for (const json& m : root.value("members", json::array())) at += " " + m.get<std::string>();
  for (const json& w : root.value("waits", json::array())) at += " " + w.value("waiter", std::string{});
  answer("root of the wait-for graph", root.value("kind", std::string{}) + at);
}

case_file experiment_series::close() {
  constexpr int stopped = 143, failed = 70;
  at_ = whole_;
  file_.failed = whole_.failed;
  file_.stochastic = whole_.varies;
  const observation& first = file_.observations.front();
  conclude();
  if (runner_.was_interrupted()) {
    file_.findings.push_back(
        made("interrupted", "",
             {{}, fmt::format("after {:.1f} s of {:.0f}", runner_.seconds_used(), runner_.budget())}));
  } else if (unfinished_) {
    file_.findings.push_back(
        made(at_.base > 0 && file_.findings.empty() ? "no_fault_in_a_smaller_run" : "timed_out", "",
             {{},
              fmt::format("stopped after {:.0f} s of {:.0f}: {}", first.wall_s, runner_.budget(),
                          first.complaint())},
             "use fewer --bytes, --iters or ranks, so that there is time for experiments"));
  }
  sort_by_gravity(file_.findings);
  name_the_root();
  file_.exit_code = first.timed_out ? stopped : first.exit_code < 0 ? failed : first.exit_code;
  return std::move(file_);
}

}  // namespace diecast::diagnose
