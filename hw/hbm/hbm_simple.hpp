// SPDX-License-Identifier: Apache-2.0
// One HBM port without banks: pseudo-channels that serve bytes at a fixed rate, first come first
// served; pseudo-channel = (offset / burst_bytes) mod pseudo_channels. The controller of the seed
// machine (hbm.model: simple).
#pragma once

#include <cstdint>
#include <systemc>
#include <vector>

#include "hw/mem/memory_target.hpp"
#include "models/config/machine_config.hpp"
#include "models/timing/servers.hpp"

namespace diecast::hw {

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

}  // namespace diecast::hw
