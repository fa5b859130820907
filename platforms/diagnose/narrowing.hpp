// SPDX-License-Identifier: Apache-2.0
// Finds the conditions of a fault: algorithm, transport, size and route, and the fewest ranks that show it.
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
  /// `t` must outlive this object.
  explicit narrowing(experiment_series& t) : t_(t) {}

  /// Answers the questions that apply to the subject, those with the cheapest experiments first.
  void run();

 private:
  void other_routes();
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
  /// Whether the job shows the fault; empty when there was no time, or the machine refuses the job.
  std::optional<bool> shown(const collective_job& job);
  void name_the_pe(const collective_job& job);

  void route();

  struct tried_route {
    std::string name;
    bool is_right{};
    bool fewer_ranks{};  ///< the only change is fewer ranks
    rate after{};
  };
  experiment_series& t_;
  std::vector<tried_route> routes_;
  std::set<rank_list> tried_;
  double job_s_{std::numeric_limits<double>::infinity()};  ///< wall time of the last job that showed the
                                                           ///< fault; fewer ranks take less
};

// Parts of the machine that become the subject, because their runs take less time or because known faults are
// elsewhere.

/// Where a run fails and takes long, makes a few neighboring ranks that fail as it does the subject, so that
/// more experiments fit into the time. Does nothing if there are none.
void examine_cheap_part(experiment_series& t);

/// A fault that ends a run hides all others. Calls `examine` for the machine without the place of the first
/// finding. Only new classes are added, and only of parts that do not show the first one: others contain its
/// fault, too. Records when the monitors do not show on which PE each rank is.
void examine_the_rest(experiment_series& t, const std::function<void(experiment_series&)>& examine);

/// Where the job is right and shows nothing, calls `examine` for another algorithm that has wrong results or
/// hangs. Does nothing otherwise.
void examine_another_algorithm(experiment_series& t, const std::function<void(experiment_series&)>& examine);

/// Tries the collective with 64 KiB if the given one is smaller and right: some faults act
/// only on messages of several packets. A failing run is examined by `examine`.
void examine_more_bytes(experiment_series& t, const std::function<void(experiment_series&)>& examine);

/// Sets of ranks that exclude `place`. Of a PE: all ranks but one, those outside its cube, those outside its
/// SIP. Of a link of a cube: the ranks outside the cube, those outside each cube next to it, and those in the
/// cube; of a link between SIPs: the ranks of each SIP. `pes` names the PE of each rank. Empty where the
/// place is unknown.
[[nodiscard]] std::vector<rank_list> without_place(const std::vector<std::string>& pes,
                                                   const std::string& place);

}  // namespace diecast::diagnose
