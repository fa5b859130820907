// SPDX-License-Identifier: Apache-2.0
#include "platforms/netlist/pod.hpp"

#include <fmt/format.h>

#include "models/fabric/fault_places.hpp"
#include "models/timing/link.hpp"

namespace diecast::netlist {
namespace {

std::string instance_name(const machine_shape& shape, cube_id c) {
  return fmt::format("cube_{}_{}", shape.cube_x(c), shape.cube_y(c));
}

}  // namespace

sip::sip(sc_core::sc_module_name name, const build_context& context, sip_id id, hw::host_program program)
    : sc_module(name), id_(id) {
  build(context, std::move(program));
  bind(context);
}

void sip::build(const build_context& context, hw::host_program program) {
  const machine_shape& shape = context.topology.shape();
  cubes_.resize(shape.cubes_per_sip());
  ports_.resize(context.topology.sip_links().size());
  std::vector<std::function<void()>> modules;
  for (std::uint32_t c = 0; c < shape.cubes_per_sip(); ++c)
    modules.emplace_back([&, c] {
      cubes_[c] =
          std::make_unique<cube>(instance_name(shape, cube_id{c}).c_str(), context, id_, cube_id{c}, pool_);
    });
  for (const auto& link : context.topology.sip_links()) {
    if (link.from.sip != id_.value) continue;
    modules.emplace_back([&, this] {
      const cube_id gateway{link.from.cube};
      const auto& terminal = context.topology.layout(id_, gateway).terminals[link.from.terminal];
      ports_[link.index] =
          std::make_unique<hw::sip_port>(terminal.name.c_str(), context.topology, context.config, id_,
                                         gateway, link.from.terminal, pool_, context.events, context.faults);
    });
  }
  modules.emplace_back([&] {
    io_ =
        std::make_unique<hw::io_cpu>("io_cpu", context.topology, context.config, id_, pool_, context.faults);
  });
  modules.emplace_back([&] {
    host_ = std::make_unique<hw::host_cpu>("host", context.config, id_, std::move(program), context.faults);
  });
  modules.emplace_back([&] { debug_ = std::make_unique<hw::debug_bus>("debug_bus", id_); });
  context.order.run(this->name(), modules);
}

void sip::bind(const build_context& context) {
  std::vector<std::function<void()>> bindings;
  for (std::uint32_t c = 0; c < cubes_.size(); ++c) {
    bindings.emplace_back([&, c] { bind_edges(context, cube_id{c}); });
    bindings.emplace_back([&, c] { cubes_[c]->attach_debug(*debug_); });
  }
  for (const auto& link : context.topology.sip_links()) {
    if (link.from.sip != id_.value) continue;
    bindings.emplace_back([&, this] {
      cubes_[link.from.cube]->bind_port(ports_[link.index]->noc_socket(), link.from.terminal);
    });
  }
  bindings.emplace_back([&] {
    const auto at = context.topology.locate(
        abi::encode({id_, context.topology.io_cube(id_), abi::region::launch_mailbox, abi::io_cpu_unit, 0}));
    cubes_[at.cube]->bind_port(io_->terminal().noc_socket(), at.terminal);
    host_->io.bind(io_->host_side);
    host_->debug.bind(debug_->in());
  });
  context.order.run(std::string(this->name()) + ".bindings", bindings);
}

/// Each side sends to the neighbor's opposite side.
void sip::bind_edges(const build_context& context, cube_id c) {
  for (unsigned s = 0; s < fabric::sides; ++s) {
    const auto edge = static_cast<fabric::side>(s);
    const auto other = context.topology.neighbor(c, edge);
    if (!other) continue;
    bind_edge(context, c, edge, *other);
  }
}

void sip::bind_edge(const build_context& context, cube_id c, fabric::side edge, cube_id other) {
  auto& from = cubes_[c.value]->edge(edge)->link_out();
  auto& to = cubes_[other.value]->edge(fabric::opposite(edge))->link_in();
  const auto faults = fabric::faults_of_side(context.config, context.topology, id_, c, edge);
  if (faults.empty()) return from.bind(to);
  const auto timing = timing::ucie_timing_of(context.config, context.topology.ucie(id_, c, edge));
  const std::string cube = instance_name(context.topology.shape(), c);
  const std::string label = fmt::format("{}_ucie_{}_faults", cube, fabric::to_string(edge));
  const std::string link = fmt::format("{}.{}.ucie_{}", name(), cube, fabric::to_string(edge));
  faults_.push_back(std::make_unique<hw::fault_interposer>(
      label.c_str(),
      hw::fault_place{faults, fmt::format("{}.{}", name(), label), link, timing.serialization(1),
                      timing.receiver.period},
      pool_));
  from.bind(faults_.back()->in.socket);
  faults_.back()->out.socket.bind(to);
}

pod::pod(sc_core::sc_module_name name, const build_context& context, const host_program_factory& host_of)
    : sc_module(name) {
  build(context, host_of);
  std::vector<std::function<void()>> bindings;
  for (const auto& link : context.topology.sip_links())
    if (link.index % 2 == 0) bindings.emplace_back([&] { bind_sip_link(context, link); });
  context.order.run("pod.links", bindings);
  if (context.config.comm.path != config::transfer_path::staged) return;
  const auto links = static_cast<std::uint32_t>(context.topology.sip_links().size());
  for (const auto& to : sips_) arrivals_[links + to->id().value] = &to->io().staging()->in;
  // Ports are numbered by the SIPs they lead to: this order is not free.
  for (const auto& from : sips_)
    for (std::uint32_t to = 0; to < place_.size(); ++to) {
      auto& out = from->io().staging()->out;
      if (has(sip_id{to})) {
        out.bind(at(sip_id{to}).io().staging()->in);
      } else {
        boundaries_.push_back(std::make_unique<hw::sip_boundary>(links + to, context.outlet));
        out.bind(*boundaries_.back());
      }
    }
}

void pod::build(const build_context& context, const host_program_factory& host_of) {
  const std::uint32_t count = context.topology.shape().sips;
  place_.assign(count, absent);
  std::size_t own = 0;
  for (std::uint32_t s = 0; s < count; ++s)
    if (context.builds(s)) place_[s] = own++;
  sips_.resize(own);
  std::vector<std::function<void()>> modules;
  for (std::uint32_t s = 0; s < count; ++s) {
    if (place_[s] == absent) continue;
    modules.emplace_back([&, s] {
      sips_[place_[s]] =
          std::make_unique<sip>(fmt::format("sip{}", s).c_str(), context, sip_id{s}, host_of(sip_id{s}));
    });
  }
  context.order.run(this->name(), modules);
}

void pod::deliver(std::uint32_t channel, const hw::sip_message& m) { (*arrivals_.at(channel))->deliver(m); }

pod::link_side pod::side_of(const build_context& context, const fabric::sip_link& outgoing) {
  hw::sip_port& port = *at(sip_id{outgoing.from.sip}).ports()[outgoing.index];
  const auto faults = fabric::faults_of_sip_link(context.config, context.topology, outgoing.index);
  if (faults.empty()) return {port.out, port.in};
  const auto timing =
      timing::sip_link_timing_of(context.config, context.topology.sip_link_settings(outgoing.index));
  faults_.push_back(std::make_unique<hw::sip_link_fault>(
      fmt::format("sip_link{}_faults", outgoing.index).c_str(),
      hw::fault_place{faults, outgoing.name, outgoing.name, timing.serialization(1), timing.receiver.period},
      timing.latency));
  hw::sip_link_fault& fault = *faults_.back();
  port.out.bind(fault.in);
  fault.sender.bind(port.in);
  return {fault.out, fault.arrivals};
}

/// Both directions of a link: index and index ^ 1 are on the same two ports.
void pod::bind_sip_link(const build_context& context, const fabric::sip_link& link) {
  const fabric::sip_link& back = context.topology.sip_links()[link.index ^ 1U];
  if (has(sip_id{link.from.sip}) && has(sip_id{back.from.sip})) {
    const link_side here = side_of(context, link), there = side_of(context, back);
    here.leave.bind(there.arrive);
    there.leave.bind(here.arrive);
    return;
  }
  for (const fabric::sip_link* const l : {&link, &back}) {
    if (!has(sip_id{l->from.sip})) continue;
    const link_side side = side_of(context, *l);
    boundaries_.push_back(std::make_unique<hw::sip_boundary>(l->index, context.outlet));
    side.leave.bind(*boundaries_.back());
    arrivals_[l->index ^ 1U] = &side.arrive;
  }
}

}  // namespace diecast::netlist
