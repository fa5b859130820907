// SPDX-License-Identifier: Apache-2.0
#include "models/cost/step_cost.hpp"

#include <algorithm>
#include <cmath>

#include "models/cost/link_loads.hpp"
#include "models/cost/real.hpp"
#include "models/timing/link.hpp"

namespace diecast::cost {
namespace {

/// Bytes per request of the vector unit to the TCM.
constexpr double vector_block = 1024;

}  // namespace

step_cost::step_cost(const fabric::topology& t, const config::machine_config& c)
    : topology_(t), config_(c), cycle_(timing::noc_clock(c).period.ns()) {
  const endpoint_costs e = endpoint_costs_of(c);
  send_ = e.send.ns();
  call_ = e.call.ns();
  wake_ = e.wake.ns();
  register_ = e.release.ns();
  departure_ = e.departure.ns();
  arrival_ = e.arrival.ns();
  task_switch_ = d(c.pe.task_switch_cycles) * cycle_;
  slot_ = d(c.ipcq.slot_bytes);
  packet_ = d(c.noc.max_packet_bytes);
  flit_ = d(c.noc.flit_bytes);
}

double step_cost::vector_ns(double bytes, bool reduces) const {
  if (bytes <= 0) return 0;
  const double lanes = d(config_.pe.vector_lanes) * 2;
  const double banks = d(config_.pe.tcm_banks * config_.pe.tcm_bank_bytes);
  const double latency = d(config_.pe.tcm_read_cycles);
  const double operands = reduces ? 2 : 1;
  const auto block_cycles = [&](double block, bool last) {
    const double stream = std::ceil(block / banks);
    // Two cycles: the request on its way to the banks, the core's half-cycle phase on both sides.
    const double served = std::max(operands * stream + latency, (operands + 1) * stream) + 2;
    return std::max(std::ceil(block / lanes), last ? served : served - latency);
  };
  const double whole = std::ceil(bytes / vector_block) - 1;
  const double cycles = d(config_.pe.vector_startup_cycles) + whole * block_cycles(vector_block, false) +
                        block_cycles(bytes - whole * vector_block, true);
  return cycles * cycle_;
}

double step_cost::hold_ns(double bytes) const {
  if (config_.ipcq.rings != config::buffer_kind::tcm) return take_ns(bytes, false);
  constexpr double registers = 6;  // three of the copy, two to hear of its end, one of the credit
  return call_ + registers * register_;
}

double step_cost::flight_ns(pe_coord from, pe_coord to, double bytes) const {
  const double first = std::min(bytes, packet_);
  const std::uint32_t flits = message_flits(config_, static_cast<std::uint64_t>(std::ceil(first)));
  const sim_time idle = message_idle(topology_, config_, from, to, flits);
  const double packets = std::max(1.0, std::ceil(bytes / packet_));
  const double more = (std::ceil(bytes / flit_) + packets - flits) * flit_ns(from, to);
  return departure_ + idle.ns() + std::max(0.0, more) + arrival_;
}

double step_cost::flit_ns(pe_coord from, pe_coord to) const {
  const double rate = link_loads(topology_, config_).slowest_gbytes_s(from, to);
  return rate > 0 ? std::max(cycle_, flit_ / rate) : cycle_;
}

step_cost::slot_pace step_cost::pace_of(pe_coord from, pe_coord to, const exchange& e) const {
  const double slot = std::min(e.bytes, slot_);
  const double flits = std::ceil(slot / flit_) + std::ceil(slot / packet_);
  const double take = take_ns(slot, e.reduces);
  const double firmware = (e.sends ? send_ : 0) + take + (e.handed_on ? register_ - call_ : 2 * register_);
  // Credits go over the links whatever comm.path is.
  const double credit = fabric::idle_latency(topology_, config_, terminal_of(topology_, to),
                                             terminal_of(topology_, from), abi::traffic_class::comm, 1)
                            .ns() +
                        arrival_;
  // Lanes share the network interface; the links they leave the cube by are different ones.
  return {std::max({flits * cycle_ * e.lanes, flits * flit_ns(from, to), firmware * e.lanes}),
          send_ + flight_ns(from, to, slot) + wake_ + take + credit};
}

double step_cost::slot_interval_ns(pe_coord from, pe_coord to, const exchange& e) const {
  const slot_pace pace = pace_of(from, to, e);
  return std::max(pace.slot_ns, pace.round_trip_ns / d(config_.ipcq.n_slots));
}

double step_cost::more_slots_ns(pe_coord from, pe_coord to, const exchange& e, double more) const {
  if (more <= 0) return 0;
  const slot_pace pace = pace_of(from, to, e);
  const double window = d(config_.ipcq.n_slots);
  const double windows = std::floor(more / window);
  return windows * std::max(pace.round_trip_ns, window * pace.slot_ns) +
         (more - windows * window) * pace.slot_ns;
}

double step_cost::exchange_ns(pe_coord from, pe_coord to, const exchange& e) const {
  if (e.bytes <= 0) return 0;
  const double slot = std::min(e.bytes, slot_);
  const double take = take_ns(slot, e.reduces);
  const double calls = send_ + take - (e.handed_on ? call_ : 0);
  double one = calls + flight_ns(from, to, slot) + wake_;
  if (e.lanes > 1) {
    // The firmware of the other lanes fits into the flight, or does not.
    const double busy = calls + wake_ + task_switch_ + 2 * register_;
    one = std::max(one + task_switch_, busy * e.lanes);
  }
  return one + more_slots_ns(from, to, e, more_slots_of(e.bytes));
}

}  // namespace diecast::cost
