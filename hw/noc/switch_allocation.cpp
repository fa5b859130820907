// SPDX-License-Identifier: Apache-2.0
// Which packet an output chooses, and which VC at the far end it gets.
#include <algorithm>
#include <bit>

#include "hw/noc/switch_core.hpp"

namespace diecast::hw {

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

}  // namespace diecast::hw
