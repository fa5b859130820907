// SPDX-License-Identifier: Apache-2.0
#include "platforms/run/how_far.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "platforms/run/bound.hpp"

namespace diecast::platforms {

double distance::ended_pes() const {
  const auto& members = run_.members.members;
  const auto ended = std::count_if(members.begin(), members.end(), ended_);
  return static_cast<double>(ended) / static_cast<double>(std::max<std::size_t>(members.size(), 1));
}

run_progress distance::by_time(sim_time elapsed) {
  if (!asked_) expected_ns_ = expected_ns(run_);
  asked_ = true;
  const auto before = hosts_.launch_before();
  const double ns = before ? before->ns() : expected_ns_.value_or(bound_ns_);
  if (ns <= 0) return {0, {}};
  const char* const what = before         ? "like the previous launch"
                           : expected_ns_ ? "expected"
                                          : "at least (lower bound)";
  const bool late = elapsed.ns() > ns;
  return {share_of_time(elapsed.ns(), ns), fmt::format("{:.3f} us {} {:.3f} us {}", elapsed.ns() / 1e3,
                                                       late ? "already, of" : "of", ns / 1e3, what)};
}

run_progress distance::at(sim_time now) {
  const std::uint64_t rounds = run_.workload ? 1 : run_.point.iters + run_.point.warmup;
  const std::uint64_t done = std::min(hosts_.rounds_done(), rounds);
  run_progress launch;
  const auto start = hosts_.launched();
  // Until it starts, PEs are as the launch before has left them.
  if (start && now > *start && done < rounds) {
    if (const auto ops = hosts_.ops_done()) {
      launch.share = *ops;
    } else {
      launch = by_time(now - *start);
      launch.share = std::max(launch.share, ended_pes());
    }
  }
  return {(static_cast<double>(done) + launch.share) / static_cast<double>(rounds), launch.note};
}

}  // namespace diecast::platforms
