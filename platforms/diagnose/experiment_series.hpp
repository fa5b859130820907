// SPDX-License-Identifier: Apache-2.0
// The experiments of one examination: which job they change, what stands while they run, what each has shown,
// and whether there is time for another one.
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

/// Begins the setting of another draw of the faults' chances.
inline constexpr const char* draw_key = "sim.fault_draw=";

/// A job that the diagnosis tries beside the one that was given.
enum class own_kind { none, barriers, messages };

/// Whether what an experiment shows is a finding: not where only its being right is asked.
enum class signs { count, ignored };

/// What an experiment is expected to take: so many runs of what it changes, or so many seconds if that is
/// less. What takes much longer than that is stopped.
struct cost {
  double runs{1};
  double at_most_s{std::numeric_limits<double>::infinity()};
  double patience{6};  ///< times what is expected
};

class experiment_series {
 public:
  /// What is looked into.
  struct subject {
    std::size_t base{};                    ///< number of the observation that others are compared with
    changes flags;                         ///< what makes it of the run as given
    std::uint64_t bytes{};                 ///< message size
    std::optional<collective_job> part{};  ///< the collective, where it is one of some ranks
    own_kind own{};                        ///< none: it is the run as given, a smaller one or a part of it
    rate failed{};         ///< among draws of the faults' chances; without draws: not measured
    bool varies{};         ///< those draws differ
    std::uint32_t draw{};  ///< that `base` is of
  };

  /// Both outlive it.
  experiment_series(experiment_runner& runner, const target& who)
      : runner_(runner), who_(who), whole_{0, {}, who.bytes} {
    at_ = whole_;
  }

  /// The run as given or, where it takes too long to be repeated, the largest of smaller ones that does not.
  const observation& first_look();
  /// The job with `more` beside what stands. Null when nothing was learned: no time for it, or it was
  /// stopped, or this machine refuses it; the case file says so.
  const observation* attempt(const std::string& name, const changes& more, signs what = signs::count,
                             const cost& c = {});

  /// Repeats what is looked into with other draws of the faults' chances and nothing else changed, until its
  /// rate of failures is known or a share of the time is used. Where draws differ, one that fails takes the
  /// place of one that does not.
  void measure();
  /// What counts as a failure of a draw, or as a sight of it; empty: fails().
  using sign = std::function<bool(const observation&)>;
  [[nodiscard]] static bool fails(const observation& o) { return !right(o); }
  /// Answers question `id` by the experiment that was made last, `o` (null: attempt() gave none), of which
  /// more draws are made: whether it removes what is looked into. A failure is seen: "no"; none is and
  /// Fisher's test tells the rates apart: "yes"; else "not distinguishable". The first answer to an id stays.
  std::string ask_removed(const char* id, const observation* o, const sign& counts = {});
  /// Whether it is seen, `after` being the rate of that.
  void ask_seen(const char* id, const observation* o, const sign& seen);
  /// Whether the rate of failures is another one.
  void ask_changed(const char* id, const observation* o);
  /// An answer as given, by the last experiment's rates.
  std::string record(const char* id, const char* word, const rate& after);
  [[nodiscard]] bool was_asked(const std::string& id) const;
  /// Failures among the draws of the last experiment, and of what it changes.
  [[nodiscard]] const rate& last_rate() const { return last_.after; }
  [[nodiscard]] const rate& rate_before() const { return subject_of(last_.more).failed; }

  /// Whether the machine refused the experiment of this name, the last one.
  [[nodiscard]] bool was_refused(const std::string& name) const;

  /// What was looked into, which all else is compared with: the run as given, a smaller one or a part of it.
  [[nodiscard]] const observation& base() const { return file_.observations.at(at_.base); }
  /// Message size of it.
  [[nodiscard]] std::uint64_t bytes() const { return at_.bytes; }
  /// The collective looked into with all its ranks; none where it has none to leave out.
  [[nodiscard]] std::optional<collective_job> job() const;
  /// Whether that is the run as given, or the smaller one that takes its place.
  [[nodiscard]] bool is_the_whole(const observation& o) const {
    return &o == &file_.observations.at(whole_.base);
  }
  /// From here on a collective of some of the ranks is looked into, which `o` of this series has shown.
  void look_into(const collective_job& part, const observation& o);
  /// From here on a job of the diagnosis's own is looked into, of which `flags` make the run `o` of these
  /// experiment_series.
  void look_into(own_kind job, const changes& flags, const observation& o);
  [[nodiscard]] bool in_part() const { return at_.part.has_value(); }
  void look_into_all_again() { at_ = whole_; }
  /// Few ranks that go wrong as all do, if a run of all takes long and they were sought and found.
  [[nodiscard]] const std::optional<collective_job>& cheap_part() const { return cheap_.part; }
  /// Wall time of a run of it. Precondition: cheap_part().
  [[nodiscard]] double cheap_part_s() const { return file_.observations.at(cheap_.base).wall_s; }
  void keep_cheap_part() { cheap_ = at_; }
  /// Put before the names of experiments and questions; empty: they are of the fault that the run shows.
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

  /// Goes wrong as what is looked into.
  [[nodiscard]] bool shows(const observation& o) const { return o.exit_code == base().exit_code; }
  /// The same for people: "the same", "right" or another way.
  [[nodiscard]] std::string outcome(const observation& o) const;
  [[nodiscard]] bool healthy_so_far() const { return open_.empty() && file_.findings.empty(); }
  /// In what is looked into.
  [[nodiscard]] bool found(const std::string& kind) const { return names(open_, kind); }
  /// What has been found, most certain and gravest first.
  [[nodiscard]] std::vector<finding> findings() const;
  /// Of this what was found since conclude().
  [[nodiscard]] std::vector<finding> new_findings() const;
  /// The run that is looked into and every experiment since.
  [[nodiscard]] std::vector<const observation*> looked_at() const;
  /// Whether this experiment on what is looked into has shown something.
  [[nodiscard]] bool was_tried(const std::string& name) const;
  /// Whether all that was found in what is looked into is hidden (finding::hidden).
  [[nodiscard]] bool all_hidden() const;

  void answer(const std::string& question, const std::string& text);
  /// What an experiment of this series that was to be ignored shows, after all.
  void take_signs_of(const observation& o) { merge(open_, signs_of(o)); }
  void add(finding f) { merge(open_, {std::move(f)}); }
  /// What has been found stands as it is: nothing that is found later explains it. Of a part that was left
  /// over only classes that are new count: one fault shows at many places.
  void conclude();
  /// Forgets what has been found since then.
  void dismiss() { open_.clear(); }
  /// Whether one finding of firmware has no place yet, and only one.
  [[nodiscard]] bool lacks_a_place() const { return placeless().size() == 1; }
  /// Gives it one. Precondition: lacks_a_place().
  void place(const std::string& where, const std::string& evidence);
  /// A workaround that lets the next thing be seen; `cures`: with it results are right.
  void let_stand(const changes& workaround, bool cures);
  /// What stands, and back to it.
  [[nodiscard]] const changes& standing() const { return standing_; }
  void stand(changes workarounds) { standing_ = std::move(workarounds); }
  /// From here on the whole fault is asked for: workarounds that cure it are taken away, those of only one of
  /// several faults stay.
  void ask_of_what_is_wrong() {
    if (cured_) standing_.clear();
  }

  /// Leaves a job that experiments run; its path.
  std::string leave(const std::string& job) { return runner_.keep(job); }
  /// The same of a collective: what makes a run of it.
  changes flags_of(const collective_job& job) { return {"--workload", leave(workload_of(job))}; }
  /// Algorithms of the collective that the run does not use and its ranks could, in the order of the
  /// program's list.
  [[nodiscard]] std::vector<std::string> other_algorithms() const;
  [[nodiscard]] double seconds_left() const { return runner_.seconds_left(); }
  /// For what is given up for want of time.
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
  const observation* until_told_apart(const observation* first, const std::string& name, double limit_s);
  const observation& smaller(const observation& given);
  [[nodiscard]] std::size_t number_of(const observation& o) const;
  [[nodiscard]] double expected_s(const changes& more, const cost& c) const;
  [[nodiscard]] const subject& subject_of(const changes& more) const;
  [[nodiscard]] changes joined(const changes& more) const;
  void name_the_root();
  [[nodiscard]] std::vector<const finding*> placeless() const;

  experiment_runner& runner_;
  const target& who_;
  subject whole_;     ///< the run as given, or the smaller one that takes its place
  subject at_;        ///< it, or a part of it
  changes standing_;  ///< workarounds found: they let the next thing be seen
  subject cheap_;     ///< no part: none was sought or found
  struct {
    changes more;
    rate after;
    std::uint32_t next_draw{};
    double wall_s{};
  } last_;  ///< the last experiment that was made
  std::string prefix_;
  bool cured_{};               ///< with them results are right
  bool unfinished_{};          ///< the run as given was stopped
  std::vector<finding> open_;  ///< not concluded yet
  case_file file_;
};

// What the job as given does not use: where it is right, barriers and tag-matched messages are tried beside
// it.

/// Runs messages to each PE in turn, then a few barriers, among all PEs of the machine. One that goes wrong
/// is looked into as the job as given would be: `examine` finds what is wrong there. Of one that is right
/// the monitors count where nothing else was found. Does nothing where the job as given or another
/// one is known to go wrong, or the address map names fewer than two PEs.
void look_into_own_jobs(experiment_series& t, const std::function<void(experiment_series&)>& examine);

// Wrong results that no packet explains: which change of the firmware's ways makes them right.

/// Name of the experiment that verifies every packet.
inline constexpr const char* checksums_experiment = "with checksums";

/// Tries all mitigations at once, with longer and longer delays, then which of them are enough, and adds what
/// it means that these help; wrong_data where none does and nothing else explains the results. Does nothing
/// unless a run of what is looked into had wrong results. The place stays open: a run that is right has other
/// times, and the first difference from it says nothing.
void try_mitigations(experiment_series& t);

}  // namespace diecast::diagnose
