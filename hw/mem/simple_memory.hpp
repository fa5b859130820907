// SPDX-License-Identifier: Apache-2.0
// A memory of fixed rate and latency: the SRAM block of a cube. Requests are served in the order they
// come; a response leaves a fixed latency after its last byte is served.
#pragma once

#include <cstdint>
#include <systemc>

#include "hw/mem/memory_target.hpp"
#include "models/config/machine_config.hpp"
#include "models/timing/servers.hpp"

namespace diecast::hw {

class simple_memory final : public memory_target {
 public:
  simple_memory(sc_core::sc_module_name name, const config::sram_block& sram, bool strict,
                fault_sink& faults);

 private:
  void start(request_id id, std::uint64_t offset, std::uint64_t bytes, bool write) override;

  timing::rate_server server_;
  sim_time latency_;
};

}  // namespace diecast::hw
