// SPDX-License-Identifier: Apache-2.0
#include "models/cost/message_cost.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <queue>
#include <utility>
#include <vector>

#include "models/abi/address.hpp"
#include "models/abi/wire.hpp"
#include "models/comm/install_plan.hpp"
#include "models/config/placement.hpp"
#include "models/timing/link.hpp"

namespace diecast::cost {

namespace {

double wire_factor(std::uint64_t payload, std::uint64_t flit) {
  const auto flits = abi::flits_of(static_cast<std::uint32_t>(payload), static_cast<std::uint32_t>(flit));
  return d(flits * flit) / d(payload);
}

/// The least of packets of up to `longest` bytes.
double best_factor(std::uint64_t longest, std::uint64_t flit) {
  const std::uint64_t whole_flits = longest / flit * flit;
  const double factor = wire_factor(longest, flit);
  return whole_flits > 0 ? std::min(factor, wire_factor(whole_flits, flit)) : factor;
}

}  // namespace

wire_rates::wire_rates(const config::machine_config& c) : config_(c) {
  const std::uint64_t flit = c.noc.flit_bytes;
  const std::uint64_t longest =
      std::max<std::uint64_t>(1, std::min(c.noc.max_packet_bytes, c.ipcq.slot_bytes));
  factor_ = best_factor(longest, flit);
  copy_factor_ = best_factor(c.noc.max_packet_bytes, flit);
  noc_ = d(flit) * c.noc.clock_ghz;
  tcm_ = d(c.pe.tcm_banks * c.pe.tcm_bank_bytes) * c.noc.clock_ghz;
  vector_ = d(c.pe.vector_bytes(true)) * c.noc.clock_ghz;
}

double wire_rates::ucie_gbytes_s(const fabric::topology& t, sip_id sip, cube_id cube, fabric::side s) const {
  const bool vertical = s == fabric::side::east || s == fabric::side::west;
  const double ports = d(config::ports_of_edge(config_, vertical).size());
  return std::min(timing::ucie_payload_gbytes_s(t.ucie(sip, cube, s)), ports * noc_);
}

double wire_rates::sip_link_gbytes_s(const fabric::topology& t, std::uint32_t index) const {
  return std::min(timing::sip_link_timing_of(config_, t.sip_link_settings(index)).gbytes_s, noc_);
}

/// A request crosses from one block of a PE to the next in a cycle; a bank serves one block per cycle.
constexpr std::uint64_t handover_cycles = 1;
constexpr std::uint64_t bank_cycles = 1;

endpoint_costs endpoint_costs_of(const config::machine_config& c) {
  const clock_domain clock = timing::noc_clock(c);
  const config::pe_block& pe = c.pe;
  const auto cycles = [&clock](std::uint64_t n) { return clock.cycles(n); };
  endpoint_costs e;
  e.call = cycles(c.ccl.kernel_call_cycles);
  e.send = e.call + cycles(2 * pe.register_cycles);
  e.departure = cycles(c.ipcq.check_cycles + pe.dma_launch_cycles + pe.dma_startup_cycles + handover_cycles +
                       bank_cycles + pe.tcm_read_cycles);
  e.source = cycles(bank_cycles + pe.tcm_read_cycles);
  e.arrival = cycles(2 * handover_cycles + bank_cycles + c.ipcq.match_cycles);
  e.wake = cycles(pe.interrupt_cycles + pe.register_cycles);
  e.release = cycles(pe.register_cycles);
  e.drain = cycles(pe.register_cycles);
  e.vector = cycles(pe.vector_startup_cycles + handover_cycles + bank_cycles + pe.tcm_read_cycles);
  e.issue = cycles(pe.dma_issue_cycles);
  return e;
}

transfer_ends ends_of_transfer(const config::machine_config& c) {
  const endpoint_costs e = endpoint_costs_of(c);
  const sim_time by_dma = timing::noc_clock(c).cycles(c.pe.dma_launch_cycles + c.pe.dma_startup_cycles);
  const sim_time noc = timing::noc_timing_of(c).crossing({}, 0, 1).head;
  transfer_ends ends;
  ends.consume = std::min(e.vector, by_dma);
  ends.last = e.release + e.drain;
  ends.startup = e.send + e.departure + noc + e.arrival + ends.consume + ends.last;
  return ends;
}

abi::node_address terminal_of(const fabric::topology& t, pe_coord pe) {
  return t.locate(abi::encode({pe.sip, pe.cube, abi::region::tcm, pe.pe.value, 0}));
}

std::uint32_t message_flits(const config::machine_config& c, std::uint64_t bytes) {
  return abi::flits_of(static_cast<std::uint32_t>(bytes), static_cast<std::uint32_t>(c.noc.flit_bytes));
}

bool is_staged(const config::machine_config& c) { return c.comm.path == config::transfer_path::staged; }

double staging_gbytes_s(const config::machine_config& c) {
  return std::min(c.host.staging_gbytes_s, static_cast<double>(c.noc.flit_bytes) * c.noc.clock_ghz);
}

sim_time staging_idle(const config::machine_config& c, std::uint32_t flits) {
  const double bytes = static_cast<double>(flits * c.noc.flit_bytes);
  return nanoseconds(c.host.staging_latency_ns) + nanoseconds(bytes / c.host.staging_gbytes_s) * 2;
}

sim_time message_idle(const fabric::topology& t, const config::machine_config& c, pe_coord from, pe_coord to,
                      std::uint32_t flits) {
  const auto over = [&](const abi::node_address& a, const abi::node_address& b) {
    return fabric::idle_latency(t, c, a, b, abi::traffic_class::comm, flits);
  };
  const abi::node_address begin = terminal_of(t, from), end = terminal_of(t, to);
  if (!is_staged(c) || from.sip == to.sip) return over(begin, end);
  // A staged message is written to host memory as a whole, then read as a whole.
  return over(begin, comm::io_cpu_node(t, from.sip)) + staging_idle(c, flits) +
         over(comm::io_cpu_node(t, to.sip), end);
}

namespace {

constexpr std::size_t all_pairs_up_to = 64;
constexpr std::size_t all_paths_up_to = 256;  ///< takes 0.25 s
constexpr int sweeps = 4;

sim_time idle(const fabric::topology& t, const config::machine_config& c, pe_coord from, pe_coord to) {
  return message_idle(t, c, from, to, message_flits(c, 1));
}

}  // namespace

sim_time best_tree(std::uint64_t ranks, sim_time hop, sim_time gap) {
  if (ranks <= 1) return {};
  // Arrival times of the next messages from ranks that have the data.
  std::priority_queue<std::uint64_t, std::vector<std::uint64_t>, std::greater<>> arrivals;
  arrivals.push(hop.fs);
  for (std::uint64_t have = 1;;) {
    const std::uint64_t now = arrivals.top();
    arrivals.pop();
    if (++have == ranks) return {now};
    arrivals.push(now + gap.fs);
    arrivals.push(now + hop.fs);
  }
}

namespace {

/// The least time of one element between any two ranks, through any other ranks.
class least_paths {
 public:
  least_paths(const fabric::topology& t, const config::machine_config& c, const comm::group& g)
      : ranks_(g.members.size()), direct_(ranks_ * ranks_) {
    for (std::size_t a = 0; a < ranks_; ++a) {
      for (std::size_t b = 0; b < ranks_; ++b)
        if (a != b) direct_[a * ranks_ + b] = idle(t, c, g.members[a], g.members[b]).fs;
    }
  }

  /// The rank that an element from `rank` reaches last, or from which one reaches `rank` last, and the time
  /// (Dijkstra's algorithm).
  [[nodiscard]] std::pair<std::size_t, std::uint64_t> last(std::size_t rank, bool inbound) const {
    std::vector<std::uint64_t> when(ranks_, std::numeric_limits<std::uint64_t>::max());
    std::vector<bool> known(ranks_);
    when[rank] = 0;
    std::size_t next = rank;
    for (std::size_t left = ranks_; left > 1; --left) {
      known[next] = true;
      const std::size_t at = next;
      next = ranks_;
      for (std::size_t other = 0; other < ranks_; ++other) {
        if (known[other]) continue;
        const std::size_t path = inbound ? other * ranks_ + at : at * ranks_ + other;
        when[other] = std::min(when[other], when[at] + direct_[path]);
        if (next == ranks_ || when[other] < when[next]) next = other;
      }
    }
    return {next, when[next]};
  }

 private:
  std::size_t ranks_;
  std::vector<std::uint64_t> direct_;  ///< by rank * ranks + other rank
};

far_pair pair_of(const comm::group& g, std::size_t rank, const std::pair<std::size_t, std::uint64_t>& last,
                 bool inbound) {
  const pe_coord here = g.members[rank], there = g.members[last.first];
  return {{last.second}, inbound ? there : here, inbound ? here : there};
}

/// A bound that holds for any two ranks, where there are too many to compare all pairs.
far_pair any_pair(const fabric::topology& t, const config::machine_config& c, const comm::group& g,
                  std::size_t rank, bool inbound) {
  return pair_of(g, rank, {rank == 0 ? 1 : 0, nearest_idle(t, c, g).fs}, inbound);
}

}  // namespace

far_pair farthest_from(const fabric::topology& t, const config::machine_config& c, const comm::group& g,
                       pe_coord rank, bool inbound) {
  const auto at = std::ranges::find(g.members, rank) - g.members.begin();
  const auto index = static_cast<std::size_t>(at);
  if (g.members.size() > all_paths_up_to) return any_pair(t, c, g, index, inbound);
  return pair_of(g, index, least_paths(t, c, g).last(index, inbound), inbound);
}

far_pair farthest_pair(const fabric::topology& t, const config::machine_config& c, const comm::group& g) {
  if (g.members.size() > all_paths_up_to) return any_pair(t, c, g, 0, false);
  const least_paths paths(t, c, g);
  far_pair far;
  const auto look_from = [&](std::size_t rank) {
    const auto last = paths.last(rank, false);
    if (sim_time{last.second} > far.idle) far = pair_of(g, rank, last, false);
    return last.first;
  };
  if (g.members.size() <= all_pairs_up_to) {
    for (std::size_t r = 0; r < g.members.size(); ++r) look_from(r);
    return far;
  }
  std::size_t start = 0;
  for (int i = 0; i < sweeps; ++i) start = look_from(start);
  return far;
}

sim_time nearest_idle(const fabric::topology& t, const config::machine_config& c, const comm::group& g) {
  const timing::noc_timing noc = timing::noc_timing_of(c);
  const std::uint32_t flits = message_flits(c, 1);
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<fabric::router_index>> cubes;
  for (const pe_coord& m : g.members)
    cubes[{m.sip.value, m.cube.value}].push_back(t.layout(m.sip, m.cube).terminals.at(m.pe.value).router);
  sim_time nearest = sim_time::never();
  for (const auto& [where, routers] : cubes) {
    for (std::size_t i = 0; i < routers.size(); ++i) {
      for (std::size_t k = i + 1; k < routers.size(); ++k) {
        const std::uint32_t links =
            std::min(t.distance(routers[i], routers[k]), t.distance(routers[k], routers[i]));
        nearest = std::min(nearest, noc.crossing({}, links, flits).tail);
      }
    }
  }
  if (cubes.size() < 2) return nearest;
  // Between cubes two NoCs are crossed and at least one link, or host memory.
  const sim_time noc_in = noc.crossing({}, 0, flits).tail, noc_out = noc.crossing({}, 0, 1).head;
  double link_ns = std::numeric_limits<double>::infinity();
  if (is_staged(c)) {
    const bool apart = cubes.begin()->first.first != cubes.rbegin()->first.first;
    if (apart) nearest = std::min(nearest, noc_in * 2 + staging_idle(c, flits));
  } else {
    link_ns = c.sip_link.latency_ns;
    for (std::uint32_t i = 0; i < t.sip_links().size(); ++i)
      link_ns = std::min(link_ns, t.sip_link_settings(i).latency_ns);
  }
  const auto beside = std::ranges::adjacent_find(cubes, [](const auto& a, const auto& b) {
    return a.first.first == b.first.first;  // two cubes of one SIP
  });
  if (is_staged(c) && beside == cubes.end()) return nearest;
  for (std::uint32_t i = 0; i < t.shape().cubes(); ++i) {
    const sip_id sip{i / t.shape().cubes_per_sip()};
    const cube_id cube{i % t.shape().cubes_per_sip()};
    for (unsigned s = 0; s < fabric::sides; ++s) {
      const auto side = static_cast<fabric::side>(s);
      if (t.neighbor(cube, side)) link_ns = std::min(link_ns, t.ucie(sip, cube, side).latency_ns);
    }
  }
  if (std::isinf(link_ns)) return nearest;
  return std::min(nearest, noc_in + nanoseconds(link_ns) + noc_out);
}

}  // namespace diecast::cost
