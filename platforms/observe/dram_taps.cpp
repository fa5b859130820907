// SPDX-License-Identifier: Apache-2.0
#include "platforms/observe/dram_taps.hpp"

#include "hw/hbm/hbm_controller.hpp"

namespace diecast::observe {

class dram_taps::tap final : public timing::dram_command_observer {
 public:
  tap(hw::hbm_controller& controller, const std::vector<dram_listener*>& listeners)
      : controller_(controller),
        listeners_(listeners),
        channel_{controller.name(), &controller.parameters()} {
    controller_.observe(this);
  }
  void on_command(const timing::dram_event& e) override {
    for (dram_listener* const l : listeners_) l->on_dram(channel_, e);
  }
  void catch_up() { (void)controller_.lost_time(); }

 private:
  hw::hbm_controller& controller_;
  const std::vector<dram_listener*>& listeners_;
  dram_channel channel_;
};

dram_taps::dram_taps(netlist::pod& pod, std::vector<dram_listener*> listeners)
    : listeners_(std::move(listeners)) {
  if (listeners_.empty()) return;
  pod.visit_cubes([this](const netlist::cube& cube) {
    for (const auto& m : cube.memories()) {
      if (m == nullptr) continue;
      auto* const controller = dynamic_cast<hw::hbm_controller*>(m->block.module.get());
      if (controller != nullptr) taps_.emplace_back(*controller, listeners_);
    }
  });
}

dram_taps::~dram_taps() = default;

void dram_taps::catch_up() {
  for (tap& t : taps_) t.catch_up();
}

const char* to_string(timing::dram_command c) {
  switch (c) {
    case timing::dram_command::activate: return "ACT";
    case timing::dram_command::precharge: return "PRE";
    case timing::dram_command::precharge_all: return "PREA";
    case timing::dram_command::read: return "RD";
    case timing::dram_command::write: return "WR";
    case timing::dram_command::read_precharge: return "RDA";
    case timing::dram_command::write_precharge: return "WRA";
    case timing::dram_command::refresh_all: return "REFA";
    case timing::dram_command::refresh_bank: return "REFB";
  }
  return "?";
}

}  // namespace diecast::observe
