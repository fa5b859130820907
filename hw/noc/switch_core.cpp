// SPDX-License-Identifier: Apache-2.0
// switch_core: arrivals, requests, grants and departures. switch_build.cpp sets it up, switch_allocation.cpp
// chooses packets and VCs, switch_sharing.cpp computes the times of transfers, switch_credits.cpp counts
// credits.
#include "hw/noc/switch_core.hpp"

#include <algorithm>
#include <utility>

#include "hw/noc/switch_steps.hpp"
#include "models/types/error.hpp"

namespace diecast::hw {

void switch_core::arrive(const arrival& a, packet_ptr&& p) {
  const in_port& in = ins_[a.input];
  if (in_places_[in.places][a.vc] == UINT8_MAX) overflow(in.router, a.vc, a.flits, 0);
  const std::uint32_t index = take_slot();
  slot& s = slots_[index];
  s.ready = a.head + entry_delays_[a.input].head;
  s.tail_ready = std::max(s.ready, a.tail + entry_delays_[a.input].body);
  s.p = std::move(p);
  s.flits = a.flits;
  s.in_vc = in_index(a.input, a.vc);
  s.came_from = none;
  s.exit = a.exit;
  s.head = s.tail = true;
  enqueue(index, cycle_);
}

/// Second half of switch allocation: every input accepts one of the outputs that have chosen it; the others
/// send nothing in this cycle. With a crossbar port per VC an input accepts all of them.
template <bool Plain>
void switch_core::arbitrate_inputs() {
  const std::span<choice> chosen(choices_.data(), std::exchange(chosen_, 0));
  if (chosen.size() > 1) return arbitrate_several<Plain>(chosen);
  const choice& c = chosen[0];
  grant<Plain>(c.output, c.in_vc, c.vc);
  after_grant<Plain>(c);
}

template <bool Plain>
void switch_core::arbitrate_several(std::span<choice> chosen) {
  if (!port_per_vc_) keep_one_per_input(chosen);
  for (const choice& c : chosen) {
    if (c.in_vc != none) grant<Plain>(c.output, c.in_vc, c.vc);
  }
  for (const choice& c : chosen) {
    if (c.in_vc != none) {
      after_grant<Plain>(c);
    } else {
      reevaluate<Plain>(c.output);
    }
  }
}

template void switch_core::arbitrate_inputs<true>();
template void switch_core::arbitrate_inputs<false>();

/// Schedules the next evaluation of an output after a grant.
template <bool Plain>
inline void switch_core::after_grant(const choice& granted) {
  const std::uint32_t o = granted.output;
  if (!(granted.alone & (Plain || classes_ == 1))) return reevaluate<Plain>(o);
  schedule(o, std::max(granted.next, outs_[o].next_start));
}

inline void switch_core::keep_one_per_input(std::span<choice> chosen) {
  for (std::size_t k = 0; k < chosen.size(); ++k) {
    for (std::size_t m = k + 1; m < chosen.size(); ++m) {
      if (chosen[k].in_vc == none || chosen[m].in_vc == none) continue;
      const std::uint32_t input = in_vcs_[chosen[k].in_vc].port;
      if (in_vcs_[chosen[m].in_vc].port != input) continue;
      const std::uint32_t from = ins_[input].priority_from;
      const bool first = chosen[k].output - from < chosen[m].output - from;
      chosen[first ? m : k].in_vc = none;
    }
  }
}

template <bool Plain>
[[gnu::always_inline]] inline void switch_core::grant(std::uint32_t o, std::uint32_t iv, std::uint32_t vc) {
  const std::uint32_t v = vc_index(o, vc);
  out_port& out = outs_[o];
  out_vc& ov = out_vcs_[v];
  in_vc& queue = in_vcs_[iv];
  in_port& in = ins_[queue.port];
  std::uint32_t index = queue.first;
  const std::uint32_t at_once = !Plain && interleave_vcs_ ? undisturbed(in.router, ov) : ov.credits;
  if (slots_[index].flits > at_once) {
    index = split(index, at_once);  // the rest stays at the front of the queue
  } else {
    queue.first = slots_[index].next;
  }
  const std::uint32_t flits = slots_[index].flits;
  const bool tail = slots_[index].tail;
  usage& used = out.used;
  used.packets += std::uint64_t{tail};
  used.flits += flits;
  // The cycle in which the packet could have started with enough credits.
  const std::uint64_t could_start =
      std::max({queue.front_ready, out_free<Plain>(o, queue), in_free<Plain>(queue)});
  used.credit_stall_cycles += cycle_ - (Plain ? could_start : std::min(cycle_, could_start));
  vc_waits_[queue.own_class] += !out.vc_first & slots_[index].head & (cycle_ > could_start) ? 1U : 0U;
  const std::uint64_t end = start_transfer<Plain>(o, vc, queue, index);
  const std::uint64_t bit = std::uint64_t{1} << vc;
  out.taken = (out.taken | bit) & ~(std::uint64_t{tail} << vc);
  out.grant_from = queue.port + 1;
  out.next_vc = static_cast<std::uint8_t>(vc + 1);
  in.priority_from = o + 1;
  in.next_vc = static_cast<std::uint8_t>(queue.vc + 1);
  if (tail) ov.free_from = end;
  if (!Plain && tail && interleave_vcs_) --occupancy_[in.router].worms;
  ov.credits -= flits;
  queue.flits -= flits;
  queue.allocated = !tail;
  queue.allocated_vc = static_cast<std::uint8_t>(vc);
  const request_bit request_here = request_of<Plain>(o, iv);
  request_here.word &= ~request_here.bit;
  if (!Plain && credits_observed_) {
    environment_.credits_changed(o, queue.allocated_vc, -static_cast<std::int32_t>(flits), cycle_, cycle_);
  }
  if (!Plain && observed_) environment_.occupied(o, queue.allocated_vc, flits, cycle_, end);
  return_credits<Plain>(queue, flits, end);
  if (queue.first != none) request_next(iv);
  move_on<Plain>(index, o, vc, end);
}

template <bool Plain>
inline void switch_core::return_credits(const in_vc& queue, std::uint32_t flits, std::uint64_t end) {
  const in_port& in = ins_[queue.port];
  const std::uint64_t delay = in.credit_cycles;
  const std::uint64_t usable =
      end - flits + delay;  // timing::batch_usable() of a transfer without a gap at its end
  if (in.upstream == none) {
    environment_.return_credit(queue.port, queue.vc, flits, usable);
  } else if (wormhole_) {
    announce_credit<Plain>(in.upstream, queue.vc, flits, usable, usable);
  } else if (!Plain && classes_ > 1 && rate_schedules_[class_index(queue)].count != 0) {
    announce_along(queue, flits);
  } else {
    announce_credit<Plain>(in.upstream, queue.vc, flits, (flits == 1 ? end - 1 : cycle_) + delay,
                           end - 1 + delay);
  }
}

/// Returns credits to an output of this network, and reports them to an observer.
template <bool Plain>
inline void switch_core::announce_credit(std::uint32_t output, std::uint8_t vc, std::uint32_t flits,
                                         std::uint64_t first, std::uint64_t last) {
  add_credit<Plain>(output, vc, flits, first, last);
  if (Plain || !credits_observed_) return;
  environment_.credits_changed(output, vc, static_cast<std::int32_t>(flits), first, last);
}

/// Flits that one grant may send with the result of an arbitration per flit: 1, or, while the router has or
/// expects no other packet, as many as leave before another one can request an output.
std::uint32_t switch_core::undisturbed(std::uint16_t router, const out_vc& ov) const {
  const occupancy& c = occupancy_[router];
  return c.worms == 1 ? std::min(c.lookahead, ov.credits) : 1;
}

/// Splits the first `flits` off a packet as a chunk. When the flits of a slow packet arrive is not recorded;
/// the rest counts as arriving without gaps, as late as possible.
std::uint32_t switch_core::split(std::uint32_t index, std::uint32_t flits) {
  const std::uint32_t chunk_index = take_slot();
  slot& chunk = slots_[chunk_index];
  slot& rest = slots_[index];
  chunk = rest;
  rest.flits -= flits;
  chunk.flits = flits;
  chunk.tail = false;
  rest.head = false;
  if (interleave_vcs_) {  // flits are spaced as they arrive
    const std::uint64_t gaps = flits + rest.flits - 1, time = rest.tail_ready - rest.ready;
    chunk.tail_ready = rest.ready + ((flits - 1) * time + gaps - 1) / gaps;
    rest.ready += (flits * time + gaps - 1) / gaps;
    return chunk_index;
  }
  chunk.tail_ready =
      std::max(rest.ready, rest.tail_ready - std::min<std::uint64_t>(rest.flits, rest.tail_ready));
  rest.ready = std::min(chunk.tail_ready + 1, rest.tail_ready);
  return chunk_index;
}

/// Appends a chunk to the last chunk of the queue if both belong to one packet and no gap is between them.
inline bool switch_core::merge(in_vc& queue, std::uint32_t index) {
  slot& last = slots_[queue.last];
  const slot& chunk = slots_[index];
  if (last.tail || &*last.p != &*chunk.p || chunk.ready > last.tail_ready + 1) return false;
  last.flits += chunk.flits;
  last.tail_ready = std::max(chunk.tail_ready, last.tail_ready + chunk.flits);
  last.tail = chunk.tail;
  if (classes_ > 1) progress_[class_index(in_vcs_[chunk.came_from])].slot = queue.last;
  free_slot(index);
  return true;
}

/// Moves a granted chunk to the next router's buffer, or out of the network.
template <bool Plain>
[[gnu::always_inline]] inline void switch_core::move_on(std::uint32_t index, std::uint32_t o,
                                                        std::uint32_t vc, std::uint64_t end) {
  const out_port& out = outs_[o];
  slot& s = slots_[index];
  if (out.downstream == none) {
    environment_.eject({o, static_cast<std::uint8_t>(vc), s.tail, s.flits, cycle_, end - 1}, std::move(s.p));
    free_slot(index);
    return;
  }
  s.ready = cycle_ + out.next_hop_cycles[std::size_t{s.head}];
  s.tail_ready = std::max(s.ready, end - 1 + out.next_hop_cycles[0]);
  if (!Plain) s.came_from = s.in_vc;
  s.in_vc = in_index(out.downstream, vc);
  enqueue<Plain>(index, cycle_ + 1);
}

template <bool Plain>
[[gnu::always_inline]] inline void switch_core::enqueue(std::uint32_t index, std::uint64_t from) {
  slot& s = slots_[index];
  s.next = none;
  in_vc& queue = in_vcs_[s.in_vc];
  queue.flits += s.flits;
  if (!Plain && s.head && interleave_vcs_) ++occupancy_[ins_[queue.port].router].worms;
  if (queue.flits > queue.capacity) overflow(queue.router, queue.vc, queue.flits, queue.capacity);
  if (queue.first != none) {
    if (wormhole_ && merge(queue, index)) return;
    slots_[queue.last].next = index;
    queue.last = index;
    return;
  }
  queue.first = queue.last = index;
  request<Plain>(s.in_vc, from);
}

void switch_core::overflow(std::uint16_t router, std::uint8_t vc, std::uint32_t flits,
                           std::uint32_t capacity) {
  throw protocol_error(
      fmt::format("buffer of VC {} at router {} holds {} flits (expected at most {}): "
                  "a packet came without credits",
                  vc, router, flits, capacity));
}

/// Not inlined into grant(): most of the time no other packet waits in the VC.
[[gnu::noinline]] void switch_core::request_next(std::uint32_t iv) { request(iv, cycle_ + 1); }

/// The packet at the front of an input VC requests its output.
template <bool Plain>
[[gnu::always_inline]] inline void switch_core::request(std::uint32_t iv, std::uint64_t from) {
  in_vc& queue = in_vcs_[iv];
  const slot& s = slots_[queue.first];
  queue.front_ready = std::max(s.ready, queue.end + (s.head ? queue.reroute_delay : 0));
  if (!wormhole_) queue.room = s.flits;
  if (!queue.allocated) queue.to = environment_.route(queue.router, s.exit, queue.vc);
  const std::uint32_t o = queue.to.output;
  const request_bit r = request_of<Plain>(o, iv);
  r.word |= r.bit;
  schedule(o, std::max({from, queue.front_ready, out_free<Plain>(o, queue)}));
}

inline std::uint32_t switch_core::take_slot() {
  ++used_slots_;
  if (free_slots_ == none) more_slots();
  const std::uint32_t index = free_slots_;
  free_slots_ = slots_[index].next;
  return index;
}

/// Rarely called, so not inlined into take_slot().
void switch_core::more_slots() {
  free_slots_ = static_cast<std::uint32_t>(slots_.size());
  slots_.emplace_back();
  slots_.back().next = none;
}

inline void switch_core::free_slot(std::uint32_t index) {
  slots_[index].p = {};
  slots_[index].came_from = none;
  slots_[index].next = free_slots_;
  free_slots_ = index;
  --used_slots_;
}

switch_core::counters switch_core::statistics() const {
  counters sum;
  sum.evaluations = evaluations_;
  for (const out_port& out : outs_) {
    sum.packet_hops += out.hop ? out.used.packets : 0;
    sum.flit_hops += out.hop ? out.used.flits : 0;
  }
  return sum;
}

std::size_t switch_core::state_bytes() const {
  const auto bytes = [](const auto&... lists) {
    return (std::size_t{} + ... + (lists.size() * sizeof lists[0]));
  };
  return sizeof *this + wheel_.state_bytes() +
         bytes(ins_, outs_, in_vcs_, in_places_, out_vcs_, initial_credits_, more_requests_, entry_delays_,
               on_in_, on_out_, rate_schedules_, progress_, occupancy_);
}

}  // namespace diecast::hw
