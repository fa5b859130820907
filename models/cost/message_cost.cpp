// SPDX-License-Identifier: Apache-2.0
#include "models/cost/message_cost.hpp"

#include <algorithm>

#include "models/abi/address.hpp"
#include "models/comm/launch_plan.hpp"
#include "models/timing/link.hpp"

namespace diecast::cost {
namespace {

/// A request crosses from one block of a PE to the next in a cycle; a bank serves one block per cycle.
constexpr std::uint64_t handover_cycles = 1;
constexpr std::uint64_t bank_cycles = 1;

}  // namespace

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
  // Written to host memory as a whole, then read as a whole.
  return over(begin, comm::io_cpu_node(t, from.sip)) + staging_idle(c, flits) +
         over(comm::io_cpu_node(t, to.sip), end);
}

}  // namespace diecast::cost
