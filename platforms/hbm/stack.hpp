// SPDX-License-Identifier: Apache-2.0
// An HBM stack with a traffic generator at each channel: wiring and nothing else.
#pragma once

#include <memory>
#include <systemc>
#include <vector>

#include "hw/traffic/memory_traffic.hpp"
#include "platforms/hbm/study.hpp"

namespace diecast::hbm {

class stack : public sc_core::sc_module {
 public:
  stack(sc_core::sc_module_name name, const study_point& point, const config::machine_config& config,
        const netlist::memory_factory& make_memory, hw::fault_sink& faults);

  struct channel {
    std::unique_ptr<traffic::request_source> source;
    std::vector<traffic::memory_request> recorded;
    netlist::memory_block memory;
    std::unique_ptr<hw::memory_traffic> initiator;
  };
  [[nodiscard]] const std::vector<std::unique_ptr<channel>>& channels() const { return channels_; }
  [[nodiscard]] bool finished() const;

 private:
  std::vector<std::unique_ptr<channel>> channels_;
};

}  // namespace diecast::hbm
