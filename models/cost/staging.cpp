// SPDX-License-Identifier: Apache-2.0
#include "models/cost/staging.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "models/comm/hbm_tensor.hpp"
#include "models/cost/message_cost.hpp"
#include "models/timing/link.hpp"

namespace diecast::cost {
namespace {

using comm::block_set;

constexpr std::uint64_t copy_registers = 3;  ///< source, destination, doorbell

/// Messages of a slot that wait for each other in a run of a kernel on `ranks`: as many as to all and back
/// from all.
double waits_of(std::uint32_t ranks) { return ranks < 2 ? 1 : 2.0 * std::bit_width(ranks - 1U); }

}  // namespace

bool has_hbm_tensors(const config::machine_config& c, comm::collective what) {
  return c.ccl.tensors == config::tensor_kind::hbm && what != comm::collective::barrier;
}

staged_bytes staged_bytes_of(comm::collective what, double n, std::uint32_t ranks, bool root) {
  const bool in_blocks = comm::size_meaning_of(what) == comm::size_meaning::total;
  const double part = std::max(0.0, n / ranks - longest_element);
  const auto bytes = [&](block_set which) {
    switch (which) {
      case block_set::none: return 0.0;
      case block_set::own: return part;
      case block_set::others: return part * (ranks - 1.0);
      case block_set::all: break;
    }
    return in_blocks ? part * ranks : n;
  };
  const comm::staged_blocks of_rank = comm::staged_blocks_of({what, 0, ranks, 0}, root ? 0 : 1, true);
  return {bytes(of_rank.read), bytes(of_rank.written)};
}

staged_wire staged_wire_of(const config::machine_config& c, const staged_bytes& b) {
  const double payload = wire_rates(c).copy_bytes_per_byte();
  const double alone = d(c.noc.flit_bytes) / d(c.noc.max_packet_bytes);  // a packet's request, or its answer
  return {b.read * payload + b.written * alone, b.written * payload + b.read * alone};
}

double busiest_port_bytes(const fabric::topology& t, const config::machine_config& c,
                          const bound_request& r) {
  const auto ranks = static_cast<std::uint32_t>(r.ranks.members.size());
  const double n = d(r.bytes);
  const staged_bytes of_root = staged_bytes_of(r.what, n, ranks, true);
  const staged_bytes of_others = staged_bytes_of(r.what, n, ranks, false);
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, double> bytes_of_port;
  double most = 0;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const pe_coord pe = r.ranks.members[rank];
    const comm::home_ports home = comm::home_ports_of(c, t.channels(), pe);
    const staged_bytes& own = comm::has_root(r.what) && rank == r.root ? of_root : of_others;
    double& sum = bytes_of_port[{pe.sip.value, pe.cube.value, home.first}];
    sum += (own.read + own.written) / home.count;
    most = std::max(most, sum);
  }
  return most;
}

sim_time copy_departure(const config::machine_config& c) {
  return timing::noc_clock(c).cycles(copy_registers * c.pe.register_cycles + c.pe.dma_launch_cycles +
                                     c.pe.dma_startup_cycles);
}

staged_idle staged_idle_of(const fabric::topology& t, const config::machine_config& c, const comm::group& g) {
  staged_idle least{sim_time::never(), sim_time::never(), sim_time::never()};
  std::set<std::tuple<pe_id, std::uint64_t, std::uint32_t, std::uint32_t>>
      seen;  // other cubes are like these
  for (const pe_coord pe : g.members) {
    const comm::home_ports home = comm::home_ports_of(c, t.channels(), pe);
    const std::uint64_t hop = t.hop_cycles(pe.sip, pe.cube, c.noc.hop_cycles);
    if (!seen.insert({pe.pe, hop, home.first, home.count}).second) continue;
    const abi::node_address here = terminal_of(t, pe);
    for (std::uint32_t port = home.first; port < home.first + home.count; ++port) {
      const abi::node_address there = t.locate(abi::encode({pe.sip, pe.cube, abi::region::hbm, port, 0}));
      const auto both = [&](std::uint32_t request, std::uint32_t answer) {
        return fabric::idle_latency(t, c, here, there, abi::traffic_class::request, request) +
               fabric::idle_latency(t, c, there, here, abi::traffic_class::response, answer);
      };
      const std::uint32_t full = message_flits(c, 1);
      least.fetch = std::min(least.fetch, both(message_flits(c, 0), full));
      least.read = std::min(least.read, copy_departure(c) + least.fetch);
      least.write = std::min(least.write, copy_departure(c) + both(full, message_flits(c, 0)));
    }
  }
  return least;
}

/// With n bytes in chunks of C, rate r and a per chunk, (n / C) a + 2 C / r is least at C = sqrt(n a r / 2).
std::uint64_t best_chunk_bytes(const config::machine_config& c, std::uint32_t ranks, std::uint64_t bytes) {
  const endpoint_costs e = endpoint_costs_of(c);
  const double gbytes_s = d(c.noc.flit_bytes) * c.noc.clock_ghz;
  const double message = (e.send + e.departure + e.arrival + e.wake + e.call + e.vector + e.release).ns() +
                         d(c.ipcq.slot_bytes) / gbytes_s;
  const double best = std::sqrt(d(bytes) * waits_of(ranks) * message * gbytes_s / 2);
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(best));
}

}  // namespace diecast::cost
