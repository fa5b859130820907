// SPDX-License-Identifier: Apache-2.0
// The model of an HBM port by its name in the config.
#pragma once

#include <cstdint>
#include <memory>
#include <systemc>
#include <vector>

#include "hw/mem/memory_target.hpp"
#include "models/config/machine_config.hpp"
#include "models/timing/servers.hpp"

namespace diecast::hw {

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

/// The HBM port that hbm.model asks for. Throws user_error with all problems of the block.
[[nodiscard]] std::unique_ptr<memory_target> make_hbm(const char* name, const config::hbm_block& hbm,
                                                      bool strict, fault_sink& faults);

}  // namespace diecast::hw
