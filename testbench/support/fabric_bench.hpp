// SPDX-License-Identifier: Apache-2.0
// A whole fabric with stub endpoints: every cube's NoC, all UCIe adapters and SIP ports, and on every
// terminal of a block an endpoint that sends planned packets and records what arrives.
#pragma once

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "hw/base/terminal_port.hpp"
#include "hw/base/timed_queue.hpp"
#include "hw/d2d/ucie_adapter.hpp"
#include "hw/noc/cube_noc.hpp"
#include "models/config/machine_config.hpp"
#include "models/events/events.hpp"
#include "models/fabric/topology.hpp"
#include "support/faults.hpp"

namespace diecast::test {

/// A packet that reached its endpoint.
struct delivery {
  sim_time at;       ///< last flit here
  sim_time created;  ///< handed to the source's send queue
  abi::node_address source, destination;
  abi::traffic_class traffic_class{};
  std::uint64_t tag{};
  std::uint32_t flits{};
  auto operator<=>(const delivery&) const = default;
};

/// Block at a terminal: sends what was planned, takes everything that arrives.
class endpoint : public sc_core::sc_module, private hw::terminal_port::client {
 public:
  endpoint(sc_core::sc_module_name name, const fabric::topology& topology,
           const config::machine_config& config, abi::node_address self, hw::packet_pool& pool)
      : sc_module(name),
        port("port", topology, config, self, *this),
        topology_(topology),
        flit_bytes_(static_cast<std::uint32_t>(config.noc.flit_bytes)),
        self_(self),
        pool_(pool) {}

  hw::terminal_port port;
  std::vector<delivery> received;
  /// Headers and payloads of those that are more than synthetic traffic, in order of arrival.
  struct content {
    abi::packet_header header;
    std::vector<std::byte> data;
  };
  std::vector<content> contents;
  /// When each packet's head left, in order.
  std::vector<sim_time> sent;

  /// Hands a packet of `flits` to the send queue at an absolute time, not before now.
  void plan(sim_time at, abi::node_address to, abi::traffic_class c, std::uint32_t flits, std::uint64_t tag) {
    plan_.put(at, planned_.size());
    abi::packet_header header;
    header.destination = to;
    header.payload_bytes = (flits - 1) * flit_bytes_;
    header.transaction = tag;
    planned_.push_back({c, {header, {}}});
  }
  /// The same for any packet, in the class of its kind.
  void plan(sim_time at, const content& packet) {
    plan_.put(at, planned_.size());
    planned_.push_back({abi::class_of(packet.header.kind), packet});
  }

 private:
  SC_HAS_PROCESS(endpoint);
  struct planned {
    abi::traffic_class traffic_class;
    content packet;
  };
  void act() {
    for (std::uint64_t index = 0; plan_.take(index);) {
      const planned& p = planned_[index];
      hw::packet_ptr packet = pool_.make();
      packet->header = p.packet.header;
      packet->data = p.packet.data;
      port.send(std::move(packet), p.traffic_class);
    }
  }
  void on_packet(const hw::packet_ptr& p, std::uint8_t vc) override {
    received.push_back({hw::now(), p->created, p->header.source, self_, topology_.class_of(vc),
                        p->header.transaction, p->flits});
    if (p->header.kind != abi::packet_kind::synthetic) contents.push_back({p->header, p->data});
    port.release(vc, p->flits);
  }
  void on_sent(abi::traffic_class) override { sent.push_back(hw::now()); }

  const fabric::topology& topology_;
  std::uint32_t flit_bytes_;
  abi::node_address self_;
  hw::packet_pool& pool_;
  hw::calendar plan_{*this, [this] { act(); }};
  std::vector<planned> planned_;
};

/// Order in which modules are made and sockets bound; results never depend on it.
struct build_order {
  bool reverse{false};
  std::uint32_t shuffle_seed{0};  ///< 0: not shuffled

  [[nodiscard]] std::vector<std::size_t> of(std::size_t count) const {
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), 0);
    if (reverse) std::reverse(order.begin(), order.end());
    if (shuffle_seed != 0) {
      std::mt19937 random(shuffle_seed);
      std::shuffle(order.begin(), order.end(), random);
    }
    return order;
  }
};

class fabric_bench {
 public:
  /// Several may be built before the simulation starts, with different names.
  /// Terminals of the kinds in `left_out` get no endpoint: the caller attaches blocks of its own.
  explicit fabric_bench(const config::machine_config& c, build_order order = {}, std::string name = "pod",
                        std::set<fabric::terminal_kind> left_out = {})
      : config(c),
        topology(c),
        name_(std::move(name)),
        left_out_(std::move(left_out)),
        pools_(topology.shape().sips) {
    const machine_shape& shape = topology.shape();
    cubes_.resize(shape.cubes());
    for (const std::size_t n : order.of(cubes_.size())) build_cube(n, order);
    std::vector<std::function<void()>> bindings;
    for (std::size_t n = 0; n < cubes_.size(); ++n) list_bindings(n, bindings);
    for (const std::size_t b : order.of(bindings.size())) bindings[b]();
  }
  fabric_bench(const fabric_bench&) = delete;
  fabric_bench& operator=(const fabric_bench&) = delete;

  const config::machine_config config;
  const fabric::topology topology;
  events::hub hub;
  watched_faults faults;  ///< see unrest()

  [[nodiscard]] endpoint& at(abi::node_address a) { return *cube_of(a).endpoints.at(a.terminal); }
  [[nodiscard]] hw::cube_noc& noc(std::uint32_t sip, std::uint32_t cube) {
    return *cubes_[index(sip, cube)].noc;
  }
  [[nodiscard]] hw::ucie_adapter& adapter(std::uint32_t sip, std::uint32_t cube, fabric::side s) {
    return *cubes_[index(sip, cube)].adapters.at(s);
  }
  [[nodiscard]] hw::packet_pool& pool(std::uint32_t sip) { return pools_.at(sip); }
  /// Attaches a block of the caller's to a terminal that was left out.
  void attach(hw::terminal_port& port, abi::node_address at) {
    cube_of(at).noc->terminal_socket(at.terminal).bind(port.noc_socket());
  }
  /// Every endpoint of the pod, in order.
  [[nodiscard]] std::vector<abi::node_address> endpoints() const {
    std::vector<abi::node_address> all;
    for (const cube_parts& c : cubes_) {
      for (const auto& [terminal, e] : c.endpoints) all.push_back({c.sip, c.number, terminal});
    }
    return all;
  }
  /// Everything that arrived anywhere, by destination and then in order of arrival there.
  [[nodiscard]] std::vector<delivery> deliveries() const {
    std::vector<delivery> all;
    for (const cube_parts& c : cubes_) {
      for (const auto& [terminal, e] : c.endpoints) {
        all.insert(all.end(), e->received.begin(), e->received.end());
      }
    }
    return all;
  }
  /// Sum over all cubes.
  [[nodiscard]] hw::cube_noc::counters statistics() const {
    hw::cube_noc::counters sum;
    for (const cube_parts& c : cubes_) {
      const hw::cube_noc::counters& s = c.noc->statistics();
      sum.packets += s.packets;
      sum.packet_hops += s.packet_hops;
      sum.flit_hops += s.flit_hops;
      sum.wakeups += s.wakeups;
      sum.activations += s.activations;
    }
    return sum;
  }
  /// What still holds something or misses credits; empty when all is quiet and complete.
  [[nodiscard]] std::vector<std::string> unrest() const {
    std::vector<std::string> names;
    if (faults.fault()) names.push_back(text_of(faults));
    const auto note = [&](const auto& module) {
      if (!module.quiescent()) names.emplace_back(module.name());
    };
    for (const cube_parts& c : cubes_) {
      note(*c.noc);
      for (const auto& [side, a] : c.adapters) note(*a);
      for (const auto& [terminal, p] : c.ports) note(*p);
      for (const auto& [terminal, e] : c.endpoints) note(e->port);
    }
    for (const auto& pool : pools_) {
      if (pool.in_flight() != 0) names.emplace_back("packet pool");
    }
    return names;
  }

 private:
  struct cube_parts {
    std::uint16_t sip{}, number{};
    std::unique_ptr<hw::cube_noc> noc;
    std::map<fabric::side, std::unique_ptr<hw::ucie_adapter>> adapters;
    std::map<fabric::terminal_index, std::unique_ptr<hw::sip_port>> ports;
    std::map<fabric::terminal_index, std::unique_ptr<endpoint>> endpoints;
  };
  using binding_list = std::vector<std::function<void()>>;

  [[nodiscard]] std::size_t index(std::uint32_t sip, std::uint32_t c) const {
    return std::size_t{sip} * topology.shape().cubes_per_sip() + c;
  }
  [[nodiscard]] cube_parts& cube_of(abi::node_address a) { return cubes_[index(a.sip, a.cube)]; }

  void build_cube(std::size_t n, const build_order& order) {
    const std::uint32_t per_sip = topology.shape().cubes_per_sip();
    cube_parts& c = cubes_[n];
    c.sip = static_cast<std::uint16_t>(n / per_sip);
    c.number = static_cast<std::uint16_t>(n % per_sip);
    const sip_id sip{c.sip};
    const cube_id id{c.number};
    const std::string prefix = fmt::format("{}_sip{}_cube{}_", name_, c.sip, c.number);
    const auto& terminals = topology.layout(sip, id).terminals;
    std::vector<std::function<void()>> parts;
    parts.push_back([&, prefix] {
      c.noc =
          std::make_unique<hw::cube_noc>((prefix + "noc").c_str(), topology, config, sip, id, hub, faults);
    });
    for (unsigned s = 0; s < fabric::sides; ++s) {
      const auto side = static_cast<fabric::side>(s);
      if (!topology.neighbor(id, side)) continue;
      parts.push_back([&, prefix, side] {
        const std::string name = prefix + "ucie_" + fabric::to_string(side);
        c.adapters[side] =
            std::make_unique<hw::ucie_adapter>(name.c_str(), topology, config, sip, id, side, hub, faults);
      });
    }
    for (fabric::terminal_index t = 0; t < terminals.size(); ++t) {
      const std::string name = prefix + terminals[t].name;
      if (terminals[t].kind == fabric::terminal_kind::ucie_port) continue;
      if (left_out_.contains(terminals[t].kind)) continue;
      if (terminals[t].kind == fabric::terminal_kind::sip_port) {
        parts.push_back([&, name, t] {
          c.ports[t] = std::make_unique<hw::sip_port>(name.c_str(), topology, config, sip, id, t,
                                                      pools_[sip.value], hub, faults);
        });
      } else {
        parts.push_back([&, name, t] {
          c.endpoints[t] = std::make_unique<endpoint>(
              name.c_str(), topology, config, abi::node_address{c.sip, c.number, t}, pools_[sip.value]);
        });
      }
    }
    for (const std::size_t p : order.of(parts.size())) parts[p]();
  }

  void list_bindings(std::size_t n, binding_list& bind) {
    cube_parts& c = cubes_[n];
    for (const auto& [t, e] : c.endpoints)
      bind.push_back([&c, t = t, e = e.get()] { c.noc->terminal_socket(t).bind(e->port.noc_socket()); });
    for (const auto& [side, a] : c.adapters) {
      for (unsigned port = 0; port < a->terminals().size(); ++port) {
        const fabric::terminal_index t = a->terminals()[port];
        bind.push_back([&c, t, port, a = a.get()] { c.noc->terminal_socket(t).bind(a->noc_socket(port)); });
      }
      const cube_id peer = *topology.neighbor(cube_id{c.number}, side);
      hw::ucie_adapter* far = cubes_[index(c.sip, peer.value)].adapters.at(fabric::opposite(side)).get();
      bind.push_back([far, a = a.get()] { a->link_out().bind(far->link_in()); });
    }
    for (const auto& [t, p] : c.ports) {
      bind.push_back([&c, t = t, p = p.get()] { c.noc->terminal_socket(t).bind(p->noc_socket()); });
      const std::uint32_t link = topology.layout(sip_id{c.sip}, cube_id{c.number}).terminals[t].index;
      const abi::node_address to = topology.sip_links()[link].to;
      bind.push_back([this, to, p = p.get()] { p->out.bind(cube_of(to).ports.at(to.terminal)->in); });
    }
  }

  std::string name_;
  std::set<fabric::terminal_kind> left_out_;
  std::vector<hw::packet_pool> pools_;
  std::vector<cube_parts> cubes_;
};

}  // namespace diecast::test
