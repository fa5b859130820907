// SPDX-License-Identifier: Apache-2.0
// One HBM port with bank timing: a base-protocol target that cuts requests into bursts, spreads them
// over pseudo-channels by the address map and schedules each pseudo-channel first-ready,
// first-come-first-served with open pages. Woken by arrivals and by command clocks at which a command
// can be given, never by a clock as such.
//
// A request is seen by its scheduler at the first command clock after its arrival. Reads answer when
// their last data has crossed the bus, writes when their data has been taken, both controller_ns
// (controller and PHY, both ways) later. A request leaves the queue with its last column command.
#pragma once

#include <cstdint>
#include <systemc>
#include <vector>

#include "hw/mem/memory_target.hpp"
#include "models/config/machine_config.hpp"
#include "models/timing/dram.hpp"
#include "models/timing/fr_fcfs.hpp"

namespace diecast::hw {

class hbm_controller final : public memory_target {
 public:
  /// Throws user_error with all problems of the block.
  hbm_controller(sc_core::sc_module_name name, const config::hbm_block& hbm, bool strict, fault_sink& faults);

  /// Sees the commands of one pseudo-channel.
  void observe(std::uint32_t pseudo_channel, timing::dram_command_observer* o) {
    channels_[pseudo_channel].scheduler.observe(o);
  }
  [[nodiscard]] const timing::dram_parameters& parameters() const { return parameters_; }
  [[nodiscard]] const timing::dram_address_map& address_map() const { return map_; }
  [[nodiscard]] std::uint64_t activates() const;
  [[nodiscard]] std::uint64_t row_hits() const;
  [[nodiscard]] std::uint64_t bursts() const;

 private:
  SC_HAS_PROCESS(hbm_controller);
  struct channel {
    timing::fr_fcfs scheduler;
    timing::dram_clock armed{timing::never_clock};  ///< clock of the wake-up that counts
  };
  struct open_request {
    std::uint64_t bursts_left{};
    timing::dram_clock data_end{};
  };
  void start(request_id id, std::uint64_t offset, std::uint64_t bytes, bool write) override;
  void schedule();
  void arm(std::uint32_t pseudo_channel, timing::dram_clock at);
  void collect();

  timing::dram_parameters parameters_;
  timing::dram_address_map map_;
  sim_time controller_;
  std::vector<channel> channels_;
  std::vector<open_request> open_;            ///< by request id
  std::vector<timing::served_burst> served_;  ///< of the present instant
  calendar clocks_{"clocks"};                 ///< key: pseudo-channel
};

}  // namespace diecast::hw
