// SPDX-License-Identifier: Apache-2.0
// The experiments of one examination: the subject that they change, the workarounds that all of them get,
// the result of each, and whether there is time for another one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "platforms/diagnose/examination.hpp"
#include "platforms/diagnose/experiment_runner.hpp"
#include "platforms/diagnose/findings.hpp"
#include "platforms/diagnose/jobs.hpp"
#include "platforms/diagnose/report.hpp"

namespace diecast::diagnose {

/// Prefix of the setting that selects a draw: the random choices of the faults.
inline constexpr const char* draw_key = "sim.fault_draw=";

/// A job that the diagnosis tries in addition to the given one.
enum class own_kind { none, barriers, messages };

/// Whether an experiment's signs of faults are findings, or only its correctness is used.
enum class signs { count, ignored };

/// Expected time of an experiment: that of so many runs of its subject, or so many seconds if that is less.
/// An experiment that takes much longer is stopped.
struct cost {
  double runs{1};
  double at_most_s{std::numeric_limits<double>::infinity()};
  double patience{6};  ///< limit over the expected time
};

class experiment_series {
 public:
  /// The run under examination.
  struct subject {
    std::size_t base{};                    ///< number of the observation that others are compared with
    changes flags;                         ///< flags beside those of the run as given
    std::uint64_t bytes{};                 ///< message size
    std::optional<collective_job> part{};  ///< collective, if it runs on some ranks only
    own_kind own{};  ///< own job of the diagnosis; none: the run as given, a smaller one or a part of it
    rate failed{};   ///< failures among its draws; no draws: not measured
    bool varies{};   ///< the draws of `failed` differ
    std::uint32_t draw{};  ///< the draw of `base`
  };

  /// Both arguments must outlive this object.
  experiment_series(experiment_runner& runner, const target& who)
      : runner_(runner), who_(who), whole_{0, {}, who.bytes} {
    at_ = whole_;
  }

  /// The run as given or, where it takes too long to be repeated, the largest of smaller ones that does not.
  const observation& first_run();
  /// Runs the subject with `more` and the standing workarounds. Null when nothing was learned: no time for
  /// it, or it was stopped, or this machine refuses it; the case file records which.
  const observation* attempt(const std::string& name, const changes& more, signs what = signs::count,
                             const cost& c = {});

  /// Repeats the subject with other draws and no other change, until its rate of failures is known or a share
  /// of the time is used. Where draws differ and the base is right, one that fails replaces it.
  void measure();
  /// Whether a draw counts as a failure, or as seeing the fault; empty: fails().
  using sign = std::function<bool(const observation&)>;
  [[nodiscard]] static bool fails(const observation& o) { return !right(o); }
  /// Answers question `id`, whether the last experiment `o` (null: attempt() gave none) removes the fault of
  /// the subject, by more draws of it. With a failure: "no"; without one, and with rates that differ by
  /// Fisher's test: "yes"; else "not distinguishable". The first answer to an id is kept.
  std::string answer_removed(const char* id, const observation* o, const sign& counts = {});
  /// Answers whether the last experiment sees the fault; `after` is the rate at which it does.
  void answer_seen(const char* id, const observation* o, const sign& seen);
  /// Answers whether the last experiment has another rate of failures.
  void answer_changed(const char* id, const observation* o);
  /// Records the answer `word`, with the last experiment's rates.
  std::string record(const char* id, const char* word, const rate& after);
  [[nodiscard]] bool was_answered(const std::string& id) const;
  /// Failures among the draws of the last experiment, and among those of its subject.
  [[nodiscard]] const rate& last_rate() const { return last_.after; }
  [[nodiscard]] const rate& rate_before() const { return subject_of(last_.more).failed; }

  /// Whether the last experiment has this name and was refused by the machine.
  [[nodiscard]] bool was_refused(const std::string& name) const;

  /// The subject's own run, with which experiments are compared: the run as given, a smaller one or a part.
  [[nodiscard]] const observation& base() const { return file_.observations.at(at_.base); }
  /// Message size of the subject.
  [[nodiscard]] std::uint64_t bytes() const { return at_.bytes; }
  /// The subject's collective with all its ranks; none where no ranks can be left out.
  [[nodiscard]] std::optional<collective_job> job() const;
  /// Whether `o` is the run as given, or the smaller one that takes its place.
  [[nodiscard]] bool is_the_whole(const observation& o) const {
    return &o == &file_.observations.at(whole_.base);
  }
  /// Makes a collective of some of the ranks the subject; `o` of this series is a run of it.
  void set_subject(const collective_job& part, const observation& o);
  /// Makes a job of the diagnosis the subject; `o` of this series is a run of it, with these flags.
  void set_subject(own_kind job, const changes& flags, const observation& o);
  [[nodiscard]] bool in_part() const { return at_.part.has_value(); }
  void restore_subject() { at_ = whole_; }
  /// A few ranks that fail as all do, if a run of all takes long and such ranks were found.
  [[nodiscard]] const std::optional<collective_job>& cheap_part() const { return cheap_.part; }
  /// Wall time of a run of these. Precondition: cheap_part().
  [[nodiscard]] double cheap_part_s() const { return file_.observations.at(cheap_.base).wall_s; }
  void keep_cheap_part() { cheap_ = at_; }
  /// Sets the prefix of the names of experiments and questions; empty for the run as given.
  void call(const std::string& what) { prefix_ = what; }

  /// Whether --bytes has a meaning.
  [[nodiscard]] bool sized() const { return !is_workload() && !is_barrier(); }
  [[nodiscard]] bool is_workload() const { return in_own_job() || !given("--workload").empty(); }
  [[nodiscard]] bool is_barrier() const {
    return in_own_job() ? at_.own == own_kind::barriers : who_.collective == "barrier" && !is_workload();
  }
  [[nodiscard]] bool in_own_job() const { return at_.own != own_kind::none; }
  /// PEs of the machine as its address map names them.
  [[nodiscard]] std::uint32_t count_of_pes() const;
  /// The value given for a flag; empty when it was not.
  [[nodiscard]] std::string given(const std::string& flag) const { return runner_.given(flag); }
  [[nodiscard]] std::string workload() const { return runner_.workload(); }
  [[nodiscard]] const target& who() const { return who_; }

  /// Whether the run of `o` fails like the subject.
  [[nodiscard]] bool shows(const observation& o) const { return o.exit_code == base().exit_code; }
  /// Outcome of a run compared with the subject's: "the same", "right", or "different" with the exit code.
  [[nodiscard]] std::string outcome(const observation& o) const;
  [[nodiscard]] bool healthy_so_far() const { return open_.empty() && file_.findings.empty(); }
  /// Whether the subject's findings have one of this class.
  [[nodiscard]] bool found(const std::string& kind) const { return names(open_, kind); }
  /// All findings, the most certain and severe first.
  [[nodiscard]] std::vector<finding> findings() const;
  /// Findings since conclude().
  [[nodiscard]] std::vector<finding> new_findings() const;
  /// The subject's own run and every experiment since.
  [[nodiscard]] std::vector<const observation*> subject_runs() const;
  /// Whether this experiment on the subject has ended with a result.
  [[nodiscard]] bool was_tried(const std::string& name) const;
  /// Whether all of the subject's findings are hidden (finding::hidden).
  [[nodiscard]] bool all_hidden() const;

  void answer(const std::string& question, const std::string& text);
  /// Adds the findings of an experiment that was made with signs::ignored.
  void take_signs_of(const observation& o) { merge(open_, signs_of(o)); }
  void add(finding f) { merge(open_, {std::move(f)}); }
  /// Completes the subject's findings: later ones are not merged into them. Of later subjects only new
  /// classes count, because one fault shows at many places.
  void conclude();
  /// Drops the findings since conclude().
  void dismiss() { open_.clear(); }
  /// Whether exactly one finding of firmware has no place yet.
  [[nodiscard]] bool lacks_a_place() const { return placeless().size() == 1; }
  /// Gives that finding a place. Precondition: lacks_a_place().
  void place(const std::string& where, const std::string& evidence);
  /// Adds a workaround to all later experiments, so that other faults show; `cures`: with it results are
  /// right.
  void add_workaround(const changes& workaround, bool cures);
  /// The workarounds of all experiments.
  [[nodiscard]] const changes& workarounds() const { return workarounds_; }
  void set_workarounds(changes workarounds) { workarounds_ = std::move(workarounds); }
  /// Drops the workarounds if they make results right, so that experiments meet the fault; workarounds of one
  /// of several faults are kept.
  void drop_curing_workarounds() {
    if (cured_) workarounds_.clear();
  }

  /// Writes the file of a job that experiments run; returns its path.
  std::string leave(const std::string& job) { return runner_.keep(job); }
  /// Writes the job of a collective; returns the flags that run it.
  changes flags_of(const collective_job& job) { return {"--workload", leave(workload_of(job))}; }
  /// Algorithms of the collective that the run does not use and its ranks could, in the order of the
  /// program's list.
  [[nodiscard]] std::vector<std::string> other_algorithms() const;
  [[nodiscard]] double seconds_left() const { return runner_.seconds_left(); }
  /// Records an experiment that there is no time for.
  void skip(const std::string& name) { file_.skipped.push_back(prefix_ + name); }

  /// The finished examination.
  case_file close();

 private:
  const observation& keep(observation o);
  [[nodiscard]] observation draw(const std::string& name, const changes& more, std::uint32_t number,
                                 double limit_s);
  void keep_draw_of(const observation& o);
  [[nodiscard]] std::uint32_t next_draw(const subject& of);
  [[nodiscard]] rate more_draws(const observation* o, const sign& counts);
  const observation* until_distinct(const observation* first, const std::string& name, double limit_s);
  const observation& smaller(const observation& given);
  [[nodiscard]] std::size_t number_of(const observation& o) const;
  [[nodiscard]] double expected_s(const changes& more, const cost& c) const;
  [[nodiscard]] const subject& subject_of(const changes& more) const;
  [[nodiscard]] changes joined(const changes& more) const;
  void name_the_root();
  [[nodiscard]] std::vector<const finding*> placeless() const;

  experiment_runner& runner_;
  const target& who_;
  subject whole_;        ///< the run as given, or the smaller one that takes its place
  subject at_;           ///< the present subject: whole_, a part of it, or a job of the diagnosis
  changes workarounds_;  ///< workarounds that all experiments get
  subject cheap_;        ///< no part: none was sought or found
  struct {
    changes more;
    rate after;
    std::uint32_t next_draw{};
    double wall_s{};
  } last_;  ///< the last experiment that was made
  std::string prefix_;
  bool cured_{};               ///< results are right with the workarounds workarounds_
  bool unfinished_{};          ///< the run as given was stopped
  std::vector<finding> open_;  ///< findings since conclude()
  case_file file_;
};

// Barriers and tag-matched messages, which are tried where the job as given is right and does not use them.

/// Runs messages to each PE in turn, then a few barriers, among all PEs of the machine. One that fails
/// becomes the subject of `examine`. One that is right adds findings of the monitors if there are no others.
/// Does nothing where the job as given or another one is known to fail, or the address map names fewer than
/// two PEs.
void examine_own_jobs(experiment_series& t, const std::function<void(experiment_series&)>& examine);

// Wrong results that no packet explains: which change of the firmware's settings makes them right.

/// Name of the experiment that verifies every packet.
inline constexpr const char* checksums_experiment = "with checksums";

/// Tries all mitigations at once, with longer and longer delays, then which of them are enough, and adds the
/// findings that follow; wrong_data where none helps and nothing else explains the results. Does nothing
/// unless a run of the subject had wrong results. The findings have no place: a run that is right has other
/// times, so its first difference from a wrong one shows nothing.
void try_mitigations(experiment_series& t);

}  // namespace diecast::diagnose
