// SPDX-License-Identifier: Apache-2.0
// The experiments of one examination: which job they change, what stands while they run, what each has shown,
// and whether there is time for another one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "platforms/diagnose/findings.hpp"
#include "platforms/diagnose/laboratory.hpp"
#include "platforms/diagnose/patient.hpp"
#include "platforms/diagnose/report.hpp"

namespace diecast::diagnose {

using changes = std::vector<std::string>;

[[nodiscard]] inline bool wrong_data(const observation& o) { return o.exit_code == 1; }
[[nodiscard]] inline bool right(const observation& o) { return o.exit_code == 0; }

/// Whether what an experiment shows is a finding: not where only its being right is asked.
enum class signs { count, ignored };

class trials {
 public:
  static constexpr double unlimited_s = std::numeric_limits<double>::infinity();

  /// Both outlive it.
  trials(laboratory& lab, const patient& who) : lab_(lab), who_(who), bytes_(who.bytes) {}

  /// The run as given or, where it takes too long to be repeated a few times, the largest of smaller ones
  /// that does not and goes wrong, or right, as it does.
  const observation& first_look();
  /// The job with `more` beside what stands. Null when nothing was learned: no time for it, or it was
  /// stopped, or this machine refuses it; the case file says so. It takes as long as the longest so far, or
  /// `at_most_s`.
  const observation* attempt(const std::string& name, const changes& more, signs what = signs::count,
                             double at_most_s = unlimited_s);

  /// What was looked into, which all else is compared with: the run as given, or a smaller one.
  [[nodiscard]] const observation& base() const { return file_.observations.at(base_); }
  /// Message size of it.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  /// Whether --bytes has a meaning.
  [[nodiscard]] bool sized() const { return !is_workload() && !is_barrier(); }
  [[nodiscard]] bool is_workload() const { return !given("--workload").empty(); }
  [[nodiscard]] bool is_barrier() const { return who_.collective == "barrier"; }
  /// The value given for a flag; empty when it was not.
  [[nodiscard]] std::string given(const std::string& flag) const { return lab_.given(flag); }
  [[nodiscard]] const patient& who() const { return who_; }

  /// Goes wrong as what was looked into.
  [[nodiscard]] bool shows(const observation& o) const { return o.exit_code == base().exit_code; }
  /// The same for people: "the same", "right" or another way.
  [[nodiscard]] std::string outcome(const observation& o) const;
  [[nodiscard]] bool healthy_so_far() const { return file_.findings.empty(); }
  [[nodiscard]] bool found(const std::string& kind) const { return names(file_.findings, kind); }
  /// What has been found, most certain and gravest first.
  [[nodiscard]] std::vector<finding> findings() const;
  /// Every run so far, the one given first.
  [[nodiscard]] const std::deque<observation>& observations() const { return file_.observations; }
  /// Whether all that was found is hidden (finding::hidden).
  [[nodiscard]] bool all_hidden() const;

  void answer(const std::string& question, const std::string& text);
  void add(finding f) { merge(file_.findings, {std::move(f)}); }
  /// A workaround that lets the next thing be seen; `cures`: with it results are right.
  void let_stand(const changes& workaround, bool cures);
  /// From here on the whole fault is asked for: workarounds that cure it are taken away, those of only one of
  /// several faults stay.
  void ask_of_what_is_wrong() {
    if (cured_) standing_.clear();
  }

  /// Leaves a job that experiments run; its path.
  std::string leave(const std::string& job) { return lab_.keep(job); }
  /// Standard output of the program with these arguments alone.
  [[nodiscard]] std::string ask(const changes& arguments) const { return lab_.ask(arguments); }
  [[nodiscard]] double seconds_left() const { return lab_.seconds_left(); }
  /// For what is given up for want of time.
  void skip(const std::string& name) { file_.skipped.push_back(name); }

  /// The finished examination.
  case_file close();

 private:
  const observation& look(const std::string& name, const changes& more, double limit_s = unlimited_s);
  const observation& keep(observation o);
  const observation& smaller(const observation& given);
  [[nodiscard]] bool time_for(double seconds) const;
  [[nodiscard]] changes joined(const changes& more) const;
  void name_the_root();

  laboratory& lab_;
  const patient& who_;
  std::uint64_t bytes_;  ///< of what is looked into
  changes smaller_;      ///< what makes the run small enough to be looked into
  changes standing_;     ///< workarounds found: they let the next thing be seen
  bool cured_{};         ///< with them results are right
  double slowest_s_{};
  std::size_t base_{};               ///< number of the observation that others are compared with
  std::optional<finding> too_slow_;  ///< the run as given was stopped
  case_file file_;
};

}  // namespace diecast::diagnose
