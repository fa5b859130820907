// SPDX-License-Identifier: Apache-2.0
// What a fault depends on: the algorithm, the transport, the size, the route, and the fewest ranks that show
// it.
#pragma once

#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "platforms/diagnose/jobs.hpp"
#include "platforms/diagnose/rank_sets.hpp"
#include "platforms/diagnose/trials.hpp"

namespace diecast::diagnose {

class narrowing {
 public:
  /// `t` outlives it.
  explicit narrowing(trials& t) : t_(t) {}

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
  trials& t_;
  std::vector<tried_route> routes_;
  std::set<rank_list> tried_;
  double job_s_{std::numeric_limits<double>::infinity()};  ///< wall time of the last job that showed it: with
                                                           ///< fewer ranks it is less
};

}  // namespace diecast::diagnose
