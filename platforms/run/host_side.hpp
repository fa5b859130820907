// SPDX-License-Identifier: Apache-2.0
// The programs of one run: that of every SIP's host and the firmware of every PE, and their results. Hosts
// are threads of the simulation; only one runs at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "models/abi/hal.hpp"
#include "models/abi/launch.hpp"
#include "models/events/events.hpp"
#include "platforms/result/run_point.hpp"
#include "platforms/run/prepare.hpp"
#include "platforms/run/process_group.hpp"
#include "platforms/run/progress.hpp"
#include "platforms/run/start_agreement.hpp"
#include "sw/runtime/pe_context.hpp"

namespace diecast::platforms {

/// An op of a workload begins or has ended on one PE. Ops of one chain follow each other.
struct op_on_pe {
  pe_coord pe;
  std::uint32_t chain{};
  std::string stream, name;  ///< the name with its iteration
  sim_time at;
  bool ended{};
};

class host_side {
 public:
  /// `sips`: of this process, whose hosts these are.
  host_side(std::uint64_t sips, start_agreement& agreement) : agreement_(agreement), sips_(sips) {}
  host_side(const host_side&) = delete;
  host_side& operator=(const host_side&) = delete;
  virtual ~host_side() = default;

  /// The host program of one SIP.
  virtual void host_program(abi::host_hal& host) = 0;
  /// What a PE does with a launch.
  virtual void firmware(abi::hal& hal, const abi::launch_block& block,
                        const sw::runtime_options& options) = 0;

  /// `hear` is called with every rank's output after each launch, where there is one such output.
  virtual void hear_results(
      const std::function<void(std::uint32_t rank, std::span<const std::byte>)>& /*hear*/) {}

  /// At the end: merges the results of all processes, each for its SIPs.
  virtual void join(process_group& group) = 0;

  /// Every host program of this process has ended.
  [[nodiscard]] bool finished() const { return hosts_done_ == sips_; }
  /// Fills times, verdict and what else is known, finished or not.
  virtual void report(run_outcome& outcome) const = 0;
  [[nodiscard]] virtual const events::run_fingerprint& data_fingerprint() const = 0;
  /// When the last host had written its queue-pair registers; 0 by the backdoor.
  [[nodiscard]] double install_ns() const { return install_ns_; }
  /// Additional counts of this kind of run, by name.
  [[nodiscard]] virtual std::vector<std::pair<std::string, std::uint64_t>> more_statistics() const {
    return {};
  }
  /// Common start of the latest launch; empty before the first.
  [[nodiscard]] std::optional<sim_time> launched() const { return agreement_.latest(); }
  /// What the launch before it took; empty when it is the first.
  [[nodiscard]] virtual std::optional<sim_time> launch_before() const { return {}; }
  /// Share of the launch's ops that their members have ended, where a launch has several.
  [[nodiscard]] virtual std::optional<double> ops_done() const { return {}; }
  /// Launches that all members have ended.
  [[nodiscard]] virtual std::uint64_t rounds_done() const = 0;
  /// `hear` is called when a PE begins an op of a workload, and when it has ended it.
  virtual void hear_ops(const std::function<void(const op_on_pe&)>& /*hear*/) {}

 protected:
  start_agreement& agreement_;
  std::uint64_t sips_;
  std::uint64_t hosts_done_{};
  double install_ns_{};
};

/// What a PE does with a launch. `draw`: of --jitter; 0: the run itself.
[[nodiscard]] std::function<void(abi::hal&, const abi::launch_block&)> firmware_of(host_side& hosts,
                                                                                   const prepared_run& run,
                                                                                   std::uint64_t draw,
                                                                                   pe_coord pe);

// How far a run of a pod is, between its launches and inside of one.

class distance {
 public:
  /// `ended`: whether a member has ended its part of the present launch.
  distance(const prepared_run& run, const host_side& hosts, double bound_ns,
           std::function<bool(pe_coord)> ended)
      : run_(run), hosts_(hosts), bound_ns_(bound_ns), ended_(std::move(ended)) {}

  /// Launches that have ended, and of the present one: ops that have ended where it has several; else its
  /// simulated time against that of the launch before, its estimate or the lower bound (the
  /// note says which), or its PEs that have ended if they are more. Never all before it has ended.
  [[nodiscard]] run_progress at(sim_time now);

 private:
  [[nodiscard]] double ended_pes() const;
  [[nodiscard]] run_progress by_time(sim_time elapsed);

  const prepared_run& run_;
  const host_side& hosts_;
  double bound_ns_;
  std::function<bool(pe_coord)> ended_;
  bool expectation_known_{};  ///< expected_ns_ has been computed, which takes a while
  std::optional<double> expected_ns_;
};

}  // namespace diecast::platforms
