// SPDX-License-Identifier: Apache-2.0
// Progress of a long run: a bar on stderr, drawn between slices of the simulation, so that it adds no event
// to the simulation.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>

#include "models/types/immovable.hpp"
#include "models/types/time.hpp"
#include "platforms/result/run_point.hpp"

namespace diecast::platforms {

/// Progress of a run.
struct run_progress {
  double share{};    ///< 0 to 1
  std::string note;  ///< basis of the share, if that is no count: "of 85.000 us expected"
};

/// Share of a launch that is done after `elapsed_ns`: elapsed over expected time up to 75%, then a share that
/// approaches 100% ever more slowly, so that it grows also when the expected time has passed.
[[nodiscard]] double share_of_time(double elapsed_ns, double expected_ns);

class progress_bar : immovable {
 public:
  /// `label` precedes the bar: "run 2 of 5".
  progress_bar(progress_mode mode, std::string label, std::FILE* to = stderr);
  ~progress_bar();

  /// Draws if the last drawing is old enough: calls `how_far` only then.
  void update(sim_time simulated, const std::function<run_progress()>& how_far);

  /// The drawn line, without the terminal's control characters.
  [[nodiscard]] static std::string text(const std::string& label, const run_progress& progress,
                                        sim_time simulated, double wall_s);

 private:
  using clock = std::chrono::steady_clock;
  bool terminal_;
  bool enabled_;
  std::string label_;
  std::FILE* to_;
  clock::time_point start_{clock::now()};
  clock::time_point next_;
  bool drawn_{};
};

}  // namespace diecast::platforms
