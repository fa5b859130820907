// SPDX-License-Identifier: Apache-2.0
// The run of a workload: one launch of all PEs that take part; each runs its streams.
#pragma once

#include <functional>
#include <map>
#include <optional>

#include "platforms/run/host_side.hpp"
#include "platforms/run/prepare.hpp"
#include "sw/workload/log.hpp"

namespace diecast::platforms {

class workload_session final : public host_side, private sw::op_observer {
 public:
  /// `only`: the stream to run, as if the file had no other. `on_start` is called before the launch.
  /// `sips`: of this process, whose hosts these are.
  workload_session(const prepared_run& run, std::optional<std::uint32_t> only, std::uint64_t sips,
                   start_agreement& agreement, std::function<void()> on_start);

  void host_program(abi::host_hal& host) override;
  void firmware(abi::hal& hal, const abi::launch_block& block, const sw::runtime_options& options) override;

  void join(process_group& group) override;
  [[nodiscard]] bool finished() const override { return hosts_done_ == sips_; }
  void report(run_outcome& outcome) const override;
  [[nodiscard]] const events::run_fingerprint& data_fingerprint() const override {
    return log_.fingerprint();
  }
  [[nodiscard]] std::vector<std::pair<std::string, std::uint64_t>> more_statistics() const override;
  [[nodiscard]] double install_ns() const override { return install_ns_; }
  [[nodiscard]] std::optional<sim_time> launched() const override { return agreement_.latest(); }
  [[nodiscard]] std::optional<double> ops_done() const override;
  [[nodiscard]] std::uint64_t rounds_done() const override { return finished() ? 1 : 0; }
  void hear_ops(const std::function<void(const op_on_pe&)>& hear) override { hear_op_ = hear; }

 private:
  void started(const sw::pe_step& step, std::uint64_t iteration, sim_time at) override;
  void ended(const sw::pe_step& step, std::uint64_t iteration, sim_time at) override;
  void tell(const sw::pe_step& step, std::uint64_t iteration, sim_time at, bool ended) const;
  void messages(const sw::message_counts& counts) override { log_.messages(counts); }
  [[nodiscard]] std::vector<abi::pe_launch> launches_of(sip_id sip, sim_time start) const;
  void report_ops(run_outcome& o) const;
  void report_streams(run_outcome& o) const;

  const prepared_run& run_;
  std::optional<std::uint32_t> only_;
  std::uint64_t sips_;
  std::function<void()> on_start_;
  std::map<sip_id, abi::host_hal*> hosts_;
  sw::workload_log log_;
  std::function<void(const op_on_pe&)> hear_op_;
  start_agreement& agreement_;
  sim_time ready_, began_;  ///< before the launch, when its firmware began
  double install_ns_{};
  double launch_ns_{};
  sim_time last_end_;  ///< from the common start
  std::uint64_t hosts_done_{};
};

}  // namespace diecast::platforms
