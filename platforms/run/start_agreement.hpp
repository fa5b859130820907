// SPDX-License-Identifier: Apache-2.0
// The hosts of all SIPs agree on the instant at which all PEs of a launch start. For hosts of other
// processes, platforms/run/windows reports whether they wait, and when all continue.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <systemc>
#include <utility>

#include "hw/base/time.hpp"
#include "models/types/time.hpp"

namespace diecast::platforms {

class start_agreement {
 public:
  /// `hosts`: of this process.
  explicit start_agreement(std::uint64_t hosts) : hosts_(hosts) {}
  start_agreement(const start_agreement&) = delete;
  start_agreement& operator=(const start_agreement&) = delete;
  virtual ~start_agreement() = default;

  /// Blocks the calling host until every host has come here. The start is decided once in each process, at
  /// the instant at which the last host of all comes.
  virtual sim_time agree(const std::function<sim_time()>& decide) = 0;
  /// The latest start agreed on; empty before the first.
  [[nodiscard]] std::optional<sim_time> latest() const {
    return generation_ == 0 ? std::nullopt : std::optional(start_);
  }

 protected:
  /// The last host of all has come.
  void begin(const std::function<sim_time()>& decide) {
    arrived_ = 0;
    ++generation_;
    start_ = decide();
  }
  std::uint64_t hosts_;
  std::uint64_t arrived_{};
  std::uint64_t generation_{};
  sim_time start_;
};

/// Of hosts that are threads of SystemC.
class thread_agreement final : public start_agreement {
 public:
  using start_agreement::start_agreement;

  sim_time agree(const std::function<sim_time()>& decide) override {
    const std::uint64_t mine = generation_;
    if (++arrived_ == hosts_) {
      ready_ = hw::now();
      if (others_ready_) {
        go_on(decide);
        agreed_.notify(sc_core::SC_ZERO_TIME);
      } else {
        sc_core::sc_pause();  // perhaps the last of all: this process may not pass this instant before it
                              // knows
      }
    }
    while (generation_ == mine) {
      sc_core::wait(agreed_);
      if (generation_ == mine && released_ <= hw::now()) go_on(decide);  // the first host here decides
    }
    return start_;
  }
  // For several processes, between windows.

  /// Whether all hosts of all other processes wait: then the last one here need not wait for an agreement.
  void set_others_ready(bool ready) {
    several_ = true;
    others_ready_ = ready;
  }
  /// Since when all hosts of this process wait; never() while one is still to come.
  [[nodiscard]] sim_time ready() const { return ready_; }
  /// Time at which hosts of this process have continued on their own since the last call; never() without.
  [[nodiscard]] sim_time take_decided() { return std::exchange(decided_, sim_time::never()); }
  /// All hosts wait, the last one since `at`: those of this process continue then. Precondition: ready() <=
  /// at, at >= now.
  void release(sim_time at) {
    if (at < hw::now())
      throw std::logic_error("hosts should continue at a time that their process has already passed");
    released_ = at;
    ready_ = sim_time::never();
    agreed_.cancel();  // nobody waits any more for the event of the start before
    agreed_.notify(hw::to_sc(at - hw::now()));
  }

 private:
  void go_on(const std::function<sim_time()>& decide) {
    if (released_ == sim_time::never()) decided_ = hw::now();
    released_ = sim_time::never();
    if (several_) others_ready_ = false;  // the others wait for this start, not for the next one
    ready_ = sim_time::never();
    begin(decide);
  }

  bool several_{}, others_ready_{true};
  sim_time ready_{sim_time::never()}, decided_{sim_time::never()}, released_{sim_time::never()};
  sc_core::sc_event agreed_{"agreed"};
};

}  // namespace diecast::platforms
