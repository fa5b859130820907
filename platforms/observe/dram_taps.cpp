// SPDX-License-Identifier: Apache-2.0
#include "platforms/observe/dram_taps.hpp"

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

dram_taps::dram_taps(const std::vector<hw::hbm_controller*>& controllers,
                     std::vector<dram_listener*> listeners)
    : listeners_(std::move(listeners)) {
  if (listeners_.empty()) return;
  for (hw::hbm_controller* const c : controllers) taps_.emplace_back(*c, listeners_);
}

std::vector<hw::hbm_controller*> dram_controllers(netlist::pod& pod) {
  std::vector<hw::hbm_controller*> found;
  pod.visit_cubes([&found](const netlist::cube& cube) {
    for (const auto& m : cube.memories()) {
      hw::hbm_controller* const c = m ? m->block.controller() : nullptr;
      if (c != nullptr) found.push_back(c);
    }
  });
  return found;
}

std::vector<std::string> dram_channel_paths(const config::machine_config& config,
                                            const fabric::topology& topology) {
  std::vector<std::string> paths;
  if (config.hbm.model != config::hbm_model::bank) return paths;
  const machine_shape shape = config.shape();
  for (std::uint32_t number = 0; number < shape.cubes(); ++number) {
    const sip_id sip{number / shape.cubes_per_sip()};
    const cube_id cube{number % shape.cubes_per_sip()};
    for (const fabric::terminal& t : topology.layout(sip, cube).terminals) {
      if (t.kind == fabric::terminal_kind::hbm && topology.channels().has(sip, cube, t.index))
        paths.push_back(cube_path(shape, sip, cube) + '.' + t.name);
    }
  }
  return paths;
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
