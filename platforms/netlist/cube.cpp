// SPDX-License-Identifier: Apache-2.0
#include "platforms/netlist/cube.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "hw/hbm/hbm_controller.hpp"
#include "models/config/overrides.hpp"
#include "models/config/population.hpp"
#include "models/config/text.hpp"
#include "models/fabric/fault_places.hpp"
#include "models/random/stream.hpp"
#include "models/timing/link.hpp"
#include "models/types/error.hpp"

namespace diecast::netlist {

build_order::build_order(const std::string& text) {
  constexpr std::string_view prefix = "shuffle:";
  if (text == "forward") return;
  if (text == "reverse") {
    kind_ = kind::reverse;
    return;
  }
  const auto seed = text.starts_with(prefix)
                        ? config::parse_count(std::string_view(text).substr(prefix.size()))
                        : std::nullopt;
  if (!seed)
    throw user_error(problem{"sim.build_order", "no such order", text, "forward, reverse or shuffle:N"});
  kind_ = kind::shuffle;
  seed_ = *seed;
}

void build_order::run(const std::string& where, const std::vector<std::function<void()>>& steps) const {
  std::vector<std::size_t> order(steps.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (kind_ == kind::reverse) std::ranges::reverse(order);
  if (kind_ == kind::shuffle) {
    const random::stream draws(seed_, where, "build_order");
    std::vector<std::pair<std::uint64_t, std::size_t>> keyed;
    for (const std::size_t i : order) keyed.emplace_back(draws.at(i), i);
    std::ranges::sort(keyed);
    for (std::size_t i = 0; i < keyed.size(); ++i) order[i] = keyed[i].second;
  }
  for (const std::size_t i : order) steps[i]();
}

using fabric::terminal_kind;

memory_block make_hbm(const char* name, const config::machine_config& config, hw::fault_sink& faults) {
  return memory_block_of(hw::make_hbm(name, config.hbm, config.sim.strict_memory, faults));
}

cube::cube(sc_core::sc_module_name name, const build_context& context, sip_id sip, cube_id id,
           hw::packet_pool& pool)
    : sc_module(name), sip_(sip), id_(id), pool_(pool) {
  const auto& layout = context.topology.layout(sip_, id_);
  const auto count = static_cast<fabric::terminal_index>(layout.terminals.size());
  coords_ = context.topology.population().pes_of(sip_, id_);
  pes_.resize(coords_.size());
  own_pe_configs_.resize(coords_.size());
  memories_.resize(count);
  absent_.resize(count);
  std::vector<std::function<void()>> modules{[&] {
    noc_ = std::make_unique<hw::cube_noc>("noc", context.topology, context.config, sip_, id_, context.events,
                                          context.faults);
  }};
  for (unsigned s = 0; s < fabric::sides; ++s) {
    const auto edge = static_cast<fabric::side>(s);
    if (!context.topology.neighbor(id_, edge)) continue;
    modules.emplace_back([&, s, edge] {
      const std::string label = std::string("ucie_") + fabric::to_string(edge);
      edges_[s] = std::make_unique<hw::ucie_adapter>(label.c_str(), context.topology, context.config, sip_,
                                                     id_, edge, context.events, context.faults);
    });
  }
  for (fabric::terminal_index t = 0; t < count; ++t)
    modules.emplace_back([&, t] { make_block(context, t, pool); });
  context.order.run(this->name(), modules);

  std::vector<std::function<void()>> bindings;
  for (fabric::terminal_index t = 0; t < count; ++t)
    bindings.emplace_back([&, t] { bind_block(context, t); });
  context.order.run(std::string(this->name()) + ".bindings", bindings);
}

bool cube::is_absent(const build_context& context, const fabric::terminal& terminal) const {
  if (terminal.kind == terminal_kind::pe)
    return !context.topology.population().has({sip_, id_, pe_id{terminal.index}});
  return terminal.kind == terminal_kind::hbm && !context.topology.channels().has(sip_, id_, terminal.index);
}

std::size_t cube::place_of(pe_id id) const {
  const auto at = std::ranges::find(coords_, pe_coord{sip_, id_, id});
  if (at == coords_.end()) throw std::out_of_range(fmt::format("{} has no pe{}", name(), id.value));
  return static_cast<std::size_t>(at - coords_.begin());
}

void cube::make_pe(const build_context& context, const fabric::terminal& terminal, hw::packet_pool& pool) {
  const pe_coord self{sip_, id_, pe_id{terminal.index}};
  const std::size_t place = place_of(self.pe);
  if (const auto own = config::pe_block_of(context.config, self)) {
    auto changed = std::make_unique<config::machine_config>(context.config);
    changed->pe = *own;
    own_pe_configs_[place] = std::move(changed);
  }
  const config::machine_config& config = own_pe_configs_[place] ? *own_pe_configs_[place] : context.config;
  pes_[place] = std::make_unique<hw::processing_element>(
      terminal.name.c_str(), hw::pe_setup{config, context.events, context.faults, self}, context.topology,
      pool, context.firmware_of(self), context.move_data);
}

void cube::make_block(const build_context& context, fabric::terminal_index t, hw::packet_pool& pool) {
  const auto& terminal = context.topology.layout(sip_, id_).terminals[t];
  if (is_absent(context, terminal)) {
    absent_[t] = std::make_unique<hw::missing_block>((terminal.name + "_absent").c_str());
    return;
  }
  switch (terminal.kind) {
    case terminal_kind::pe: return make_pe(context, terminal, pool);
    case terminal_kind::hbm:
    case terminal_kind::sram: return make_memory(context, terminal, t, pool);
    case terminal_kind::control_cpu:
      control_ = std::make_unique<hw::control_cpu>(
          terminal.name.c_str(), context.topology, context.config,
          abi::node_address{static_cast<std::uint16_t>(sip_.value), static_cast<std::uint16_t>(id_.value), t},
          pool, context.faults);
      return;
    case terminal_kind::ucie_port:  // one adapter per side serves all its ports
    case terminal_kind::io_cpu:     // the SIP builds these
    case terminal_kind::sip_port:
    case terminal_kind::traffic: return;  // network studies build no cube
  }
}

void cube::make_memory(const build_context& context, const fabric::terminal& terminal,
                       fabric::terminal_index t, hw::packet_pool& pool) {
  auto m = std::make_unique<memory>();
  m->unit = terminal.index;
  if (terminal.kind == terminal_kind::hbm) {
    m->kind = abi::region::hbm;
    m->block = context.make_hbm(terminal.name.c_str(), context.config, context.faults);
  } else {
    m->kind = abi::region::sram;
    m->block = memory_block_of(std::make_unique<hw::simple_memory>(
        terminal.name.c_str(), context.config.sram, context.config.sim.strict_memory, context.faults));
  }
  hw::memory_ni_setup setup;
  setup.kind = m->kind;
  setup.unit = terminal.index;
  setup.move_data = context.move_data;
  if (m->kind == abi::region::hbm) setup.outstanding = config::hbm_window(context.config.hbm);
  m->ni = std::make_unique<hw::memory_ni>(
      (terminal.name + "_ni").c_str(), context.topology, context.config,
      abi::node_address{static_cast<std::uint16_t>(sip_.value), static_cast<std::uint16_t>(id_.value), t},
      setup, pool, context.faults);
  m->ni->memory.bind(*m->block.socket);
  memories_[t] = std::move(m);
}

void cube::bind_pe(const build_context& context, pe_id pe, fabric::terminal_index t) {
  hw::terminal_port& port = this->pe(pe).terminal();
  const pe_coord self{sip_, id_, pe};
  const fabric::fault_list faults = fabric::faults_into_pe(context.config, self);
  if (faults.empty()) return bind_port(port.noc_socket(), t);
  const std::string path = pe_path(context.config.shape(), self);
  const sim_time cycle = timing::noc_clock(context.config).period;
  faults_.push_back(std::make_unique<hw::fault_interposer>(fmt::format("pe{}_faults", pe.value).c_str(),
                                                           hw::fault_place{faults, path, path, cycle, cycle},
                                                           pool_));
  bind_port(faults_.back()->in.socket, t);
  faults_.back()->out.socket.bind(port.noc_socket());
}

void cube::bind_block(const build_context& context, fabric::terminal_index t) {
  const auto& terminal = context.topology.layout(sip_, id_).terminals[t];
  if (absent_[t]) return bind_port(absent_[t]->noc_socket(), t);
  switch (terminal.kind) {
    case terminal_kind::pe: return bind_pe(context, pe_id{terminal.index}, t);
    case terminal_kind::hbm:
    case terminal_kind::sram: return bind_port(memories_[t]->ni->terminal().noc_socket(), t);
    case terminal_kind::control_cpu: return bind_port(control_->terminal().noc_socket(), t);
    case terminal_kind::ucie_port: return bind_port(edge(terminal.edge)->noc_socket(terminal.index), t);
    case terminal_kind::io_cpu:
    case terminal_kind::sip_port:
    case terminal_kind::traffic: return;
  }
}

void cube::attach_debug(hw::debug_bus& bus) {
  for (std::uint32_t i = 0; i < pes_.size(); ++i)
    for (const auto kind : {abi::region::tcm, abi::region::pe_registers, abi::region::launch_mailbox})
      bus.attach(id_, kind, coords_[i].pe.value, *pes_[i]);
  for (const auto& m : memories_)
    if (m) bus.attach(id_, m->kind, m->unit, *m->ni);
}

}  // namespace diecast::netlist
