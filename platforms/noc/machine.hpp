// SPDX-License-Identifier: Apache-2.0
// The module tree of a network study: a NoC with the sources and sinks of all its nodes. Wiring and nothing
// else.
#pragma once

#include <functional>
#include <optional>
#include <systemc>
#include <vector>

#include "hw/noc/cube_noc.hpp"
#include "hw/traffic/packet_traffic.hpp"
#include "platforms/netlist/cube.hpp"
#include "platforms/noc/study.hpp"

namespace diecast::noc {

class machine : public sc_core::sc_module, public hw::agenda_owner {
 public:
  machine(sc_core::sc_module_name name, const network& net, traffic::packet_arrivals& arrivals,
          hw::packet_pool& pool, hw::packet_traffic::interval measured, const events::hub& hub)
      : sc_module(name) {
    const netlist::build_order order(net.config.sim.build_order);
    order.run(
        this->name(),
        {[&] { noc.emplace("noc", net.topology, net.config, sip_id{}, cube_id{}, hub, faults); },
         [&] { traffic.emplace("traffic", net.topology, net.config, arrivals, pool, measured, faults); }});
    std::vector<std::function<void()>> bindings;
    for (std::uint32_t n = 0; n < net.nodes(); ++n)
      bindings.emplace_back([this, n] { noc->terminal_socket(n).bind(traffic->noc_socket(n)); });
    order.run(std::string(this->name()) + ".bindings", bindings);
  }

  [[nodiscard]] hw::agenda& timed_work() override { return agenda_; }
  /// Packets made and not delivered: at their sources and in the NoC. Packets that a source has announced are
  /// counted when they are made.
  [[nodiscard]] std::uint64_t packets_under_way() const {
    return noc->statistics().packets + traffic->waiting() - traffic->statistics().delivered;
  }

  hw::fault_sink faults;
  std::optional<hw::cube_noc> noc;
  std::optional<hw::packet_traffic> traffic;

 private:
  hw::agenda agenda_{"agenda"};
};

/// Adds what a NoC carried, its links as `prefix` and their names, busy for a share of so many cycles.
void add_noc(const hw::cube_noc& noc, const fabric::topology& topology, const config::machine_config& config,
             const std::string& prefix, std::uint64_t cycles, study_outcome& o);

}  // namespace diecast::noc
