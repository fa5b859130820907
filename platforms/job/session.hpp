// SPDX-License-Identifier: Apache-2.0
// State that the hosts of all SIPs share during one run: the common start of each launch, the data, the
// times and the verdict. Hosts are threads of the simulation; only one runs at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "models/abi/hal.hpp"
#include "models/events/events.hpp"
#include "models/golden/collective_check.hpp"
#include "platforms/job/kernel_run.hpp"
#include "platforms/job/stream_run.hpp"
#include "platforms/run/host_side.hpp"
#include "sw/host/collective.hpp"
#include "sw/workload/log.hpp"

namespace diecast::platforms {

class session final : public host_side {
 public:
  /// `on_round` is called before each launch, once all SIPs are ready.
  session(const kernel_run& run, std::uint64_t sips, start_agreement& agreement,
          std::function<void()> on_round);

  /// Called with every rank's output after each launch, when there is data.
  void hear_results(
      const std::function<void(std::uint32_t rank, std::span<const std::byte>)>& hear) override {
    on_result_ = hear;
  }

  void host_program(abi::host_hal& host) override;
  void firmware(abi::hal& hal, const abi::launch_block& block, const sw::runtime_options& options) override {
    sw::run_kernel(run_.launch()->kernel, hal, block.arguments, options);
  }

  void join(process_group& group) override;
  void report(run_outcome& outcome) const override;
  [[nodiscard]] const events::run_fingerprint& data_fingerprint() const override { return data_fingerprint_; }
  [[nodiscard]] std::optional<sim_time> launch_before() const override { return launch_before_; }
  [[nodiscard]] std::uint64_t rounds_done() const override { return rounds_done_; }

 private:
  /// Blocks until every host has called this function; returns the common start of all PEs of the launch.
  sim_time agree_on_start(abi::host_hal& host);
  void write_inputs(abi::host_hal& host);
  void launch(abi::host_hal& host, std::uint32_t launch_id, sim_time start);
  void collect_times(abi::host_hal& host, sim_time start);
  void verify(abi::host_hal& host);
  /// The first wrong element of a rank, which has one.
  [[nodiscard]] std::string describe_wrong(std::uint32_t rank, std::span<const std::byte> got) const;
  void widen_range(std::span<const std::byte> got);
  [[nodiscard]] std::vector<std::uint32_t> members_of(sip_id s) const;
  [[nodiscard]] sw::member_launch launch_of(std::uint32_t rank) const {
    return {run_.launch()->kernel, run_.launch()->arguments, rank, arguments_[rank]};
  }

  const kernel_run& run_;
  std::function<void()> on_round_;
  std::function<void(std::uint32_t, std::span<const std::byte>)> on_result_;
  std::vector<abi::kernel_arguments> arguments_;   ///< by rank
  std::optional<golden::collective_check> check_;  ///< empty: timing only
  std::optional<std::vector<std::byte>> first_output_;

  sim_time round_end_;
  std::uint64_t ended_in_round_{};
  std::uint64_t rounds_done_{};
  std::optional<sim_time> launch_before_;
  std::vector<sim_time> times_;  ///< durations of all launches
  std::vector<double> launch_ns_;
  std::uint64_t wrong_{}, elements_{};
  /// Its time of detection, rank, element, value and expectation; empty when none is wrong.
  std::pair<sim_time, std::uint32_t> first_wrong_at_;
  std::string first_wrong_;
  bool equal_{true};
  std::vector<double> values_;  ///< one rank's output; a member to reuse its allocation
  std::optional<double> output_min_, output_max_;
  events::run_fingerprint data_fingerprint_;
};

// The run of a workload: one launch of all PEs that take part; each runs its streams.

class workload_session final : public host_side, private sw::op_observer {
 public:
  /// `only`: the stream to run, as if the file had no other. `on_start` is called before the launch.
  workload_session(const stream_run& run, std::optional<std::uint32_t> only, std::uint64_t sips,
                   start_agreement& agreement, std::function<void()> on_start);

  void host_program(abi::host_hal& host) override;
  void firmware(abi::hal& hal, const abi::launch_block& block, const sw::runtime_options& options) override;

  void join(process_group& group) override;
  void report(run_outcome& outcome) const override;
  [[nodiscard]] const events::run_fingerprint& data_fingerprint() const override {
    return log_.fingerprint();
  }
  [[nodiscard]] std::vector<std::pair<std::string, std::uint64_t>> more_statistics() const override;
  [[nodiscard]] std::optional<double> ops_done() const override;
  [[nodiscard]] std::uint64_t rounds_done() const override { return finished() ? 1 : 0; }
  void hear_ops(const std::function<void(const op_on_pe&)>& hear) override { hear_op_ = hear; }

 private:
  void started(const sw::pe_step& step, std::uint64_t iteration, sim_time at) override;
  void ended(const sw::pe_step& step, std::uint64_t iteration, sim_time at) override;
  void report(const sw::pe_step& step, std::uint64_t iteration, sim_time at, bool ended) const;
  void messages(const sw::message_counts& counts) override { log_.messages(counts); }
  [[nodiscard]] std::vector<abi::pe_launch> launches_of(sip_id sip, sim_time start) const;
  void report_ops(run_outcome& o) const;
  void report_streams(run_outcome& o) const;

  const stream_run& run_;
  std::optional<std::uint32_t> only_;
  std::function<void()> on_start_;
  std::map<sip_id, abi::host_hal*> hosts_;
  sw::workload_log log_;
  std::function<void(const op_on_pe&)> hear_op_;
  sim_time ready_, began_;  ///< before the launch: time at which its firmware began
  double launch_ns_{};
  sim_time last_end_;  ///< time from the common start
};

}  // namespace diecast::platforms
