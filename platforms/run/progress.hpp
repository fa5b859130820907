// SPDX-License-Identifier: Apache-2.0
// How far a long run is: a bar on stderr, drawn between slices of the simulation, so that it costs the
// machine no event.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>

#include "models/types/time.hpp"

namespace diecast::platforms {

/// automatic: where stderr is a terminal, once a run has taken two seconds; on: from the start, a line at a
/// time where stderr is no terminal.
enum class progress_mode : std::uint8_t { automatic, on, off };

class progress_bar {
 public:
  /// `label` stands before the bar: "run 2 of 5".
  progress_bar(progress_mode mode, std::string label, std::FILE* to = stderr);
  ~progress_bar();
  progress_bar(const progress_bar&) = delete;
  progress_bar& operator=(const progress_bar&) = delete;

  /// Draws when it is time to: `share_done` (0 to 1) is asked for only then.
  void update(sim_time simulated, const std::function<double()>& share_done);

  /// The line that is drawn, without the terminal's control characters.
  [[nodiscard]] static std::string text(const std::string& label, double share, sim_time simulated,
                                        double wall_s);

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
