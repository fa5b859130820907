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

#include "models/cost/lower_bound.hpp"
#include "sw/mock_machine/timed_run.hpp"

namespace diecast::sw {

struct algorithm_candidate {
  std::string name;
  cost::algorithm_bound bound;
  /// Empty: the candidate cannot run here. Null: it is not modelled; its estimate is the sum of its bounds.
  std::function<std::optional<std::unique_ptr<timed_run>>()> start;
};

enum class known_by : std::uint8_t { estimate, progress, bounds };

struct choice {
  struct timed {
    std::string name;
    double ns{};
    known_by how{};
  };
  /// Candidates that can run, the fastest first. When the effort is spent, the bytes that have arrived
  /// predict a run's end (progress); candidates that were not started count with the sum of their bounds.
  std::vector<timed> sorted;
  [[nodiscard]] std::string reason() const;
};

/// Effort of a choice on a machine of `pes` PEs, in events of its estimates: about a second for 256 PEs, ten
/// for 8,192 (measured on one core of a server).
[[nodiscard]] std::uint64_t most_events(std::uint64_t pes);

/// When a run that was cut off would end, in ns, from the share of the bytes that have arrived; empty below a
/// tenth, which is too little for an estimate, and before the run's bound: bytes on short routes arrive
/// first.
[[nodiscard]] std::optional<double> end_by_progress(const timed_outcome& o,
                                                    const cost::algorithm_bound& bound);

/// Uses most_events(); if only bounds are known then, one more event for each 64 bytes that all ranks send,
/// at most ten million, fewer on machines of more than 256 PEs. When these are used up, where ranks
/// send fewer bytes, the candidates that would end first use up to 1.6 million more.
[[nodiscard]] choice race(std::vector<algorithm_candidate> candidates, std::uint64_t pes);

}  // namespace diecast::sw
