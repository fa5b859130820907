// SPDX-License-Identifier: Apache-2.0
#include "platforms/observe/dram_taps.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "models/config/population.hpp"
#include "models/config/text.hpp"
#include "models/types/error.hpp"

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
    for (const fabric::terminal& t : topology.layout(sip, cube).terminals)
      if (t.kind == fabric::terminal_kind::hbm && topology.channels().has(sip, cube, t.index))
        paths.push_back(cube_path(shape, sip, cube) + '.' + t.name);
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

namespace {

void need_a_match(const char* flag, const std::string& glob, const instances& all, bool has_drivers) {
  const auto matches = [&glob](const std::string& name) { return config::matches(glob, name); };
  const auto link = [&](const std::string& name) {
    return matches(name) || (has_drivers && matches(name.substr(0, name.rfind('.'))));
  };
  if (std::ranges::any_of(all.pes, matches) || std::ranges::any_of(all.links, link) ||
      std::ranges::any_of(all.channels, matches))
    return;
  std::string example;
  for (const auto* list : {&all.pes, &all.links, &all.channels})
    if (example.empty() && !list->empty()) example = " such as " + list->front();
  throw user_error(
      problem{flag, "matches nothing of this run", glob, fmt::format("a name{}, with * and ?", example)});
}

}  // namespace

std::vector<std::string> link_names(const fabric::topology& topology) {
  std::vector<std::string> names;
  names.reserve(topology.links().size());
  for (const fabric::link& l : topology.links()) names.push_back(l.name);
  return names;
}

instances instances_of(const config::machine_config& config, const fabric::topology& topology) {
  instances all{{}, link_names(topology), dram_channel_paths(config, topology)};
  for (const pe_coord pe : config::population(config).pes()) all.pes.push_back(pe_path(config.shape(), pe));
  return all;
}

config::machine_config only_cube(config::machine_config c) {
  c.pod.sips = c.sip.columns = c.sip.rows = 1;
  c.cube.pes = 0;
  return c;
}

void check_scopes(const config::trace_block& scopes, const instances& all, bool vcd, bool timeline) {
  if (vcd) need_a_match("--vcd-scope", scopes.vcd_scope, all, true);
  if (timeline) need_a_match("--timeline-scope", scopes.timeline_scope, all, false);
}

}  // namespace diecast::observe
