// SPDX-License-Identifier: Apache-2.0
#include <deque>
#include <fmt/format.h>
#include <functional>
#include <optional>
#include <systemc>

#include "hw/base/time.hpp"
#include "hw/noc/cube_noc.hpp"
#include "hw/traffic/transaction_traffic.hpp"
#include "platforms/netlist/cube.hpp"
#include "platforms/noc/machine.hpp"
#include "platforms/noc/study.hpp"
#include "platforms/run/kernel.hpp"

namespace diecast::noc {
namespace {

/// The networks side by side and the terminals they share.
class transaction_machine : public sc_core::sc_module, public hw::agenda_owner {
 public:
  transaction_machine(sc_core::sc_module_name name, const network& net, const traffic::transaction_plan& plan,
                      hw::packet_pool& pool, const events::hub& hub)
      : sc_module(name), nocs(net.config.noc.networks) {
    const netlist::build_order order(net.config.sim.build_order);
    const std::vector<const fabric::topology*> networks = net.topologies();
    std::vector<std::function<void()>> blocks, bindings;
    for (std::uint32_t k = 0; k < networks.size(); ++k)
      blocks.emplace_back([&, k] {
        nocs[k].emplace(fmt::format("noc{}", k).c_str(), *networks[k], net.config, sip_id{}, cube_id{}, hub,
                        faults);
      });
    blocks.emplace_back([&] { traffic.emplace("traffic", networks, net.config, plan, pool, faults); });
    order.run(this->name(), blocks);
    for (std::uint32_t k = 0; k < networks.size(); ++k) {
      for (std::uint32_t n = 0; n < net.nodes(); ++n)
        bindings.emplace_back([this, k, n] { nocs[k]->terminal_socket(n).bind(traffic->noc_socket(k, n)); });
    }
    order.run(std::string(this->name()) + ".bindings", bindings);
  }

  [[nodiscard]] hw::agenda& timed_work() override { return agenda_; }

  hw::fault_sink faults;
  std::deque<std::optional<hw::cube_noc>> nocs;
  std::optional<hw::transaction_traffic> traffic;

 private:
  hw::agenda agenda_{"agenda"};
};

/// Runs to the end, or until a fault or signal.
void play(const study_point& point, const network& net, transaction_machine& modules, study_outcome& o) {
  const auto& traffic = *modules.traffic;
  const std::uint64_t operations = traffic.unfinished();
  platforms::progress_bar bar{point.progress, point.progress_label};
  const auto end = platforms::run_slices(
      net.config.sim, [&] { return traffic.unfinished() == 0; }, modules.faults, [] { return false; },
      [&] {
        bar.update(hw::now(), [&]() -> platforms::run_progress {
          return {static_cast<double>(traffic.statistics().completed) / static_cast<double>(operations), {}};
        });
      });
  platforms::conclude(end, net.config.sim, modules.faults,
                      fmt::format("{} operations are not complete", traffic.unfinished()), o);
}

void collect(const network& net, const transaction_machine& modules, study_outcome& o) {
  const auto& r = modules.traffic->statistics();
  if (r.last >= r.first_issue) o.duration_cycles = r.last - r.first_issue;
  o.cycles = r.last;
  o.packets = r.delivered;
  o.fingerprint = fmt::format("{:016x}", r.fingerprint);
  const auto columns = static_cast<std::uint32_t>(net.config.noc.columns);
  for (const auto& b : r.barriers)
    o.barriers.push_back({b.core % columns, b.core / columns, b.network, b.issue, b.latency});
  for (std::uint32_t k = 0; k < modules.nocs.size(); ++k)
    add_noc(*modules.nocs[k], *net.topologies()[k], net.config, fmt::format("network{}.", k), o.cycles, o);
}

}  // namespace

study_outcome simulate_transactions(const study_point& point, const network& net) {
  study_outcome o;
  describe(point, o);
  platforms::prepare_kernel();
  const platforms::stopwatch elaborating;
  const events::hub hub;
  // Never destroyed: the process ends after its run.
  auto& pool = *new hw::packet_pool;
  auto& modules = *new transaction_machine("study", net, *point.transactions, pool, hub);
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  o.elaborate_s = elaborating.seconds();
  const platforms::stopwatch running;
  play(point, net, modules, o);
  collect(net, modules, o);
  o.wall_s = running.seconds();
  o.peak_rss_mib = platforms::peak_rss_mib();
  return o;
}

}  // namespace diecast::noc
