// SPDX-License-Identifier: Apache-2.0
// How far a long run is: a bar on stderr, drawn between slices of the simulation, so that it costs the
// machine no event.
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

/// How far a run is.
struct run_progress {
  double share{};    ///< 0 to 1
  std::string note;  ///< what the share rests on where it is no count: "of 85.000 us expected"
};

/// Share of a launch that is done after so long, which grows until its end also where the expectation was too
/// short: that of the time up to 75%, then ever more slowly towards 100%.
[[nodiscard]] double share_of_time(double elapsed_ns, double expected_ns);

class progress_bar : immovable {
 public:
  /// `label` stands before the bar: "run 2 of 5".
  progress_bar(progress_mode mode, std::string label, std::FILE* to = stderr);
  ~progress_bar();

  /// Draws when it is time to: `how_far` is asked for only then.
  void update(sim_time simulated, const std::function<run_progress()>& how_far);

  /// The line that is drawn, without the terminal's control characters.
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
