// SPDX-License-Identifier: Apache-2.0
// Construction of a cube's NoC: switches, network interfaces and sockets from the topology and the
// configuration.
#include <algorithm>
#include <fmt/format.h>

#include "hw/noc/cube_noc.hpp"
#include "models/fabric/topology.hpp"
#include "models/traffic/transactions.hpp"
#include "models/types/error.hpp"

namespace diecast::hw {
namespace {

bool overlaps(const timing::noc_timing& t) { return t.front_cycles() == 0; }

/// Timing of this die: overrides may slow its hop. Its buffers keep the sizes that the machine's hop needs.
timing::noc_timing timing_of_die(const fabric::topology& t, const config::machine_config& c, sip_id sip,
                                 cube_id cube) {
  timing::noc_timing timing = timing::noc_timing_of(c);
  timing.hop_cycles = t.hop_cycles(sip, cube, c.noc.hop_cycles);
  return timing;
}

/// noc.interleave, with auto resolved.
bool interleaves_vcs(const config::machine_config& c) {
  if (c.noc.interleave != config::noc_interleave::automatic)
    return c.noc.interleave == config::noc_interleave::vcs;
  return c.noc.flow == config::noc_flow::wormhole && c.noc.arbiter == config::arbitration::round_robin;
}

std::uint32_t narrow(std::uint64_t cycles) { return static_cast<std::uint32_t>(cycles); }

}  // namespace

cube_noc::cube_noc(sc_core::sc_module_name name, const fabric::topology& topology,
                   const config::machine_config& config, sip_id sip, cube_id cube, const events::hub& hub,
                   fault_sink& faults)
    : sc_module(name),
      topology_(topology),
      layout_(topology.layout(sip, cube)),
      routes_(topology, sip, cube),
      hub_(hub),
      faults_(faults),
      sip_(sip),
      cube_(cube),
      timing_(timing_of_die(topology, config, sip, cube)),
      credit_cycles_(config.noc.credit_cycles),
      vcs_(topology.vcs()),
      wires_(config.noc.sideband == config::sideband_kind::wires),
      wormhole_(config.noc.flow == config::noc_flow::wormhole),
      study_(!layout_.terminals.empty() && layout_.terminals[0].kind == fabric::terminal_kind::traffic),
      transactions_(study_ && topology.classes() > 1),
      one_leg_(topology.legs() == 1 && !topology.has_trees()),
      // A pipelined router grants at the end of its pipeline, another one directly after allocation.
      head_delay_(narrow(overlaps(timing_) ? timing_.pipeline_cycles() : timing_.front_cycles())),
      latency_(narrow(timing_.hop_cycles) - head_delay_),
      exit_cycles_(timing_.pipeline_cycles() - head_delay_ + timing_.ni_out_cycles),
      straight_(!routes_.wraps() && !topology.has_trees()),
      trees_(topology.has_trees() ? std::make_unique<tree_units>(topology, config, sip, cube,
                                                                 std::string(this->name()) + ".trees")
                                  : nullptr),
      core_(build(config), *this) {
  build_sockets();
}

void cube_noc::check(const config::machine_config& config) const {
  std::vector<problem> problems;
  const auto positive = [&](const char* key, std::uint64_t cycles) {
    if (cycles == 0) problems.push_back({key, "a link crossing takes at least one cycle", "0", "1 or more"});
  };
  positive("noc.link_cycles", config.noc.link_cycles);
  positive("noc.credit_cycles", config.noc.credit_cycles);
  positive("noc.ni_in_cycles", config.noc.ni_in_cycles);
  positive("noc.ni_out_cycles", config.noc.ni_out_cycles);
  if (config.noc.hop_cycles <= config.noc.link_cycles) {
    problems.push_back({"noc.hop_cycles", "is too short for a router and its link",
                        std::to_string(config.noc.hop_cycles), "more than noc.link_cycles"});
  }
  const bool wormhole = config.noc.flow == config::noc_flow::wormhole;
  const std::uint32_t least = wormhole ? 1 : fabric::max_packet_flits(config);
  if (fabric::vc_buffer_flits(config) < least) {
    problems.push_back(
        {"noc.vc_buffer_flits",
         wormhole ? "a VC needs a buffer" : "virtual cut-through needs room for a whole packet",
         std::to_string(fabric::vc_buffer_flits(config)), fmt::format("{} flits or more", least)});
  }
  if (fabric::sideband_buffer_flits(config) == 0) {
    problems.push_back({"noc.sideband_buffer_flits", "a VC needs a buffer", "0", "1 flit or more"});
  }
  if (vcs_ > switch_core::max_vcs) {
    problems.push_back({"noc", "too many virtual channels", std::to_string(vcs_),
                        fmt::format("at most {}", switch_core::max_vcs)});
  }
  if (!problems.empty()) throw user_error(std::move(problems));
}

switch_core::parameters cube_noc::build(const config::machine_config& config) {
  check(config);
  switch_core::parameters p;
  p.vcs = vcs_;
  p.classes = study_ ? 1 : abi::traffic_classes;
  p.wormhole = wormhole_;
  p.interleave_vcs = interleaves_vcs(config);
  p.port_per_vc = topology_.grid().is_oneway();  // one flit per cycle and axis
  p.vc_round_robin = config.noc.vc_round_robin;
  p.overlap = overlaps(timing_);
  p.longest_packet = fabric::max_packet_flits(config);
  p.weights = {narrow(config.noc.request_weight), narrow(config.noc.response_weight),
               narrow(config.noc.comm_weight), narrow(config.noc.message_weight),
               narrow(config.noc.sideband_weight)};
  if (config.noc.arbiter == config::arbitration::round_robin) p.weights.fill(1);
  for (std::uint8_t vc = 0; vc < vcs_; ++vc) {
    const abi::traffic_class c = topology_.class_of(vc);
    const bool sideband = c == abi::traffic_class::sideband;
    p.class_of_vc[vc] = study_ ? 0 : static_cast<std::uint8_t>(c);
    capacity_[vc] = sideband ? fabric::sideband_buffer_flits(config) : fabric::vc_buffer_flits(config);
    inject_capacity_[vc] = sideband ? capacity_[vc] : fabric::injection_buffer_flits(config);
    if (study_ && wormhole_) inject_capacity_[vc] = UINT32_MAX;
    interface_capacity_[vc] =
        sideband ? fabric::receive_sideband_flits(config) : fabric::receive_buffer_flits(config);
    if (study_ && wormhole_) interface_capacity_[vc] = capacity_[vc];
    entry_hops_[vc] = entry_hop(vc);
  }
  note_places();
  const std::vector<std::uint32_t> queues = traffic::request_queues(config.noc);
  entry_ports_.resize(layout_.terminals.size());
  injected_.resize(layout_.terminals.size());
  for (std::uint16_t r = 0; r < layout_.routers(); ++r) {
    for (unsigned s = 0; s < fabric::sides; ++s) {
      const auto side = static_cast<fabric::side>(s);
      if (!topology_.has_side(r, side)) continue;
      port_table_[r * fabric::sides + s] = add_port(p, config, r);
      outputs_.back().link = topology_.mesh_link(sip_, cube_, r, side);
    }
    for (std::uint16_t t = 0; t < layout_.terminals.size(); ++t) {
      if (layout_.terminals[t].router != r) continue;
      port_table_[terminals_begin_ + t] = entry_ports_[t] = add_port(p, config, r);
      outputs_.back() = {topology_.eject_link(sip_, cube_, t), nullptr, false, study_ && wormhole_};
      entry_terminal_.back() = t;
      for (unsigned vc = 0; vc < vcs_; ++vc) {
        p.ports.back().credits[vc] =
            is_request(static_cast<std::uint8_t>(vc)) ? queues[t] : interface_capacity_[vc];
        if (!wormhole_) p.ports.back().buffer[vc] = may_enter(t, vc) ? inject_capacity_[vc] : 0;
      }
    }
    if (!trees_) continue;
    for (std::uint16_t s = 0; s < fabric::sides; ++s) {
      if (side_port(r, s) != none) add_unit_port(p, config, r, {false, s});
    }
    for (std::uint16_t t = 0; t < layout_.terminals.size(); ++t) {
      if (layout_.terminals[t].router == r) add_unit_port(p, config, r, {true, t});
    }
  }
  join_routers(p);
  if (wormhole_) {
    for (std::uint16_t t = 0; t < layout_.terminals.size(); ++t) add_interface(p, config, t);
  }
  by_wire_.resize(outputs_.size());
  return p;
}

/// Packets of VC `vc` can come in at this terminal: over a link in every VC, from a block on leg 0 or in a
/// tree.
bool cube_noc::may_enter(std::uint16_t terminal, unsigned vc) const {
  const auto number = static_cast<std::uint8_t>(vc);
  return layout_.terminals[terminal].leads_on() || topology_.leg_of(number) == 0 ||
         topology_.is_tree_vc(number);
}

/// An interface is nowhere: no exit is there.
void cube_noc::note_places() {
  for (std::uint16_t r = 0; r < layout_.routers(); ++r) places_.push_back(routes_.place_of(r));
  for (const fabric::terminal& t : layout_.terminals) exit_places_.push_back(routes_.place_of(t.router));
  if (wormhole_) places_.resize(places_.size() + layout_.terminals.size(), UINT32_MAX);
  terminals_begin_ = places_.size() * fabric::sides;
  port_table_.resize(terminals_begin_ + layout_.terminals.size(), none);
}

std::uint32_t cube_noc::add_port(switch_core::parameters& p, const config::machine_config& config,
                                 std::uint16_t router) {
  switch_core::port port;
  port.router = router;
  port.latency = latency_;
  port.head_delay = head_delay_;
  port.body_delay = overlaps(timing_) ? head_delay_ : 0;
  port.alloc_cycles = narrow(config.noc.vc_alloc_cycles);
  port.credit_cycles = narrow(credit_cycles_);
  port.buffer = port.credits = capacity_;
  p.ports.push_back(port);
  outputs_.emplace_back();
  entry_terminal_.push_back(UINT16_MAX);
  return static_cast<std::uint32_t>(p.ports.size() - 1);
}

/// A port of a router to its unit and back. The unit's packets go directly to the switch; it has
/// room for a buffer of copies, and for all sums and credits that members may send.
void cube_noc::add_unit_port(switch_core::parameters& p, const config::machine_config& config,
                             std::uint16_t router, fabric::tree_port at) {
  const std::uint32_t n = add_port(p, config, router);
  switch_core::port& port = p.ports[n];
  port.hop = false;
  port.head_delay = port.body_delay = port.alloc_cycles = 0;
  port.buffer[topology_.tree_vc(abi::tree_flow::up)] = UINT32_MAX;
  port.buffer[topology_.tree_vc(abi::tree_flow::credits)] = UINT32_MAX;
  outputs_.back().to_unit = true;
  trees_->add_port(router, at, n);
}

void cube_noc::join_routers(switch_core::parameters& p) const {
  for (std::uint16_t r = 0; r < layout_.routers(); ++r) {
    for (unsigned s = 0; s < fabric::sides; ++s) {
      if (side_port(r, s) == none) continue;
      const auto side = static_cast<fabric::side>(s);
      // In a one-way dimension the link into a router shares its port with the link out of it.
      const auto back = topology_.grid().is_oneway() ? s : static_cast<unsigned>(fabric::opposite(side));
      p.ports[side_port(r, s)].downstream = side_port(topology_.next_router(r, side), back);
    }
  }
}

/// A router of its own with one input, whose buffer is the queue of the interface, and one output into the
/// terminal's router. It learns of a packet a cycle before its head can be there, so it works a cycle late:
/// its latency is one cycle shorter, its credits take one cycle longer.
void cube_noc::add_interface(switch_core::parameters& p, const config::machine_config& config,
                             std::uint16_t terminal) {
  const auto router = static_cast<std::uint16_t>(layout_.routers() + terminal);
  const std::uint32_t n = add_port(p, config, router);
  switch_core::port& port = p.ports[n];
  port.downstream = terminal_port(terminal);
  port.hop = false;
  port.from_interface = true;
  port.latency = narrow(timing_.ni_in_cycles) - 1;
  port.head_delay = port.body_delay = port.alloc_cycles = 0;
  port.buffer = inject_capacity_;
  std::fill_n(port_table_.begin() + router * std::ptrdiff_t{fabric::sides}, fabric::sides, n);
  switch_core::port& behind = p.ports[port.downstream];
  behind.credit_cycles = narrow(credit_cycles_) + 1;
  // The latency from an interface is longer than a hop; a machine's buffer behind it also covers the
  // difference.
  if (!study_) {
    for (std::uint32_t& flits : behind.buffer) flits += narrow(timing_.ni_in_cycles);
  }
  port.credits = behind.buffer;
  entry_ports_[terminal] = n;
  entry_terminal_[n] = terminal;
}

void cube_noc::build_sockets() {
  for (unsigned t = 0; t < layout_.terminals.size(); ++t) {
    std::string name = layout_.terminals[t].name;
    std::replace(name.begin(), name.end(), '.', '_');  // a dot separates instances
    outputs_[terminal_port(t)].to_terminal =
        &terminals_.emplace_back(name.c_str(), static_cast<fabric_owner&>(*this), t);
  }
}

}  // namespace diecast::hw
