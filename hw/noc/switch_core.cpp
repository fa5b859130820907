// SPDX-License-Identifier: Apache-2.0
// Packets in and out, requests and grants. switch_allocation.cpp chooses, switch_sharing.cpp times transfers,
// switch_credits.cpp counts room.
#include "hw/noc/switch_core.hpp"

#include <algorithm>
#include <bit>
#include <fmt/format.h>

#include "models/timing/shared_link.hpp"
#include "models/types/error.hpp"

namespace diecast::hw {
namespace {

/// Cycles ahead that outputs are entered into the calendar; an output due later is looked at earlier.
std::uint32_t calendar_span(const switch_core::parameters& p) {
  std::uint64_t longest = 5 * std::uint64_t{p.longest_packet};
  std::uint64_t stages = 0;
  for (const switch_core::port& port : p.ports) {
    stages = std::max<std::uint64_t>(stages, port.latency + port.head_delay + port.credit_cycles);
  }
  longest += stages;
  return static_cast<std::uint32_t>(std::bit_ceil(std::clamp<std::uint64_t>(2 * longest, 64, 4096)));
}

}  // namespace

switch_core::switch_core(const parameters& p, surroundings& around)
    : around_(around),
      vcs_(p.vcs),
      wormhole_(p.wormhole),
      overlap_(p.overlap),
      classes_(p.classes),
      class_of_vc_(p.class_of_vc),
      weights_(p.weights),
      ins_(p.ports.size()),
      outs_(p.ports.size()),
      in_vcs_(p.ports.size() * p.vcs),
      out_vcs_(p.ports.size() * p.vcs),
      on_in_(p.ports.size() * p.classes),
      on_out_(p.ports.size() * p.classes),
      courses_(p.classes > 1 ? p.ports.size() * p.classes : 0),
      initial_credits_(p.ports.size() * p.vcs),
      used_(p.ports.size()),
      fills_(p.ports.size() * p.vcs),
      all_vcs_(p.vcs == max_vcs ? ~std::uint64_t{0} : (std::uint64_t{1} << p.vcs) - 1),
      wheel_(static_cast<std::uint32_t>(p.ports.size()), calendar_span(p)) {
  for (std::uint32_t n = 0; n < p.ports.size(); ++n) {
    const port& from = p.ports[n];
    ins_[n].router = from.router;
    ins_[n].head_delay = from.head_delay;
    ins_[n].body_delay = from.body_delay;
    ins_[n].credit_cycles = from.credit_cycles;
    ins_[n].reroute_delay = overlap_ ? 0 : from.head_delay;
    ins_[n].alloc_cycles = overlap_ ? 0 : from.alloc_cycles;
    outs_[n].hop = from.hop;
    outs_[n].downstream = from.downstream;
    outs_[n].latency = from.latency;
    if (from.downstream != none) ins_[from.downstream].upstream = n;
    for (std::uint8_t vc = 0; vc < vcs_; ++vc) {
      fills_[vc_index(n, vc)].capacity = from.buffer[vc];
      out_vcs_[vc_index(n, vc)].credits = initial_credits_[vc_index(n, vc)] = from.credits[vc];
      in_vcs_[vc_index(n, vc)].port = n;
      in_vcs_[vc_index(n, vc)].vc = vc;
    }
  }
}

void switch_core::arrive(const arrival& a, packet_ptr p) {
  const std::uint32_t index = take_slot();
  slot& s = slots_[index];
  s.ready = a.head + ins_[a.input].head_delay;
  s.tail_ready = std::max(s.ready, a.tail + ins_[a.input].body_delay);
  s.p = std::move(p);
  s.flits = a.flits;
  s.in_vc = vc_index(a.input, a.vc);
  s.came_from = none;
  s.exit = a.exit;
  s.head = s.tail = true;
  enqueue(index, cycle_);
}

void switch_core::run() {
  std::uint32_t router = none;
  wheel_.take(cycle_, [&](std::uint32_t o) {
    if (ins_[o].router != router) settle();
    router = ins_[o].router;
    look(o);
  });
  settle();
}

/// First half of the allocation: an output that is due chooses among its requesters. Most of the time one
/// is ready and the others, if any, are still being routed.
void switch_core::look(std::uint32_t o) {
  out_port& out = outs_[o];
  ++counters_.looks;
  out.scheduled = never;
  out.starved = 0;
  std::uint32_t ready = none;
  std::uint64_t next = never;  // when another one is
  bool alone = true;
  for (std::uint32_t iv = out.requesters; iv != none; iv = in_vcs_[iv].next_requester) {
    const std::uint64_t at = in_vcs_[iv].front_ready;
    if (at > cycle_) {
      next = std::min(next, at);
    } else {
      alone = ready == none;
      ready = iv;
    }
  }
  choice c{o, none, 0, never, never};
  if (ready == none) {
    if (next != never) schedule(o, next);
  } else if (alone ? choose_alone(ready, c) : choose(o, c)) {
    if (alone) c.next = next;
    c.alone = alone;
    choices_.push_back(c);
  } else {
    look_again(o);
  }
}

/// Second half: every input accepts one output of the router. The others have lost the cycle.
void switch_core::settle() {
  if (choices_.empty()) return;
  if (choices_.size() > 1) accept();
  for (const choice& c : choices_) {
    if (c.in_vc != none) grant(c);
  }
  for (const choice& c : choices_) {
    if (c.in_vc == none || !c.alone || classes_ > 1) {
      look_again(c.output);
    } else if (c.next != never) {
      schedule(c.output, std::max(c.next, on_out_[c.output].end));
    }
  }
  choices_.clear();
}

void switch_core::accept() {
  for (std::size_t k = 0; k < choices_.size(); ++k) {
    for (std::size_t m = k + 1; m < choices_.size(); ++m) {
      if (choices_[k].in_vc == none || choices_[m].in_vc == none) continue;
      const std::uint32_t input = in_vcs_[choices_[k].in_vc].port;
      if (in_vcs_[choices_[m].in_vc].port != input) continue;
      const std::uint32_t from = ins_[input].accept_from;
      const bool first = choices_[k].output - from < choices_[m].output - from;
      choices_[first ? m : k].in_vc = none;
    }
  }
}

/// When the output's next chance is, as far as is known now.
void switch_core::look_again(std::uint32_t o) {
  out_port& out = outs_[o];
  out.starved = 0;
  std::uint64_t next = never;
  for (std::uint32_t iv = out.requesters; iv != none; iv = in_vcs_[iv].next_requester) {
    next = std::min(next, next_chance(o, in_vcs_[iv], cycle_ + 1));
  }
  if (next != never) schedule(o, next);
}

void switch_core::grant(const choice& c) {
  out_port& out = outs_[c.output];
  in_vc& queue = in_vcs_[c.in_vc];
  in_port& in = ins_[queue.port];
  out_vc& ov = out_vcs_[vc_index(c.output, c.vc)];
  std::uint32_t index = queue.first;
  if (slots_[index].flits > ov.credits) {
    index = split(index, ov.credits);  // the rest stays in front of the queue
  } else {
    queue.first = slots_[index].next;
  }
  const slot& s = slots_[index];
  usage& used = used_[c.output];
  if (queue.front_ready < cycle_) used.credit_stall_cycles += stalled(c, queue);
  const std::uint64_t end = start_transfer(c, index);
  ov.credits -= s.flits;
  if (credits_observed_) {
    around_.credits_changed(c.output, c.vc, -static_cast<std::int32_t>(s.flits), cycle_, cycle_, cycle_);
  }
  const std::uint64_t bit = std::uint64_t{1} << c.vc;
  out.taken = s.tail ? out.taken & ~bit : out.taken | bit;
  if (s.tail) ov.free_from = end;
  if (!queue.allocated) --out.without_vc;
  queue.allocated = !s.tail;
  queue.bound = c.vc;
  out.grant_from = queue.port + 1;
  out.next_vc = static_cast<std::uint8_t>(c.vc + 1);
  in.accept_from = c.output + 1;
  in.next_vc = static_cast<std::uint8_t>(queue.vc + 1);
  used.packets += s.tail ? 1 : 0;
  used.flits += s.flits;
  if (observed_) around_.occupied(c.output, c.vc, s.flits, cycle_, end);

  std::uint32_t* link = &out.requesters;
  while (*link != c.in_vc) link = &in_vcs_[*link].next_requester;
  *link = queue.next_requester;
  fills_[c.in_vc].flits -= s.flits;
  return_credits(queue.port, queue.vc, s.flits, end);
  if (queue.first != none) request(c.in_vc, cycle_ + 1);
  move_on(index, c.output, c.vc, end);
}

/// Cycles the packet could have started earlier but for credits.
std::uint64_t switch_core::stalled(const choice& c, const in_vc& queue) const {
  const std::uint64_t could_start =
      std::max({queue.front_ready, out_free(c.output, queue), outs_[c.output].next_start, in_free(queue)});
  return cycle_ - std::min(cycle_, could_start);
}

/// Cuts the first `flits` off a packet into a chunk of their own. Where in the gaps of a slow packet the
/// cut falls is not known; the rest counts as arriving without gaps, at the latest.
std::uint32_t switch_core::split(std::uint32_t index, std::uint32_t flits) {
  const std::uint32_t chunk_index = take_slot();
  slot& chunk = slots_[chunk_index];
  slot& rest = slots_[index];
  chunk = rest;
  rest.flits -= flits;
  chunk.flits = flits;
  chunk.tail = false;
  chunk.tail_ready =
      std::max(rest.ready, rest.tail_ready - std::min<std::uint64_t>(rest.flits, rest.tail_ready));
  rest.ready = std::min(chunk.tail_ready + 1, rest.tail_ready);
  rest.head = false;
  return chunk_index;
}

/// Appends a chunk to the last one in the queue if that is of the same packet and there is no gap.
bool switch_core::merge(in_vc& queue, std::uint32_t index) {
  slot& last = slots_[queue.last];
  const slot& chunk = slots_[index];
  if (last.tail || &*last.p != &*chunk.p || chunk.ready > last.tail_ready + 1) return false;
  last.flits += chunk.flits;
  last.tail_ready = std::max(chunk.tail_ready, last.tail_ready + chunk.flits);
  last.tail = chunk.tail;
  in_vcs_[chunk.came_from].moving = queue.last;
  free_slot(index);
  return true;
}

/// To the next router's buffer, or out.
void switch_core::move_on(std::uint32_t index, std::uint32_t o, std::uint8_t vc, std::uint64_t end) {
  const out_port& out = outs_[o];
  slot& s = slots_[index];
  if (out.downstream == none) {
    around_.eject({o, vc, s.tail, s.flits, cycle_, end - 1}, std::move(s.p));
    free_slot(index);
    return;
  }
  const in_port& next = ins_[out.downstream];
  if (out.hop) {
    counters_.packet_hops += s.tail ? 1 : 0;
    counters_.flit_hops += s.flits;
  }
  s.ready = cycle_ + out.latency + (s.head ? next.head_delay : next.body_delay);
  s.tail_ready = std::max(s.ready, end - 1 + out.latency + next.body_delay);
  s.came_from = s.in_vc;
  s.in_vc = vc_index(out.downstream, vc);
  enqueue(index, cycle_ + 1);
}

void switch_core::return_credits(std::uint32_t input, std::uint8_t vc, std::uint32_t flits,
                                 std::uint64_t end) {
  const std::uint64_t delay = ins_[input].credit_cycles;
  const std::uint64_t usable = timing::batch_usable(cycle_, end - 1, flits, 1) + delay;
  const std::uint32_t upstream = ins_[input].upstream;
  if (upstream == none) {
    around_.return_credit(input, vc, flits, usable);
  } else if (wormhole_) {
    announce_credit(upstream, vc, flits, usable, usable);
  } else {
    announce_credit(upstream, vc, flits, (flits == 1 ? end - 1 : cycle_) + delay, end - 1 + delay);
  }
}

/// To a router of this network: credits of outputs that leave it are the surroundings' to tell.
void switch_core::announce_credit(std::uint32_t output, std::uint8_t vc, std::uint32_t flits,
                                  std::uint64_t first, std::uint64_t last) {
  add_credit(output, vc, flits, first, last);
  if (!credits_observed_) return;
  around_.credits_changed(output, vc, static_cast<std::int32_t>(flits), first, last, last);
}

void switch_core::enqueue(std::uint32_t index, std::uint64_t from) {
  slot& s = slots_[index];
  s.next = none;
  in_vc& queue = in_vcs_[s.in_vc];
  fill& f = fills_[s.in_vc];
  f.flits += s.flits;
  if (f.flits > f.capacity) {
    throw protocol_error(
        fmt::format("buffer of VC {} at router {} holds {} flits (expected at most {}): "
                    "a packet came without credits",
                    queue.vc, ins_[queue.port].router, f.flits, f.capacity));
  }
  if (queue.first != none) {
    if (wormhole_ && merge(queue, index)) return;
    slots_[queue.last].next = index;
    queue.last = index;
    return;
  }
  queue.first = queue.last = index;
  request(s.in_vc, from);
}

/// The packet in front asks for its output.
void switch_core::request(std::uint32_t iv, std::uint64_t from) {
  in_vc& queue = in_vcs_[iv];
  const slot& s = slots_[queue.first];
  const in_port& in = ins_[queue.port];
  queue.front_ready = std::max(s.ready, s.head ? queue.end + in.reroute_delay : queue.end);
  queue.room = wormhole_ ? 1 : s.flits;
  if (!queue.allocated) queue.to = around_.route(in.router, s.exit, queue.vc);
  const std::uint32_t o = queue.to.output;
  out_port& out = outs_[o];
  queue.next_requester = out.requesters;
  out.requesters = iv;
  if (!queue.allocated) ++out.without_vc;
  schedule(o, std::max({from, queue.front_ready, out_free(o, queue), out.next_start}));
}

/// The first cycle from `from` on in which the packet might be granted, as far as is known now; never
/// when it needs credits that nobody has returned yet (add_credit then wakes the output) or a VC whose
/// packet has not passed (the grant of its tail looks at all requesters).
std::uint64_t switch_core::next_chance(std::uint32_t o, const in_vc& queue, std::uint64_t from) {
  out_port& out = outs_[o];
  const std::uint64_t at =
      std::max({from, queue.front_ready, out_free(o, queue), in_free(queue), out.next_start});
  // What is not ready yet is judged when it is.
  if (!queue.allocated && queue.front_ready >= from) return at;
  const bool look_for_room = overlap_ || queue.allocated;  // else a VC is allocated first, whatever its room
  const std::uint8_t first = queue.allocated ? queue.bound : queue.to.first_vc;
  const unsigned count = queue.allocated ? 1 : queue.to.vcs;
  std::uint64_t vc_at = never;
  for (unsigned k = 0; k < count && vc_at > at; ++k) {
    const unsigned vc = first + k;
    if (!queue.allocated && (out.taken >> vc & 1) != 0) continue;
    const out_vc& ov = out_vcs_[vc_index(o, 0) + vc];
    const std::uint64_t free = queue.allocated ? 0 : ov.free_from + ins_[o].alloc_cycles;
    const std::uint64_t credit =
        !look_for_room || ov.credits >= queue.room ? 0 : credit_cycle(ov, queue.room);
    if (credit == never) {
      out.starved |= std::uint64_t{1} << vc;
      continue;
    }
    vc_at = std::min(vc_at, std::max(free, credit));
  }
  return vc_at == never ? never : std::max(at, vc_at);
}

/// Enters the output for its earliest chance. Later chances are found when it is looked at.
void switch_core::schedule(std::uint32_t o, std::uint64_t cycle) {
  out_port& out = outs_[o];
  const std::uint64_t due = std::min(cycle, cycle_ + wheel_.span() - 1);
  if (due >= out.scheduled) return;
  if (out.scheduled != never) wheel_.remove(out.scheduled, o);
  out.scheduled = due;
  wheel_.put(due, o);
}

std::uint32_t switch_core::take_slot() {
  ++used_slots_;
  if (free_slots_ == none) {
    slots_.emplace_back();
    return static_cast<std::uint32_t>(slots_.size() - 1);
  }
  const std::uint32_t index = free_slots_;
  free_slots_ = slots_[index].next;
  return index;
}

void switch_core::free_slot(std::uint32_t index) {
  slots_[index].p = {};
  slots_[index].came_from = none;
  slots_[index].next = free_slots_;
  free_slots_ = index;
  --used_slots_;
}

std::size_t switch_core::state_bytes() const {
  const std::size_t per_port = sizeof(in_port) + sizeof(out_port) + sizeof(usage);
  const std::size_t per_vc = sizeof(in_vc) + sizeof(out_vc) + sizeof(fill) + sizeof initial_credits_[0];
  return sizeof *this + ins_.size() * per_port + in_vcs_.size() * per_vc +
         (on_in_.size() + on_out_.size()) * sizeof(transfer) + courses_.size() * sizeof(course) +
         wheel_.state_bytes();
}

}  // namespace diecast::hw
