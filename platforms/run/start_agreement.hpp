// SPDX-License-Identifier: Apache-2.0
// The hosts of all SIPs agree on the instant at which all PEs of a launch start.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <systemc>

#include "models/types/time.hpp"

namespace diecast::platforms {

class start_agreement {
 public:
  explicit start_agreement(std::uint64_t hosts) : hosts_(hosts) {}

  /// Blocks the calling host until every host has come here. The last to come decides on the start.
  sim_time agree(const std::function<sim_time()>& decide) {
    const std::uint64_t mine = generation_;
    if (++arrived_ == hosts_) {
      arrived_ = 0;
      ++generation_;
      start_ = decide();
      agreed_.notify(sc_core::SC_ZERO_TIME);
    }
    while (generation_ == mine) sc_core::wait(agreed_);
    return start_;
  }
  /// The latest start agreed on; empty before the first.
  [[nodiscard]] std::optional<sim_time> latest() const {
    return generation_ == 0 ? std::nullopt : std::optional(start_);
  }

 private:
  std::uint64_t hosts_;
  std::uint64_t arrived_{};
  std::uint64_t generation_{};
  sim_time start_;
  sc_core::sc_event agreed_{"agreed"};
};

}  // namespace diecast::platforms
