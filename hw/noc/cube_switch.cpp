// SPDX-License-Identifier: Apache-2.0
// The routers of a cube: requests, arbitration, grants and credits.
#include <algorithm>
#include <fmt/format.h>

#include "hw/noc/cube_noc.hpp"
#include "models/types/error.hpp"

namespace diecast::hw {

void cube_noc::act() {
  cycle_ = current_cycle();
  ++counters_.activations;
  open_inbox();
  wheel_.take(cycle_, [this](std::uint32_t o) { evaluate(o); });
  deliver_wires();
  wake_.cancel();  // announcements of this instant may have asked for a wake-up before they were judged
  armed_ = never;
  arm(wheel_.next(cycle_ + 1));
  if (!wire_arrivals_.empty()) arm(wire_arrivals_.front().cycle);
  for (const announced_packet& a : packet_inbox_) arm(slots_[a.slot].ready);
  for (const announced_credit& a : credit_inbox_) {
    if (starved(a.out_port, a.vc)) arm(a.cycle);
  }
}

/// One look at an output: grant the requester whose turn it is, then find out when the next one might
/// be granted.
void cube_noc::evaluate(std::uint32_t o) {
  ++counters_.wakeups;
  out_port& out = out_ports_[o];
  out.scheduled = never;
  if (std::uint32_t* winner = choose(o)) grant(o, winner);
  out.starved = 0;
  std::uint64_t next = never;
  for (std::uint32_t iv = out.requesters; iv != none; iv = in_vcs_[iv].next_requester) {
    next = std::min(next, next_chance(o, slots_[in_vcs_[iv].first], cycle_ + 1));
  }
  if (next != never) schedule(o, next);
}

/// The requester to grant now, as the link that points to it; null when there is none. Round robin over
/// input ports, then over the VCs of the port.
///
/// Two outputs may want the same input in one class, and the lower one is always asked first. A VC that
/// found everything ready but its input taken therefore claims the input: it goes first when the input
/// is free again, unless its output is not ready then.
std::uint32_t* cube_noc::choose(std::uint32_t o) {
  out_port& out = out_ports_[o];
  std::uint32_t* best = nullptr;
  std::uint64_t best_distance = never;
  for (std::uint32_t* link = &out.requesters; *link != none; link = &in_vcs_[*link].next_requester) {
    const std::uint32_t iv = *link;
    const slot& s = slots_[in_vcs_[iv].first];
    if (!output_ready(out, o, s)) continue;
    in_port& in = in_ports_[s.in_port];
    if (!in.link.free(s.traffic_class, cycle_)) {
      if (in.claim == none) in.claim = iv;
      continue;
    }
    if (in.claim != none && in.claim != iv && claimed_by_other(in, s)) continue;
    const std::uint32_t port_distance = s.in_port - out.last_in_port - 1;
    const std::uint8_t vc_distance = static_cast<std::uint8_t>(s.vc - in.last_vc - 1);
    const std::uint64_t distance = (std::uint64_t{port_distance} << 8) | vc_distance;
    if (distance < best_distance) {
      best_distance = distance;
      best = link;
    }
  }
  return best;
}

bool cube_noc::output_ready(const out_port& out, std::uint32_t o, const slot& s) {
  if (s.ready > cycle_ || !out.link.free(s.traffic_class, cycle_)) return false;
  out_vc& ov = out_vcs_[vc_index(o, s.vc)];
  if (ov.first != none) take_credits(ov);
  return ov.credits >= room_needed(s) && !owned_by_other(ov, s);
}

bool cube_noc::claimed_by_other(const in_port& in, const slot& s) {
  const slot& claimant = slots_[in_vcs_[in.claim].first];
  if (claimant.traffic_class != s.traffic_class) return false;
  const std::uint32_t o = output_of(in.router, claimant.exit);
  return output_ready(out_ports_[o], o, claimant);
}

void cube_noc::grant(std::uint32_t o, std::uint32_t* link_to_requester) {
  out_port& out = out_ports_[o];
  const std::uint32_t iv = *link_to_requester;
  in_vc& queue = in_vcs_[iv];
  out_vc& ov = out_vcs_[vc_index(o, slots_[queue.first].vc)];
  std::uint32_t index = queue.first;
  if (slots_[index].flits > ov.credits) {
    index = split(index, ov.credits);  // the rest stays in front of the queue
  } else {
    queue.first = slots_[index].next;
  }
  const slot& s = slots_[index];
  in_port& in = in_ports_[s.in_port];
  const unsigned c = s.traffic_class;

  if (s.ready < cycle_) {
    const std::uint64_t could_start = std::max(out.link.earliest(c, s.ready), in.link.earliest(c, s.ready));
    if (could_start < cycle_) out.usage.credit_stall_cycles += cycle_ - could_start;
  }
  const std::uint64_t end =
      std::max({out.link.finish(c, cycle_, s.flits), in.link.finish(c, cycle_, s.flits), s.tail_ready + 1});
  out.link.grant(c, cycle_, s.flits, end);
  in.link.grant(c, cycle_, s.flits, end);
  out.last_in_port = s.in_port;
  in.last_vc = s.vc;
  if (in.claim == iv) in.claim = none;
  ov.credits -= s.flits;
  ov.owner = s.tail ? none : iv;
  out.usage.packets += s.tail ? 1 : 0;
  out.usage.flits += s.flits;
  if (hub_.wants(events::links)) publish(link_of(out), s, cycle_, end);

  *link_to_requester = queue.next_requester;
  queue.flits -= s.flits;
  return_credits(in, s, end);
  if (queue.first != none) request(iv, cycle_ + 1);
  move_on(index, o, end);
}

/// Cuts the first `flits` off a packet into a chunk of their own. Where in the gaps of a slow packet the
/// cut falls is not known; the rest counts as arriving without gaps, at the latest.
std::uint32_t cube_noc::split(std::uint32_t index, std::uint32_t flits) {
  const std::uint32_t chunk_index = take_slot();
  slot& chunk = slots_[chunk_index];
  slot& rest = slots_[index];
  chunk = rest;
  rest.flits -= flits;
  chunk.flits = flits;
  chunk.tail = false;
  chunk.tail_ready = rest.tail_ready - rest.flits;
  rest.ready = chunk.tail_ready + 1;
  return chunk_index;
}

/// Appends a chunk to the last one in the queue if that is of the same packet and there is no gap.
bool cube_noc::merge(const in_vc& queue, std::uint32_t index) {
  slot& last = slots_[queue.last];
  const slot& chunk = slots_[index];
  if (last.tail || &*last.p != &*chunk.p || chunk.ready > last.tail_ready + 1) return false;
  last.flits += chunk.flits;
  last.tail_ready = chunk.tail_ready;
  last.tail = chunk.tail;
  free_slot(index);
  return true;
}

/// To the next router's buffer, or out of the cube.
void cube_noc::move_on(std::uint32_t index, std::uint32_t o, std::uint64_t end) {
  const out_port& out = out_ports_[o];
  if (out.downstream == none) {
    eject(index, out, end);
    return;
  }
  slot& s = slots_[index];
  counters_.packet_hops += s.tail ? 1 : 0;
  counters_.flit_hops += s.flits;
  s.ready = cycle_ + timing_.hop_cycles;
  s.tail_ready = end - 1 + timing_.hop_cycles;
  s.in_port = out.downstream;
  enqueue(index, cycle_ + 1);
}

/// The wall hears of a packet when its last chunk leaves; the block's buffer holds the earlier ones.
void cube_noc::eject(std::uint32_t index, const out_port& out, std::uint64_t end) {
  slot& s = slots_[index];
  if (s.tail) {
    const std::uint64_t ni = timing_.ni_out_cycles;
    const std::uint32_t flits = s.p->flits;
    outs_[out.terminal].send_packet(std::move(s.p), s.vc, flits, timing_.clock.cycles(cycle_ + ni),
                                    timing_.clock.cycles(end - 1 + ni));
  }
  free_slot(index);
}

void cube_noc::return_credits(const in_port& in, const slot& s, std::uint64_t end) {
  const std::uint64_t usable = timing::batch_usable(cycle_, end - 1, s.flits, 1) + credit_cycles_;
  if (in.upstream != none) {
    add_credit(in.upstream, s.vc, s.flits, usable);
  } else {
    ins_[in.terminal].send_credit(s.vc, s.flits, timing_.clock.cycles(usable));
  }
}

void cube_noc::enqueue(std::uint32_t index, std::uint64_t from) {
  slot& s = slots_[index];
  s.next = none;
  const std::uint32_t iv = vc_index(s.in_port, s.vc);
  in_vc& queue = in_vcs_[iv];
  queue.flits += s.flits;
  const auto& capacity = in_ports_[s.in_port].upstream == none ? inject_capacity_ : capacity_;
  if (queue.flits > capacity[s.vc]) {
    throw protocol_error(
        fmt::format("{}: buffer of VC {} at router {} holds {} flits (expected at most {}): "
                    "a packet came without credits",
                    this->name(), s.vc, in_ports_[s.in_port].router, queue.flits, capacity[s.vc]));
  }
  if (queue.first != none) {
    if (wormhole_ && merge(queue, index)) return;
    slots_[queue.last].next = index;
    queue.last = index;
    return;
  }
  queue.first = queue.last = index;
  request(iv, from);
}

void cube_noc::request(std::uint32_t iv, std::uint64_t from) {
  in_vc& queue = in_vcs_[iv];
  const slot& s = slots_[queue.first];
  const std::uint32_t o = output_of(in_ports_[s.in_port].router, s.exit);
  queue.next_requester = out_ports_[o].requesters;
  out_ports_[o].requesters = iv;
  const std::uint64_t next = next_chance(o, s, from);
  if (next != never) schedule(o, next);
}

/// The first cycle from `from` on in which the packet might be granted, as far as is known now; never
/// when it needs credits that nobody has returned yet (add_credit then wakes the output).
std::uint64_t cube_noc::next_chance(std::uint32_t o, const slot& s, std::uint64_t from) {
  out_port& out = out_ports_[o];
  const std::uint64_t ready = std::max(s.ready, from);
  const std::uint64_t cycle = std::max(out.link.earliest(s.traffic_class, ready),
                                       in_ports_[s.in_port].link.earliest(s.traffic_class, ready));
  const out_vc& ov = out_vcs_[vc_index(o, s.vc)];
  if (owned_by_other(ov, s)) return never;  // the grant of the owner's tail looks at all requesters
  if (ov.credits >= room_needed(s)) return cycle;
  const std::uint64_t credit = credit_cycle(ov, room_needed(s));
  if (credit == never) {
    out.starved |= std::uint64_t{1} << s.vc;
    return never;
  }
  return std::max(cycle, credit);
}

std::uint32_t cube_noc::output_of(std::uint16_t router, std::uint16_t exit) const {
  const unsigned side = topology_.next_side(sip_, cube_, router, exit);
  return side == fabric::sides ? terminal_ports_[exit] : side_ports_[router][side];
}

void cube_noc::add_credit(std::uint32_t o, std::uint8_t vc, std::uint32_t flits, std::uint64_t cycle) {
  out_port& out = out_ports_[o];
  out_vc& ov = out_vcs_[vc_index(o, vc)];
  std::uint32_t index = free_returning_;
  if (index == none) {
    index = static_cast<std::uint32_t>(returning_.size());
    returning_.emplace_back();
  } else {
    free_returning_ = returning_[index].next;
  }
  returning_[index] = {cycle, flits, none};
  insert_in_order(ov, index);
  if (!starved(o, vc)) return;
  for (std::uint32_t iv = out.requesters; iv != none; iv = in_vcs_[iv].next_requester) {
    const slot& s = slots_[in_vcs_[iv].first];
    if (s.vc != vc) continue;
    const std::uint64_t next = next_chance(o, s, cycle_);
    if (next != never) schedule(o, next);
  }
}

void cube_noc::insert_in_order(out_vc& ov, std::uint32_t credit) {
  if (ov.first == none) {
    ov.first = ov.last = credit;
    return;
  }
  if (returning_[ov.last].cycle <= returning_[credit].cycle) {
    returning_[ov.last].next = credit;
    ov.last = credit;
    return;
  }
  std::uint32_t* link = &ov.first;
  while (returning_[*link].cycle <= returning_[credit].cycle) link = &returning_[*link].next;
  returning_[credit].next = *link;
  *link = credit;
}

/// Makes the credits usable that are back by now.
void cube_noc::take_credits(out_vc& ov) {
  while (ov.first != none && returning_[ov.first].cycle <= cycle_) {
    const std::uint32_t index = ov.first;
    ov.credits += returning_[index].flits;
    ov.first = returning_[index].next;
    returning_[index].next = free_returning_;
    free_returning_ = index;
  }
  if (ov.first == none) ov.last = none;
}

/// When enough of the credits on their way are back; never when they are too few.
std::uint64_t cube_noc::credit_cycle(const out_vc& ov, std::uint32_t flits) const {
  std::uint32_t credits = ov.credits;
  for (std::uint32_t index = ov.first; index != none; index = returning_[index].next) {
    credits += returning_[index].flits;
    if (credits >= flits) return returning_[index].cycle;
  }
  return never;
}

/// Enters the output for its earliest chance. Later chances are found when it is evaluated.
void cube_noc::schedule(std::uint32_t o, std::uint64_t cycle) {
  out_port& out = out_ports_[o];
  const std::uint64_t due = std::min(cycle, cycle_ + wheel_.span() - 1);
  if (due >= out.scheduled) return;
  if (out.scheduled != never) wheel_.remove(out.scheduled, o);
  out.scheduled = due;
  wheel_.put(due, o);
  arm(due);
}

}  // namespace diecast::hw
