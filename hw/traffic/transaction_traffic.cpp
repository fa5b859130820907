// SPDX-License-Identifier: Apache-2.0
#include "hw/traffic/transaction_traffic.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "hw/base/time.hpp"
#include "models/events/events.hpp"
#include "models/timing/link.hpp"

namespace diecast::hw {
namespace {

std::uint32_t controller_count(const std::vector<std::uint32_t>& of_node) {
  std::uint32_t count = 0;
  for (const std::uint32_t c : of_node) count = c == traffic::no_controller ? count : std::max(count, c + 1);
  return count;
}

bool has_data(traffic::transaction_op op) {
  return op == traffic::transaction_op::write || op == traffic::transaction_op::posted_write;
}

abi::packet_kind kind_of(traffic::transaction_op op) {
  if (op == traffic::transaction_op::read) return abi::packet_kind::read_request;
  return op == traffic::transaction_op::atomic ? abi::packet_kind::atomic_add
                                               : abi::packet_kind::write_request;
}

}  // namespace

transaction_traffic::transaction_traffic(sc_core::sc_module_name name,
                                         std::span<const fabric::topology* const> networks,
                                         const config::machine_config& config,
                                         const traffic::transaction_plan& plan, packet_pool& pool,
                                         fault_sink& faults)
    : sc_module(name),
      networks_(networks.begin(), networks.end()),
      noc_(config.noc),
      plan_(plan),
      pool_(pool),
      faults_(faults),
      clock_(timing::noc_clock(config)),
      nodes_(static_cast<std::uint32_t>(noc_.columns * noc_.rows)),
      controllers_(traffic::controllers_of(noc_)),
      controller_free_(controller_count(controllers_)),
      tile_free_(nodes_),
      interfaces_(networks_.size() * nodes_),
      streams_(plan.streams.size()) {
  for (unsigned port = 0; port < interfaces_.size(); ++port)
    ends_.emplace_back(fmt::format("interface{}", port).c_str(), static_cast<fabric_owner&>(*this), port);
  for (interface& i : interfaces_) i.leaving.resize(networks_[0]->vcs_per_set());
  for (std::uint32_t s = 0; s < streams_.size(); ++s) at(0, event_kind::issue, s);
}

void transaction_traffic::at(std::uint64_t cycle, event_kind kind, std::uint32_t place,
                             std::uint64_t transaction) {
  events_.push({cycle, kind, place, sequence_++, transaction});
  wake_at(cycle);
}

void transaction_traffic::wake_at(std::uint64_t cycle) {
  if (cycle >= armed_) return;
  armed_ = cycle;
  wake_.set(clock_.cycles(cycle));
}

void transaction_traffic::act() {
  guarded(faults_, name(), [this] { serve(); });
}

/// Handles due events. Their packets may leave in this cycle; other modules' announcements act later.
void transaction_traffic::serve() {
  const std::uint64_t cycle = now().fs / clock_.period.fs;
  armed_ = UINT64_MAX;
  while (!events_.empty() && events_.top().cycle <= cycle) {
    const event e = events_.top();
    events_.pop();
    handle(e);
  }
  if (!events_.empty()) wake_at(events_.top().cycle);
}

void transaction_traffic::handle(const event& e) {
  switch (e.kind) {
    case event_kind::answered:
    case event_kind::posted: return answered(e.transaction, e.cycle);
    case event_kind::served: return served(e.place, e.cycle);
    case event_kind::respond: return respond(e.place, e.cycle);
    case event_kind::issue: return advance(e.place, e.cycle);
  }
}

/// Issues the operations that are due. Barriers do not move an operation with a recorded time.
void transaction_traffic::advance(std::uint32_t s, std::uint64_t cycle) {
  stream& own = streams_[s];
  const auto& operations = plan_.streams[s].operations;
  while (own.next < operations.size()) {
    const traffic::transaction& t = operations[own.next];
    if (!t.at && own.in_barrier) return;
    const std::uint64_t due = t.at ? *t.at : own.base + t.after;
    if (due > cycle) return at(due, event_kind::issue, s);
    if (t.op != traffic::transaction_op::barrier && own.under_way >= noc_.window) return;
    ++own.next;
    own.base = cycle;
    own.in_barrier = false;
    if (t.op == traffic::transaction_op::barrier) {
      start_barrier(s, cycle);
    } else {
      issue(s, t, cycle);
    }
  }
}

void transaction_traffic::issue(std::uint32_t s, const traffic::transaction& t, std::uint64_t cycle) {
  const traffic::transaction_stream& where = plan_.streams[s];
  const std::uint64_t number = transactions_.size();
  const std::uint64_t packets =
      t.op == traffic::transaction_op::atomic
          ? 1
          : std::max<std::uint64_t>(1, (t.bytes + noc_.max_packet_bytes - 1) / noc_.max_packet_bytes);
  transactions_.push_back({s, static_cast<std::uint32_t>(packets), streams_[s].barriers, t.op, t.bytes});
  ++streams_[s].under_way;
  ++results_.issued;
  results_.first_issue = std::min(results_.first_issue, cycle);
  abi::packet_header h;
  h.kind = kind_of(t.op);
  h.source = {0, 0, static_cast<std::uint16_t>(where.core)};
  h.destination = {0, 0, static_cast<std::uint16_t>(t.target)};
  h.transaction = number;
  for (std::uint64_t sent = 0, k = 0; k < packets; ++k, sent += noc_.max_packet_bytes) {
    const auto bytes = static_cast<std::uint32_t>(std::min(t.bytes - sent, noc_.max_packet_bytes));
    h.request_bytes = t.op == traffic::transaction_op::read ? bytes : 0;
    h.payload_bytes = has_data(t.op) ? bytes : 0;
    const std::uint32_t flits = 1 + data_flits(h.payload_bytes);
    send(where.network * nodes_ + where.core, abi::traffic_class::request, h, flits, cycle,
         cycle + flits - 1);
  }
}

void transaction_traffic::start_barrier(std::uint32_t s, std::uint64_t cycle) {
  stream& own = streams_[s];
  const traffic::transaction_stream& where = plan_.streams[s];
  const open_barrier b{own.barriers++, results_.barriers.size(), own.under_way};
  results_.barriers.push_back({where.core, where.network, cycle, 0});
  results_.first_issue = std::min(results_.first_issue, cycle);
  own.in_barrier = true;
  if (b.waits_for == 0) return end_barrier(s, b, own.last_done);
  own.open.push_back(b);
}

/// `done`: cycle of the last response.
void transaction_traffic::end_barrier(std::uint32_t s, const open_barrier& b, std::uint64_t done) {
  stream& own = streams_[s];
  barrier& result = results_.barriers[b.result];
  const std::uint64_t end = std::max(result.issue + noc_.barrier_cycles, done + noc_.completion_cycles);
  result.latency = end - result.issue;
  results_.last = std::max(results_.last, end);
  if (!own.in_barrier || b.number + 1 != own.barriers) return;  // later operations had times of their own
  own.in_barrier = false;
  own.base = end;
  at(std::max(end, now().fs / clock_.period.fs), event_kind::issue, s);
}

/// Counts a packet as done: it is answered or, for a posted write, has left.
void transaction_traffic::answered(std::uint64_t number, std::uint64_t cycle) {
  active& t = transactions_.at(number);
  if (--t.packets != 0) return;
  stream& own = streams_[t.stream];
  --own.under_way;
  ++results_.completed;
  results_.bytes[static_cast<std::size_t>(t.op)] += t.bytes;
  results_.last = std::max(results_.last, cycle);
  own.last_done = cycle;
  for (open_barrier& b : own.open) {
    if (b.number < t.epoch || --b.waits_for != 0) continue;
    end_barrier(t.stream, b, cycle);
  }
  std::erase_if(own.open, [](const open_barrier& b) { return b.waits_for == 0; });
  advance(t.stream, cycle);
}

void transaction_traffic::send(std::uint32_t place, abi::traffic_class c, const abi::packet_header& h,
                               std::uint32_t flits, std::uint64_t cycle, std::uint64_t last) {
  const fabric::topology& topology = *networks_[place / nodes_];
  interface& from = interfaces_[place];
  unsigned vc_number = 0;
  if (c == abi::traffic_class::request) {
    if (flits > 1) vc_number = from.writes++ % topology.vcs_per_set();
    from.leaving[vc_number].emplace_back(h.transaction, flits);
  } else {
    from.response_flits = flits;
  }
  packet_ptr p = pool_.make();
  p->header = h;
  p->flits = flits;
  p->created = clock_.cycles(cycle);
  ++results_.made;
  ends_[place].send_packet(std::move(p), topology.vc(c, 0, vc_number), flits,
                           clock_.cycles(cycle + noc_.ni_in_cycles), clock_.cycles(last + noc_.ni_in_cycles));
}

void transaction_traffic::on_packet(unsigned port, packet_ptr&& p, const fabric_phase& phase) {
  const std::uint64_t tail = clock_.cycles_covering(phase.tail);
  ++results_.delivered;
  const std::uint64_t flow = std::uint64_t{p->header.source.terminal} << 48 |
                             std::uint64_t{p->header.destination.terminal} << 32 | phase.flits;
  results_.fingerprint += events::mix(events::mix(flow, p->header.transaction), tail);
  if (class_of(p->header.kind) == abi::traffic_class::response)
    return at(tail, event_kind::answered, port, p->header.transaction);
  take_request(port, *p, phase.vc, tail);
}

/// A controller serves requests in the order of their announcements, thus of their last flits.
void transaction_traffic::take_request(std::uint32_t place, const packet& p, std::uint8_t vc,
                                       std::uint64_t cycle) {
  const std::uint32_t controller = controllers_[place % nodes_];
  request r{p.header.source, p.header.kind, vc, p.header.transaction, p.header.request_bytes, 0, 0, false};
  if (controller == traffic::no_controller) {
    r.first = cycle + noc_.access_cycles;
    r.last = r.first + data_flits(r.bytes);
  } else {
    const double cycles = static_cast<double>(std::max(p.header.request_bytes, p.header.payload_bytes)) /
                          noc_.dram_bytes_per_cycle;
    double& free = controller_free_[controller];
    const double start = std::max(free, static_cast<double>(cycle + noc_.dram_access_cycles));
    free = start + cycles;
    r.first = static_cast<std::uint64_t>(std::ceil(start));
    r.last = std::max(r.first + data_flits(r.bytes), static_cast<std::uint64_t>(std::ceil(free)));
  }
  interface& own = interfaces_[place];
  own.requests.push_back(r);
  if (own.requests.size() == 1) at(r.first, event_kind::respond, place);
}

/// Time at which a core's memory delivers the data of a response. It serves one response after the other,
/// faster than a network takes them.
std::uint64_t transaction_traffic::read_from(std::uint32_t node, request& r, std::uint64_t cycle) {
  if (r.reading || r.bytes == 0 || controllers_[node] != traffic::no_controller) return cycle;
  r.reading = true;
  const double start = std::max(tile_free_[node], static_cast<double>(cycle));
  tile_free_[node] = start + r.bytes / noc_.tile_bytes_per_cycle;
  return static_cast<std::uint64_t>(std::ceil(start));
}

/// The request in front is answered.
void transaction_traffic::respond(std::uint32_t place, std::uint64_t cycle) {
  interface& own = interfaces_[place];
  request& r = own.requests.front();
  if (const std::uint64_t start = read_from(place % nodes_, r, cycle); start > cycle)
    return at(start, event_kind::respond, place);
  if (transactions_.at(r.transaction).op == traffic::transaction_op::posted_write)
    return served(place, cycle);
  abi::packet_header h;
  h.kind = r.kind == abi::packet_kind::read_request ? abi::packet_kind::read_response
                                                    : abi::packet_kind::write_response;
  h.source = {0, 0, static_cast<std::uint16_t>(place % nodes_)};
  h.destination = r.from;
  h.payload_bytes = r.bytes;
  h.transaction = r.transaction;
  const std::uint32_t flits = 1 + data_flits(r.bytes);
  send(place, abi::traffic_class::response, h, flits, cycle, std::max(r.last, cycle + flits - 1));
}

/// The response has left: the next request may be answered, and another one may come.
void transaction_traffic::served(std::uint32_t place, std::uint64_t cycle) {
  interface& own = interfaces_[place];
  ends_[place].send_credit(own.requests.front().vc, 1, clock_.cycles(cycle + noc_.credit_cycles));
  own.requests.pop_front();
  if (!own.requests.empty()) at(std::max(cycle, own.requests.front().first), event_kind::respond, place);
}

/// Flits have left the interface.
void transaction_traffic::on_credit(unsigned port, const fabric_phase& phase) {
  const std::uint64_t next = clock_.cycles_covering(phase.head) - noc_.credit_cycles + 1;
  interface& from = interfaces_[port];
  const fabric::topology& topology = *networks_[port / nodes_];
  if (topology.class_of(phase.vc) == abi::traffic_class::response) {
    from.response_flits -= phase.flits;
    if (from.response_flits == 0) at(next, event_kind::served, port);
    return;
  }
  for (std::uint32_t flits = phase.flits; flits > 0;) {
    auto& leaving = from.leaving.at(phase.vc % topology.vcs_per_set());
    const std::uint32_t some = std::min(flits, leaving.front().second);
    flits -= some;
    if ((leaving.front().second -= some) != 0) continue;
    const std::uint64_t number = leaving.front().first;
    leaving.pop_front();
    if (transactions_.at(number).op == traffic::transaction_op::posted_write)
      at(next, event_kind::posted, port, number);
  }
}

std::uint64_t transaction_traffic::unfinished() const {
  std::uint64_t count = results_.issued - results_.completed;
  for (std::size_t s = 0; s < streams_.size(); ++s)
    count += plan_.streams[s].operations.size() - streams_[s].next;
  return count;
}

}  // namespace diecast::hw
