// SPDX-License-Identifier: Apache-2.0
// What drives a machine during one run: the program of every SIP's host, the firmware of every PE, and what
// is known at the end. Hosts are threads of the simulation; only one runs at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <systemc>
#include <utility>
#include <vector>

#include "hw/base/time.hpp"
#include "models/abi/hal.hpp"
#include "models/abi/launch.hpp"
#include "models/events/fingerprint.hpp"
#include "models/types/immovable.hpp"
#include "models/types/time.hpp"
#include "platforms/run/prepare.hpp"
#include "platforms/run/process_group.hpp"
#include "platforms/run/run_point.hpp"
#include "sw/runtime/pe_context.hpp"

namespace diecast::platforms {

/// The hosts of all SIPs agree on the instant at which all PEs of a launch start. Hosts of other processes
/// count: whoever runs the windows of this process says whether they wait, and when all go on.
class start_agreement : immovable {
 public:
  /// `hosts`: of this process.
  explicit start_agreement(std::uint64_t hosts) : hosts_(hosts) {}
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

  /// Whether all hosts of all other processes wait: then the last one here need not ask.
  void set_others_ready(bool ready) {
    several_ = true;
    others_ready_ = ready;
  }
  /// Since when all hosts of this process wait; never() while one is still to come.
  [[nodiscard]] sim_time ready() const { return ready_; }
  /// When hosts of this process went on without asking, since the last call; never() when they did not.
  [[nodiscard]] sim_time take_decided() { return std::exchange(decided_, sim_time::never()); }
  /// All hosts have come, the last one at `at`: those here go on then. Precondition: ready() <= at, at >=
  /// now.
  void release(sim_time at) {
    if (at < hw::now())
      throw std::logic_error("hosts are to go on at an instant that their process has passed already");
    released_ = at;
    ready_ = sim_time::never();
    agreed_.cancel();  // nobody waits any more for the event of the start before
    agreed_.notify(hw::to_sc(at - hw::now()));
  }

 private:
  void go_on(const std::function<sim_time()>& decide) {
    if (released_ == sim_time::never()) decided_ = hw::now();
    released_ = sim_time::never();
    if (several_) others_ready_ = false;  // they wait for this start, not yet for the next
    ready_ = sim_time::never();
    begin(decide);
  }

  bool several_{}, others_ready_{true};
  sim_time ready_{sim_time::never()}, decided_{sim_time::never()}, released_{sim_time::never()};
  sc_core::sc_event agreed_{"agreed"};
};

class host_side : public abstract_interface {
 public:
  /// The host program of one SIP.
  virtual void host_program(abi::host_hal& host) = 0;
  /// What a PE does with a launch.
  virtual void firmware(abi::hal& hal, const abi::launch_block& block,
                        const sw::runtime_options& options) = 0;

  /// `hear` is called with every rank's output after each launch, where there is one such output.
  virtual void hear_results(
      const std::function<void(std::uint32_t rank, std::span<const std::byte>)>& /*hear*/) {}

  /// At the end: what is known of the whole run, from what each process knows of its SIPs.
  virtual void join(process_group& group) = 0;

  /// Every host program of this process has ended.
  [[nodiscard]] virtual bool finished() const = 0;
  /// Fills times, verdict and what else is known, finished or not.
  virtual void report(run_outcome& outcome) const = 0;
  [[nodiscard]] virtual const events::run_fingerprint& data_fingerprint() const = 0;
  /// When the last host had written its queue-pair registers; 0 by the backdoor.
  [[nodiscard]] virtual double install_ns() const = 0;
  /// What this kind of run counts beside the rest, by name.
  [[nodiscard]] virtual std::vector<std::pair<std::string, std::uint64_t>> more_statistics() const {
    return {};
  }
  /// Common start of the latest launch; empty before the first.
  [[nodiscard]] virtual std::optional<sim_time> launched() const = 0;
  /// What the launch before it took; empty when it is the first.
  [[nodiscard]] virtual std::optional<sim_time> launch_before() const { return {}; }
  /// Share of the launch's ops that their members have ended, where a launch has several.
  [[nodiscard]] virtual std::optional<double> ops_done() const { return {}; }
  /// Launches that all members have ended.
  [[nodiscard]] virtual std::uint64_t rounds_done() const = 0;
};

/// `only`: of a workload, the one stream to run. `agreement`: of the hosts of the `sips` of this process.
/// `on_round` is called before each launch.
[[nodiscard]] std::unique_ptr<host_side> make_host_side(const prepared_run& run,
                                                        std::optional<std::uint32_t> only, std::uint64_t sips,
                                                        start_agreement& agreement,
                                                        std::function<void()> on_round);
/// What a PE does with a launch. `draw`: of --jitter; 0: the run itself.
[[nodiscard]] std::function<void(abi::hal&, const abi::launch_block&)> firmware_of(host_side& hosts,
                                                                                   const prepared_run& run,
                                                                                   std::uint64_t draw,
                                                                                   pe_coord pe);

}  // namespace diecast::platforms
