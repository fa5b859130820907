// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <string>
#include <utility>
#include <vector>

#include "platforms/diagnose/experiment_series.hpp"

namespace diecast::diagnose {
namespace {

/// The delay of the mitigations that delay a step: one that is shorter than the defect's own delay has no
/// effect on it.
struct delay {
  const char* name;
  std::uint64_t cycles;  ///< cycles of noc.clock_ghz, as in the settings
};
constexpr std::array delays{delay{"20,000 cycles", 20'000}, delay{"2,000,000 cycles", 2'000'000},
                            delay{"200,000,000 cycles", 200'000'000}};

/// A change that may make results right, and the finding that follows if it does.
struct mitigation {
  const char* name;
  const char* question;
  std::vector<const char*> settings;  ///< keys that share a delay, each getting an equal part
  changes flags;                      ///< other changes
  const char* kind;
  const char* workaround;
  const char* evidence;

  [[nodiscard]] changes at(const delay& d) const;
};

changes mitigation::at(const delay& d) const {
  changes all = flags;
  for (const char* key : settings)
    all.insert(all.end(), {"--set", fmt::format("{}={}", key, d.cycles / settings.size())});
  if (settings.empty()) return all;
  // Nothing moves during the delay; the watchdog must not take it for a hang.
  constexpr std::uint64_t cycles_per_us = 1000, patience = 100;
  all.insert(all.end(),
             {"--set", fmt::format("sim.watchdog_us={}",
                                   patience * std::max(d.cycles, cycles_per_us * 10) / cycles_per_us)});
  return all;
}

using mitigation_set = std::vector<const mitigation*>;

const std::vector<mitigation>& mitigations() {
  static const std::vector<mitigation> all{
      {"send-receive split",
       "splitting send-receive removes it",
       {},
       {"--set", "comm.sendrecv=split"},
       "sendrecv_alias",
       "comm.sendrecv=split",
       "wrong results in one call, right ones as isend, irecv and waitall"},
      {"reading later",
       "waiting between token and data removes it",
       {"ipcq.match_cycles", "pe.interrupt_cycles"},
       {},
       "token_before_data",
       "wait for the data: a later token (ipcq.match_cycles), or a flush before it",
       "wrong results, right ones when receivers read later"},
      {"sending later",
       "waiting between a write and its send removes it",
       {"pe.dma_startup_cycles"},
       {},
       "premature_barrier",
       "flush what the core has written before the send (pe.dma_startup_cycles hides it)",
       "wrong results, right ones when sources are read later: the stale bytes are what is sent"}};
  return all;
}

double wrong_elements(const observation& o) { return o.run().value("wrong_elements", 0.0); }

/// Whether results are right, or less than a hundredth as many are wrong. With other times a single fault
/// hits another packet, which changes the count by less.
bool helps(const observation& o, const observation& before) {
  constexpr double far_fewer = 100;
  return right(o) || (wrong_data(o) && wrong_elements(o) * far_fewer < wrong_elements(before));
}

std::string helped(const observation& o, const observation& before) {
  if (right(o)) return "yes";
  if (!helps(o, before)) return "no";
  return fmt::format("most of it: {:.0f} elements are wrong, {:.0f} were", wrong_elements(o),
                     wrong_elements(before));
}

/// Experiments on one run with wrong results.
class mitigation_search {
 public:
  /// `t` and `bad` must outlive it. `job`: changes that make the run `bad`.
  mitigation_search(experiment_series& t, const observation& bad, changes job)
      : t_(t), bad_(bad), job_(std::move(job)) {}

  /// Finds the mitigations that help and adds their findings; false when none does.
  bool run();
  /// The finding of wrong results when no mitigation helps.
  [[nodiscard]] finding unexplained() const;

 private:
  const observation* give(const mitigation_set& some, const delay& d);
  const observation* all_at_once();
  std::vector<mitigation_set> fewest(const observation& all);
  [[nodiscard]] bool as_well(const observation& o, const observation& all) const;
  const mitigation_set& most_telling(const std::vector<mitigation_set>& enough);
  std::vector<collective_job> other_jobs();
  void blame(const mitigation_set& some, bool cures);
  [[nodiscard]] std::vector<evidence> unseen() const;
  [[nodiscard]] std::string of_run() const;

  experiment_series& t_;
  const observation& bad_;
  changes job_;
  delay delay_{delays.front()};
  bool all_tried_{true};
  const observation* last_{};  ///< result of the last give()
};

const observation* mitigation_search::give(const mitigation_set& some, const delay& d) {
  changes more = job_;
  std::vector<std::string> names;
  bool delays_something = false;
  for (const mitigation* r : some) {
    const changes flags = r->at(d);
    more.insert(more.end(), flags.begin(), flags.end());
    names.emplace_back(r->name);
    delays_something = delays_something || !r->settings.empty();
  }
  const std::string by = delays_something ? fmt::format(" by {}", d.name) : "";
  const observation* o =
      t_.attempt(fmt::format("{}{}", fmt::join(names, ", "), by), more, signs::count, {1, bad_.wall_s});
  all_tried_ = all_tried_ && o != nullptr;
  if (o != nullptr) last_ = o;
  return o;
}

/// Tries all mitigations together with growing delays until results are right; the best run, null if none
/// helps.
const observation* mitigation_search::all_at_once() {
  mitigation_set all;
  for (const mitigation& r : mitigations()) all.push_back(&r);
  const observation* best = nullptr;
  for (const delay& d : delays) {
    const observation* o = give(all, d);
    if (o == nullptr || !helps(*o, best == nullptr ? bad_ : *best)) continue;
    best = o;
    delay_ = d;
    if (right(*o)) break;
  }
  return best;
}

bool mitigation_search::as_well(const observation& o, const observation& all) const {
  return right(all) ? right(o) : helps(o, bad_);
}

/// The smallest sets of mitigations that help as much as all together.
std::vector<mitigation_set> mitigation_search::fewest(const observation& all) {
  std::vector<mitigation_set> enough;
  const mitigation& split = mitigations().front();
  for (const mitigation& r : mitigations()) {
    const observation* o = give({&r}, delay_);
    if (&r == &split) (void)t_.answer_removed("split_sendrecv", o);
    if (o == nullptr) continue;
    t_.answer(r.question, helped(*o, bad_));
    if (as_well(*o, all)) enough.push_back({&r});
  }
  if (!enough.empty()) return enough;
  for (std::size_t i = 0; i < mitigations().size(); ++i) {
    for (std::size_t k = i + 1; k < mitigations().size(); ++k) {
      const mitigation_set both{&mitigations()[i], &mitigations()[k]};
      const observation* o = give(both, delay_);
      if (o == nullptr || !as_well(*o, all)) continue;
      t_.answer(fmt::format("{} and {} together remove it", both[0]->name, both[1]->name), helped(*o, bad_));
      return {both};
    }
  }
  mitigation_set every;
  for (const mitigation& r : mitigations()) every.push_back(&r);
  return {every};
}

/// Other algorithms and sizes, on which the same faults act.
std::vector<collective_job> mitigation_search::other_jobs() {
  constexpr std::size_t most = 4;
  constexpr std::uint64_t step = 16, largest = std::uint64_t{1} << 20;
  std::vector<collective_job> others;
  const std::optional<collective_job> job = t_.job();
  if (!job) return others;
  for (const std::string& name : t_.other_algorithms()) {
    if (others.size() == most) break;
    others.push_back(*job);
    others.back().algorithm = name;
  }
  if (job->bytes > 0 && job->bytes * step <= largest) {
    others.push_back(*job);
    others.back().bytes *= step;
  }
  return others;
}

/// Which of several mitigations that help alone shows the defect. Those with a delay come first: splitting
/// send-receive also delays steps, but a delay does not change which buffer is chosen. Of two with a delay
/// each may by chance hide the other's defect in one job; in another job only the right one does.
const mitigation_set& mitigation_search::most_telling(const std::vector<mitigation_set>& enough) {
  std::vector<const mitigation_set*> delaying;
  for (const mitigation_set& s : enough)
    if (!s.front()->settings.empty()) delaying.push_back(&s);
  if (delaying.empty()) return enough.front();
  if (delaying.size() == 1) return *delaying.front();
  for (const collective_job& job : other_jobs()) {
    const changes flags = t_.flags_of(job);
    const std::string name = fmt::format("{}, {}B", job.algorithm, job.bytes);
    // A barrier has no bytes.
    const bool longer = t_.bytes() > 0 && job.bytes > t_.bytes();
    const cost in_proportion{longer ? static_cast<double>(job.bytes) / static_cast<double>(t_.bytes()) : 1.0};
    const observation* plain = t_.attempt(name, flags, signs::ignored, in_proportion);
    if (plain == nullptr || !wrong_data(*plain)) continue;
    std::vector<const mitigation_set*> cures;
    for (const mitigation_set* s : delaying) {
      changes more = flags;
      const changes settings = s->front()->at(delay_);
      more.insert(more.end(), settings.begin(), settings.end());
      const observation* o =
          t_.attempt(fmt::format("{}: {}", name, s->front()->name), more, signs::ignored, {1, plain->wall_s});
      if (o != nullptr && helps(*o, *plain)) cures.push_back(s);
    }
    if (cures.size() == 1) return *cures.front();
  }
  return *delaying.front();
}

/// Name of the run with wrong results; empty for the run as given.
std::string mitigation_search::of_run() const { return t_.is_the_whole(bad_) ? "" : bad_.name; }

/// Evidence that no checksum sees it, where the run itself was repeated with checksums and none did; none
/// where only an experiment has wrong results.
std::vector<evidence> mitigation_search::unseen() const {
  const bool looked = &bad_ == &t_.base() && t_.was_tried(checksums_experiment);
  return looked && !t_.found("bit_flip") ? std::vector<evidence>{{of_run(), "no checksum sees it"}}
                                         : std::vector<evidence>{};
}

void mitigation_search::blame(const mitigation_set& some, bool cures) {
  for (const mitigation* r : some) {
    const std::string by = r->settings.empty() ? "" : fmt::format(" ({} later)", delay_.name);
    finding f = made(r->kind, "", {of_run(), r->evidence + by}, r->workaround);
    for (evidence& e : unseen()) f.evidence.push_back(std::move(e));
    t_.add(std::move(f));
    t_.add_workaround(r->at(delay_), cures);
  }
}

bool mitigation_search::run() {
  const observation* all = all_at_once();
  // All mitigations at once do not remove the fault, so none alone does.
  if (all == nullptr) return (void)t_.answer_removed("split_sendrecv", last_), false;
  const std::vector<mitigation_set> enough = fewest(*all);
  blame(enough.size() == 1 ? enough.front() : most_telling(enough), right(*all));
  return true;
}

finding mitigation_search::unexplained() const {
  finding f;
  f.kind = "wrong_data";
  f.evidence = unseen();
  f.evidence.push_back(
      {of_run(),
       all_tried_ ? fmt::format("splitting send-receive, reading later and sending later, all at once and by "
                                "up to {}, leave it",
                                delays.back().name)
                  : std::string("not every mitigation was tried: out of time, or rejected by the machine")});
  return f;
}

/// A run with wrong results, the subject's own or an experiment, and the changes that make it of the subject.
std::pair<const observation*, changes> wrong_run(const experiment_series& t) {
  if (wrong_data(t.base())) return {&t.base(), {}};
  for (const observation* o : t.subject_runs())
    if (wrong_data(*o)) return {o, o->changes};
  return {};
}

}  // namespace

void try_mitigations(experiment_series& t) {
  if (t.is_barrier()) return;
  // Changed times alone can keep packets in order, so a mitigation that helps shows nothing.
  for (const char* disorder : {"gap", "reorder", "duplicate", "drop"})
    if (t.found(disorder)) return;
  const auto [bad, job] = wrong_run(t);
  if (bad == nullptr) return;
  mitigation_search search(t, *bad, job);
  if (!search.run() && t.all_hidden()) t.add(search.unexplained());
}

}  // namespace diecast::diagnose
