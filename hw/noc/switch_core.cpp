// SPDX-License-Identifier: Apache-2.0
// Requests, allocation, grants.
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

bool switch_core::choose_alone(std::uint32_t iv, choice& c) {
  in_vc& queue = in_vcs_[iv];
  if (outs_[c.output].next_start > cycle_) return false;
  if (out_free(c.output, queue) > cycle_ || in_free(queue) > cycle_) return false;
  if (!queue.allocated && !overlap_) {
    allocate_alone(c.output, queue);
    if (!queue.allocated || queue.front_ready > cycle_) return false;
  }
  const std::uint32_t vc = vc_for(c.output, queue);
  if (vc == none) return false;
  c.in_vc = iv;
  c.vc = static_cast<std::uint8_t>(vc);
  return true;
}

/// Round robin over inputs, then over the VCs of the input.
bool switch_core::choose(std::uint32_t o, choice& best) {
  const out_port& out = outs_[o];
  if (out.next_start > cycle_) return false;
  if (out.without_vc != 0 && !overlap_) allocate_vcs(o);
  for (std::uint32_t iv = out.requesters; iv != none; iv = in_vcs_[iv].next_requester) {
    const in_vc& queue = in_vcs_[iv];
    if (queue.front_ready > cycle_ || out_free(o, queue) > cycle_ || in_free(queue) > cycle_) continue;
    const std::uint32_t port_distance = queue.port - out.grant_from;
    const std::uint8_t vc_distance = static_cast<std::uint8_t>(queue.vc - ins_[queue.port].next_vc);
    const std::uint64_t distance = (std::uint64_t{port_distance} << 8) | vc_distance;
    if (distance >= best.distance) continue;
    const std::uint32_t vc = vc_for(o, queue);
    if (vc == none) continue;
    best.in_vc = iv;
    best.vc = static_cast<std::uint8_t>(vc);
    best.distance = distance;
  }
  return best.in_vc != none;
}

/// When the last transfer of the packet's class on the output is over.
std::uint64_t switch_core::out_free(std::uint32_t o, const in_vc& queue) const {
  return on_out_[o * classes_ + class_of_vc_[queue.vc]].end;
}

/// The same on its input, where besides only one packet starts per cycle.
std::uint64_t switch_core::in_free(const in_vc& queue) const {
  return std::max(on_in_[queue.port * classes_ + class_of_vc_[queue.vc]].end, ins_[queue.port].next_start);
}

/// VC allocation of all cycles before this one: nothing that it depends on has changed at this output
/// since it was looked at last, but heads that were routed and tails that have passed.
void switch_core::allocate_vcs(std::uint32_t o) {
  const out_port& out = outs_[o];
  if (out.taken == all_vcs_) return;
  std::uint32_t asking = 0;
  std::uint32_t last = none;
  for (std::uint32_t iv = out.requesters; iv != none; iv = in_vcs_[iv].next_requester) {
    if (in_vcs_[iv].allocated || in_vcs_[iv].front_ready > cycle_) continue;
    ++asking;
    last = iv;
  }
  if (asking == 1) {
    allocate_alone(o, in_vcs_[last]);
  } else if (asking > 1) {
    const std::uint32_t alloc = ins_[o].alloc_cycles;
    for (std::uint64_t cycle = 0; (cycle = allocate_vcs_at(o, cycle)) + alloc <= cycle_;) ++cycle;
  }
}

/// The common case, a single head: it takes the VC that is free first, of several the next in its order.
void switch_core::allocate_alone(std::uint32_t o, in_vc& queue) {
  const std::uint32_t alloc = ins_[o].alloc_cycles;
  const std::uint64_t asks = queue.front_ready - alloc;
  const std::uint32_t first = vc_index(o, queue.to.first_vc);
  const std::uint32_t offset = queue.accept_from - first;  // wraps when it points elsewhere
  std::uint32_t v = first + (offset < queue.to.vcs ? offset : 0);
  std::uint32_t best = none;
  std::uint64_t cycle = never;
  for (unsigned k = 0; k < queue.to.vcs && cycle > asks; ++k) {
    const std::uint64_t free = std::max(out_vcs_[v].free_from, asks);
    if ((outs_[o].taken >> (v - vc_index(o, 0)) & 1) == 0 && free < cycle) {
      cycle = free;
      best = v;
    }
    if (++v == first + queue.to.vcs) v = first;
  }
  if (best != none && cycle + alloc <= cycle_) bind(o, queue, best, cycle);
}

void switch_core::bind(std::uint32_t o, in_vc& queue, std::uint32_t v, std::uint64_t cycle) {
  out_port& out = outs_[o];
  const std::uint32_t vc = v - vc_index(o, 0);
  out.taken |= std::uint64_t{1} << vc;
  --out.without_vc;
  out_vcs_[v].grant_from = static_cast<std::uint32_t>(&queue - in_vcs_.data()) + 1;
  queue.allocated = true;
  queue.bound = static_cast<std::uint8_t>(vc);
  queue.front_ready = std::max(queue.front_ready, cycle + ins_[o].alloc_cycles);
  queue.accept_from = v + 1;
}

/// Allocates in the first cycle from `from` on, before the present one, in which that is possible, and
/// returns it: one iteration of a separable allocator, every free VC offers itself to one head, every head
/// accepts one.
std::uint64_t switch_core::allocate_vcs_at(std::uint32_t o, std::uint64_t from) {
  const out_port& out = outs_[o];
  const std::uint32_t alloc = ins_[o].alloc_cycles;
  std::uint64_t asks = never;
  for (std::uint32_t iv = out.requesters; iv != none; iv = in_vcs_[iv].next_requester) {
    if (!in_vcs_[iv].allocated) asks = std::min(asks, in_vcs_[iv].front_ready - alloc);
  }
  from = std::max(from, asks);
  if (asks == never || from + alloc > cycle_) return cycle_ + 1;
  std::uint64_t next = cycle_ + 1;  // when the next VC is free or the next head asks
  offers_.clear();
  for (std::uint64_t free = all_vcs_ & ~out.taken; free != 0; free &= free - 1) {
    const auto vc = static_cast<std::uint32_t>(std::countr_zero(free));
    const out_vc& ov = out_vcs_[vc_index(o, 0) + vc];
    if (ov.free_from > from) {
      next = std::min(next, ov.free_from);
      continue;
    }
    vc_offer offer{none, vc_index(o, 0) + vc};
    std::uint32_t nearest = none;
    for (std::uint32_t iv = out.requesters; iv != none; iv = in_vcs_[iv].next_requester) {
      const in_vc& queue = in_vcs_[iv];
      if (queue.allocated || vc - queue.to.first_vc >= queue.to.vcs) continue;
      if (queue.front_ready - alloc > from) {
        next = std::min(next, queue.front_ready - alloc);
        continue;
      }
      const std::uint32_t distance = iv - ov.grant_from;  // wraps: lower numbers come after higher ones
      if (offer.in_vc != none && distance >= nearest) continue;
      nearest = distance;
      offer.in_vc = iv;
    }
    if (offer.in_vc != none) offers_.push_back(offer);
  }
  if (offers_.empty()) return std::max(next, from + 1) - 1;
  take_offers(o, from);
  return from;
}

/// The priorities of a head go round over all outputs: after a packet to another one it begins at the
/// first VC.
void switch_core::take_offers(std::uint32_t o, std::uint64_t cycle) {
  for (const vc_offer& offer : offers_) {
    in_vc& queue = in_vcs_[offer.in_vc];
    if (queue.allocated) continue;
    std::uint32_t v = offer.out_vc;
    for (const vc_offer& other : offers_) {
      const bool nearer = other.out_vc - queue.accept_from < v - queue.accept_from;
      if (other.in_vc == offer.in_vc && nearer) v = other.out_vc;
    }
    bind(o, queue, v, cycle);
  }
}

bool switch_core::has_room(std::uint32_t o, std::uint8_t vc, std::uint32_t flits) {
  out_vc& ov = out_vcs_[vc_index(o, vc)];
  if (ov.first != none) take_credits(ov);
  return ov.credits >= flits;
}

/// The VC at the far end, if it has room: the packet's own once it has one. Where VC and switch are
/// allocated together, the next free one.
std::uint32_t switch_core::vc_for(std::uint32_t o, const in_vc& queue) {
  if (queue.allocated) return has_room(o, queue.bound, queue.room) ? queue.bound : none;
  if (!overlap_) return none;
  const out_port& out = outs_[o];
  const std::uint8_t last = static_cast<std::uint8_t>(queue.to.first_vc + queue.to.vcs);
  const bool from_middle = out.next_vc >= queue.to.first_vc && out.next_vc < last;
  std::uint8_t vc = from_middle ? out.next_vc : queue.to.first_vc;
  for (unsigned k = 0; k < queue.to.vcs; ++k) {
    const bool free = (out.taken >> vc & 1) == 0 && out_vcs_[vc_index(o, vc)].free_from <= cycle_;
    if (free && has_room(o, vc, queue.room)) return vc;
    if (++vc == last) vc = queue.to.first_vc;
  }
  return none;
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

/// Enters the transfer on its input and its output, slows down those of other classes there, and returns
/// one past the cycle of its last flit: as the others let it, or as its flits come.
std::uint64_t switch_core::start_transfer(const choice& c, std::uint32_t slot_index) {
  out_port& out = outs_[c.output];
  in_vc& queue = in_vcs_[c.in_vc];
  in_port& in = ins_[queue.port];
  const slot& s = slots_[slot_index];
  const unsigned own = class_of_vc_[queue.vc];
  transfer* const on_out = &on_out_[c.output * classes_];
  transfer* const on_in = &on_in_[queue.port * classes_];
  std::uint64_t end = std::max(cycle_ + s.flits, s.tail_ready + 1);
  if (((out.classes | in.classes) & ~(1U << own)) != 0) {
    const sharer joining{s.flits, queue.port, c.output, 0};
    const std::uint64_t by_output = share_port(out.classes, on_out, own, joining, end);
    end = std::max(by_output, share_port(in.classes, on_in, own, joining, end));
  }
  queue.end = on_out[own].end = on_in[own].end = end;
  if (classes_ > 1) {
    queue.moving = slot_index;
    queue.moving_flits = s.flits - 1;
    queue.moving_cycles = static_cast<std::uint32_t>(end - cycle_ - 1);
    out.classes |= 1U << own;
    in.classes |= 1U << own;
    on_out[own] = on_in[own] = {end, c.in_vc, c.output, c.vc};
  }
  out.next_start = in.next_start = cycle_ + 1;
  return end;
}

/// Flits of a transfer that have not passed yet: evenly spread over its time, but the first goes at once.
std::uint32_t switch_core::left(const in_vc& queue) const {
  const std::uint64_t rest = queue.end - cycle_;
  if (rest > queue.moving_cycles) return queue.moving_flits + 1;
  if (queue.moving_cycles == queue.moving_flits) return static_cast<std::uint32_t>(rest);
  return static_cast<std::uint32_t>((rest * queue.moving_flits + queue.moving_cycles - 1) /
                                    queue.moving_cycles);
}

/// A packet joins the transfers of other classes on an input or an output. Until one of them is through, as
/// many flits of each other pass as the arbiter lets while they last. The others end later by this; returns
/// when `own`, the packet's class, does: without them at `end`.
std::uint64_t switch_core::share_port(std::uint32_t& classes, const transfer* transfers, unsigned own,
                                      const sharer& joining, std::uint64_t end) {
  std::array<sharer, max_classes> on;
  classes &= ~(1U << own);
  for (std::uint32_t others = classes; others != 0; others &= others - 1) {
    const auto c = static_cast<unsigned>(std::countr_zero(others));
    const transfer& t = transfers[c];
    if (t.end <= cycle_) {
      classes &= ~(1U << c);
      continue;
    }
    const in_vc& queue = in_vcs_[t.in_vc];
    on[c] = {left(queue), queue.port, t.output, 0};
  }
  on[own] = joining;
  const std::uint32_t all = classes | 1U << own;
  count_streams(on, all);
  std::uint64_t own_end = end;
  for (std::uint32_t each = all; each != 0; each &= each - 1) {
    const auto c = static_cast<unsigned>(std::countr_zero(each));
    const std::uint64_t needed = shared_cycles(on, all, c, c == own);
    if (c == own) {
      own_end = std::max(end, cycle_ + needed);
    } else {
      extend(transfers[c], cycle_ + needed);
    }
  }
  return own_end;
}

void switch_core::count_streams(std::array<sharer, max_classes>& on, std::uint32_t classes) {
  for (std::uint32_t each = classes; each != 0; each &= each - 1) {
    sharer& a = on[static_cast<unsigned>(std::countr_zero(each))];
    for (std::uint32_t others = classes; others != 0; others &= others - 1) {
      const sharer& b = on[static_cast<unsigned>(std::countr_zero(others))];
      if (a.input == b.input && a.output == b.output) ++a.streams;
    }
  }
}

/// Cycles until transfer `c` is through. The others count as never short of flits: the gaps of one that is
/// slowed down on this port are filled by the rest.
std::uint64_t switch_core::shared_cycles(const std::array<sharer, max_classes>& on, std::uint32_t classes,
                                         unsigned c, bool joins) const {
  const std::uint64_t pass = joins ? on[c].flits - 1 : on[c].flits;  // the first goes at once
  std::uint64_t cycles = on[c].flits;
  for (std::uint32_t others = classes & ~(1U << c); others != 0; others &= others - 1) {
    const auto k = static_cast<unsigned>(std::countr_zero(others));
    cycles += std::min(on[k].flits, shared(pass, on, c, k));
  }
  return cycles;
}

/// Flits of class `other` that pass while `flits` of class `own` do, when both always have some. Round robin
/// goes over the inputs of an output (over the outputs of an input), and what one of them gets is shared by
/// its VCs; weights hold between classes wherever they come from.
std::uint64_t switch_core::shared(std::uint64_t flits, const std::array<sharer, max_classes>& on,
                                  unsigned own, unsigned other) const {
  if (weights_[own] != weights_[other]) {
    return (flits * weights_[other] + weights_[own] - 1) / weights_[own];
  }
  if (on[own].streams == on[other].streams) return flits;
  return (flits * on[own].streams + on[other].streams - 1) / on[other].streams;
}

/// A transfer under way ends later, and with it all that follows: its tail at the next router, or the
/// transfer from there if the packet has gone on, and the credits that go upstream.
void switch_core::extend(const transfer& t, std::uint64_t end) {
  in_vc& queue = in_vcs_[t.in_vc];
  if (end <= queue.end) return;
  const in_port& in = ins_[queue.port];
  const out_port& out = outs_[t.output];
  out_vc& ov = out_vcs_[vc_index(t.output, t.vc)];
  if (!wormhole_ && in.upstream != none) {
    const out_vc& credited = out_vcs_[vc_index(in.upstream, queue.vc)];
    const std::uint64_t announced = queue.end - 1 + in.credit_cycles;
    if (credited.last != none && returning_[credited.last].last == announced) {
      returning_[credited.last].last = end - 1 + in.credit_cycles;
    }
  }
  if (ov.free_from == queue.end) ov.free_from = end;
  queue.moving_flits = left(queue);
  queue.moving_cycles = static_cast<std::uint32_t>(end - cycle_);
  queue.end = end;
  if (queue.first != none) {
    const std::uint64_t free = slots_[queue.first].head ? end + in.reroute_delay : end;
    queue.front_ready = std::max(queue.front_ready, free);
  }
  const unsigned c = class_of_vc_[queue.vc];
  on_in_[queue.port * classes_ + c].end = end;
  on_out_[t.output * classes_ + c].end = end;
  if (out.downstream == none) return;
  const std::uint64_t tail = end - 1 + out.latency + ins_[out.downstream].body_delay;
  slot& s = slots_[queue.moving];
  if (s.came_from == t.in_vc) {
    s.tail_ready = std::max(s.tail_ready, tail);
    return;
  }
  const transfer& next = on_in_[out.downstream * classes_ + c];
  const std::uint32_t behind = vc_index(out.downstream, t.vc);
  if (next.in_vc == behind && next.end > cycle_ && in_vcs_[behind].moving == queue.moving) {
    extend(next, tail + 1);
  }
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
    add_credit(upstream, vc, flits, usable, usable);
  } else {
    add_credit(upstream, vc, flits, (flits == 1 ? end - 1 : cycle_) + delay, end - 1 + delay);
  }
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
  return sizeof *this + ins_.size() * (sizeof(in_port) + sizeof(out_port)) +
         in_vcs_.size() * (sizeof(in_vc) + sizeof(out_vc) + sizeof(fill)) + wheel_.state_bytes();
}

}  // namespace diecast::hw
