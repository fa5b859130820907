// SPDX-License-Identifier: Apache-2.0
// One HBM channel with bank timing: a base-protocol target that cuts requests into bursts and gives
// them to the command scheduler of models/timing.
//
// The scheduler gets a request at the first tick after its arrival. Reads are answered when their last data
// has crossed the bus, writes (posted: the controller holds their data) at their last write command; both
// controller_ns (controller and PHY, in both directions) later. A request is accepted when the queue of its
// kind has room; one of several bursts enters burst by burst, and the next waits until all have entered.
//
// The scheduler is not simulated command by command: it is advanced when its decisions can have an effect
// outside (an answer may be due, or a request waits for room).
#pragma once

#include <cstdint>
#include <memory>
#include <systemc>
#include <vector>

#include "hw/mem/memory_target.hpp"
#include "models/config/machine_config.hpp"
#include "models/timing/dram.hpp"
#include "models/timing/fr_fcfs.hpp"
#include "models/timing/servers.hpp"

namespace diecast::hw {

class hbm_controller final : public memory_target {
 public:
  /// Throws user_error with all problems of the block.
  hbm_controller(sc_core::sc_module_name name, const config::hbm_block& hbm, bool strict, fault_sink& faults);

  [[nodiscard]] hbm_controller* controller() override { return this; }
  /// Sets an observer of the channel's commands. It gets them in order of time, but later than they are
  /// issued.
  void observe(timing::dram_command_observer* o) { scheduler().observe(o); }
  [[nodiscard]] const timing::dram_parameters& parameters() const { return parameters_; }
  [[nodiscard]] const timing::dram_address_map& address_map() const { return map_; }
  [[nodiscard]] const timing::dram_counters& commands() const {
    return scheduler_ ? scheduler_->counters() : refreshes_;
  }
  /// Use of the data buses' time by cause, from time zero to now.
  [[nodiscard]] timing::lost_time_report lost_time();
  [[nodiscard]] std::uint64_t activates() const { return commands().activates; }
  /// Bursts that needed no row command, those answered from the write queue included.
  [[nodiscard]] std::uint64_t row_hits() const { return bursts() - commands().misses; }
  [[nodiscard]] std::uint64_t bursts() const {
    return commands().reads + commands().writes + commands().forwarded;
  }

 private:
  struct open_request {
    std::uint64_t bursts_left{};
    timing::dram_tick done{};
  };
  void start(request_id id, std::uint64_t offset, std::uint64_t bytes, bool write) override;
  [[nodiscard]] bool has_room(bool write) override;
  void on_held(bool write) override;
  void advance() override;
  /// Created by the first use, because its records of all banks are most of the block's memory.
  timing::dram_scheduler& scheduler() {
    if (!scheduler_) scheduler_ = std::make_unique<timing::dram_scheduler>(parameters_);
    return *scheduler_;
  }
  void collect();
  void arm();
  [[nodiscard]] timing::dram_tick present() const { return now().fs / parameters_.tick.fs; }

  timing::dram_parameters parameters_;
  timing::dram_address_map map_;
  sim_time controller_;
  std::unique_ptr<timing::dram_scheduler> scheduler_;  ///< null until it is used
  timing::dram_counters refreshes_;  ///< computed by lost_time() while the scheduler is unused
  std::vector<open_request> open_;   ///< by request id
  std::vector<timing::served_burst> served_;
  sim_time armed_{sim_time::never()};  ///< time of the next wake-up; others are ignored
  timing::dram_tick ahead_{};          ///< the scheduler has run up to here for a request that is held
};

// The model of an HBM port by its name in the config.

/// One HBM port without banks: pseudo-channels that serve bytes at a fixed rate, first come first
/// served; pseudo-channel = (offset / burst_bytes) mod pseudo_channels. The controller of the seed
/// machine (hbm.model: simple).
class hbm_simple final : public memory_target {
 public:
  /// Throws user_error when `hbm` is invalid.
  hbm_simple(sc_core::sc_module_name name, const config::hbm_block& hbm, bool strict, fault_sink& faults);

 private:
  void start(request_id id, std::uint64_t offset, std::uint64_t bytes, bool write) override;

  std::uint64_t burst_bytes_;
  sim_time latency_;
  std::vector<timing::rate_server> channels_;
};

/// The HBM port of the model hbm.model. Throws user_error with all problems of the block.
[[nodiscard]] std::unique_ptr<memory_target> make_hbm(const char* name, const config::hbm_block& hbm,
                                                      bool strict, fault_sink& faults);

}  // namespace diecast::hw
