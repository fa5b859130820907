// SPDX-License-Identifier: Apache-2.0
#include "platforms/diagnose/trials.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace diecast::diagnose {

using nlohmann::json;

namespace {

/// A way to make a run smaller.
struct reduction {
  std::string name;
  changes flags;
  std::uint64_t bytes;
};

std::vector<reduction> reductions(std::uint64_t bytes) {
  constexpr std::uint64_t step = 16, least = 1024;
  std::vector<reduction> all;
  if (const std::uint64_t fewer = bytes / step; fewer >= least) {
    all.push_back({fmt::format("{} bytes", fewer), {"--bytes", std::to_string(fewer)}, fewer});
  }
  all.push_back({fmt::format("{} bytes, a rank per SIP", least),
                 {"--bytes", std::to_string(least), "--ranks", "sip"},
                 least});
  return all;
}

}  // namespace

/// Runs with `more` beside what stands, keeps what it showed and collects the signs.
const observation& trials::look(const std::string& name, const changes& more, double limit_s) {
  const observation& o = keep(lab_.run(name, joined(more), limit_s));
  // What another machine would refuse says nothing about this one.
  if (o.exit_code != 2 || file_.observations.size() == 1) merge(file_.findings, signs_of(o));
  return o;
}

const observation& trials::keep(observation o) {
  slowest_s_ = std::max(slowest_s_, o.wall_s);
  file_.observations.push_back(std::move(o));
  return file_.observations.back();
}

const observation* trials::attempt(const std::string& name, const changes& more, signs what,
                                   double at_most_s) {
  if (!time_for(std::min(slowest_s_, at_most_s))) return skip(name), nullptr;
  const observation& o = what == signs::count ? look(name, more) : keep(lab_.run(name, joined(more)));
  if (o.timed_out) return skip(name), nullptr;
  if (o.exit_code != 2) return &o;
  answer(name, "is refused: " + o.complaint());
  return nullptr;
}

bool trials::time_for(double seconds) const {
  constexpr double spare_s = 2.0;
  return lab_.seconds_left() > seconds + spare_s;
}

changes trials::joined(const changes& more) const {
  changes replaced;
  for (const std::string& word : more) {
    if (word.starts_with("--") && word != "--set") replaced.push_back(word);
  }
  const bool other_job = std::find(replaced.begin(), replaced.end(), "--workload") != replaced.end();
  changes all = other_job ? changes{} : without(smaller_, replaced, {});
  all.insert(all.end(), standing_.begin(), standing_.end());
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

const observation& trials::first_look() {
  constexpr double few = 5;  // experiments: with so few there is little to say
  const observation& given = look("as given", {}, lab_.budget() / 2);
  if (!given.timed_out) return given.wall_s * few <= lab_.budget() ? given : smaller(given);
  finding f;
  f.kind = "timed_out";
  f.workaround = "fewer --bytes, --iters or ranks: then there is time to look into it";
  f.evidence.push_back(
      fmt::format("stopped after {:.0f} s of {:.0f}: {}", given.wall_s, lab_.budget(), given.complaint()));
  slowest_s_ = 0;
  const observation& looked_into = smaller(given);
  if (!looked_into.timed_out) {
    f.evidence.push_back(fmt::format("what else is said is of a smaller run: {}", looked_into.name));
  }
  too_slow_ = std::move(f);
  return looked_into;
}

const observation& trials::smaller(const observation& given) {
  if (!sized()) return given;
  for (const auto& [name, flags, bytes] : reductions(bytes_)) {
    constexpr double least_s = 2.0;
    if (lab_.seconds_left() < least_s) break;
    constexpr double share = 0.25;  // of the time that is left: most of it is for the experiments
    const observation& o = look("smaller: " + name, flags, lab_.seconds_left() * share);
    slowest_s_ = o.timed_out ? 0 : o.wall_s;
    if (o.timed_out || o.exit_code == 2) continue;
    if (!given.timed_out && o.exit_code != given.exit_code) continue;  // it does not show it
    answer("looked into instead, for want of time", name);
    smaller_ = flags;
    bytes_ = bytes;
    base_ = file_.observations.size() - 1;
    return o;
  }
  slowest_s_ = given.timed_out ? 0 : given.wall_s;
  return given;
}

std::string trials::outcome(const observation& o) const {
  if (shows(o)) return "the same";
  return right(o) ? "right" : fmt::format("another way: exit code {}", o.exit_code);
}

std::vector<finding> trials::findings() const {
  std::vector<finding> found = file_.findings;
  settle(found);
  return found;
}

bool trials::all_hidden() const {
  return std::all_of(file_.findings.begin(), file_.findings.end(), [](const finding& f) { return f.hidden; });
}

void trials::answer(const std::string& question, const std::string& text) {
  file_.answers.emplace_back(question, text);
}

void trials::let_stand(const changes& workaround, bool cures) {
  standing_.insert(standing_.end(), workaround.begin(), workaround.end());
  cured_ = cures;
}

void trials::name_the_root() {
  const observation& o = base();
  if (o.exit_code != 3 || !o.deadlock.is_object()) return;
  const json roots = o.deadlock.value("roots", json::array());
  if (roots.empty()) return;
  const json& root = roots.front();
  std::string at;
  for (const json& m : root.value("members", json::array())) at += " " + m.get<std::string>();
  for (const json& w : root.value("waits", json::array())) at += " " + w.value("waiter", std::string{});
  answer("root of the wait-for graph", root.value("kind", std::string{}) + at);
}

case_file trials::close() {
  if (too_slow_) add(*too_slow_);
  settle(file_.findings);
  name_the_root();
  constexpr int stopped = 143, failed = 70;
  const observation& first = file_.observations.front();
  file_.exit_code = first.timed_out ? stopped : first.exit_code < 0 ? failed : first.exit_code;
  return std::move(file_);
}

}  // namespace diecast::diagnose
