// SPDX-License-Identifier: Apache-2.0
// What a fault depends on: the algorithm, the transport, the size, the route, and the fewest ranks that show
// it.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "platforms/diagnose/experiment_series.hpp"
#include "platforms/diagnose/jobs.hpp"

namespace diecast::diagnose {

class narrowing {
 public:
  /// `t` outlives it.
  explicit narrowing(experiment_series& t) : t_(t) {}

  /// Answers what can be asked of this job, in the order of what costs least.
  void run();

 private:
  void other_ways();
  void other_algorithm();
  void other_transport();
  [[nodiscard]] bool uses_tags() const;
  [[nodiscard]] std::vector<std::string> algorithms_of_other_kinds() const;

  void smallest();
  void fewer_bytes();
  void fewest_ranks();
  bool pair_across_sips(collective_job& job);
  bool take_fewer(collective_job& job);
  bool shown_among(const rank_list& ranks, collective_job& job);
  void shrink(collective_job& job);
  bool shown_by(const collective_job& job);
  /// Empty when there was no time to learn it, or the machine refuses the job.
  std::optional<bool> shown(const collective_job& job);
  void name_the_pe(const collective_job& job);

  void route();

  struct tried_route {
    std::string way;
    bool is_right{};
    bool fewer_ranks{};  ///< that is all that is changed
    rate after{};
  };
  experiment_series& t_;
  std::vector<tried_route> routes_;
  std::set<rank_list> tried_;
  double job_s_{std::numeric_limits<double>::infinity()};  ///< wall time of the last job that showed it: with
                                                           ///< fewer ranks it is less
};

// Parts of the machine that are looked into instead of all of it: because they cost less, or because what has
// been found is not in them.

/// Where a run goes wrong and takes long, looks into a few neighboring ranks that go wrong in the same way,
/// if some do: many more experiments fit into the same time then. Does nothing otherwise.
void look_into_a_cheap_part(experiment_series& t);

/// A fault that ends a run hides all others. Looks into what is left of the machine without the place that
/// was found first; `examine` finds what is wrong there. Only classes that are new are added, and only of
/// parts where the first one is gone: else its place was not the whole of it.
/// Says so where the monitors do not tell on which PE each rank is.
void look_into_the_rest(experiment_series& t, const std::function<void(experiment_series&)>& examine);

/// Another algorithm that has wrong results or hangs where the one of the job is right and shows nothing: the
/// job with that one is looked into, by `examine`. Does nothing otherwise.
void look_into_another_algorithm(experiment_series& t,
                                 const std::function<void(experiment_series&)>& examine);

/// Tries the collective with 64 KiB if the given one is smaller and right: only messages of several packets
/// meet some faults. A failing run is examined by `examine`.
void look_into_more_bytes(experiment_series& t, const std::function<void(experiment_series&)>& examine);

/// What is left without `place`: all ranks but one, those outside its cube, those outside its SIP. Of a link
/// of a cube: the ranks outside the cube, those outside each cube next to it, and those in the cube; of a
/// link between SIPs: the ranks of each SIP. `pes` names the PE of each rank. Empty where the place says
/// nothing.
[[nodiscard]] std::vector<rank_list> without_place(const std::vector<std::string>& pes,
                                                   const std::string& place);

}  // namespace diecast::diagnose
