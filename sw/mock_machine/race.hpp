// SPDX-License-Identifier: Apache-2.0
// Which of several algorithms is fastest: their kernels run on timed mock machines side by side, in steps of
// simulated time, until the fastest has ended. A candidate whose lower bound lies beyond is not
// started. The effort is limited in events, so that the same question has the same answer on every computer.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/cost/least_work.hpp"
#include "sw/mock_machine/timed_machine.hpp"

namespace diecast::sw {

struct algorithm_candidate {
  std::string name;
  cost::algorithm_bound bound;
  /// Empty: it cannot run here. Null: it is not modelled, and taken to need its bounds in a row.
  std::function<std::optional<std::unique_ptr<timed_run>>()> start;
};

enum class known_by : std::uint8_t { estimate, progress, bounds };

struct choice {
  struct timed {
    std::string name;
    double ns{};
    known_by how{};
  };
  /// Of candidates that can run, the fastest first; where the effort was spent, what has arrived by then
  /// tells when they would end (progress), and of those not started their bounds in a row.
  std::vector<timed> sorted;
  [[nodiscard]] std::string reason() const;
};

/// Of a machine of `pes` PEs: about half a second for 256 of them, five seconds for 8,192.
[[nodiscard]] std::uint64_t most_events(std::uint64_t pes);

/// Takes most_events(); where nothing but bounds is known then, one more for each 64 bytes that the ranks
/// send together, ten million at most: about half of what the simulation will take.
[[nodiscard]] choice race(std::vector<algorithm_candidate> candidates, std::uint64_t pes);

}  // namespace diecast::sw
