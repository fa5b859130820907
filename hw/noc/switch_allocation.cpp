// SPDX-License-Identifier: Apache-2.0
// The evaluations of a cycle: which packet an output chooses, which VC it gets, when it is evaluated again.
#include <algorithm>
#include <bit>
#include <span>
#include <utility>

#include "hw/noc/switch_steps.hpp"

namespace diecast::hw {
namespace {

/// The first of `some` from number `start` on, round robin. Precondition: some != 0.
unsigned next_in_turn(std::uint64_t some, unsigned start) {
  const std::uint64_t later = some >> start << start;
  return static_cast<unsigned>(std::countr_zero(later != 0 ? later : some));
}

}  // namespace

void switch_core::run() { plain_ ? run_as<true>() : run_as<false>(); }

/// The outputs of a router that are due choose before the first of them is granted.
template <bool Plain>
void switch_core::run_as() {
  if (fetches_ahead_) begin_fetching();
  port_wheel::taken due = wheel_.take(cycle_);
  for (std::uint32_t o = due.next(); o != none;) {
    if (fetches_ahead_) fetch_ahead();
    evaluate<Plain>(o);
    const std::uint32_t next = due.next();
    const bool is_last = next == none || outs_[next].router != outs_[o].router;
    if (is_last && chosen_ != 0) arbitrate_inputs<Plain>();
    o = next;
  }
}

/// First half of the allocation: an output that is due chooses among its requesters. Most of the time there
/// is one: the host processor continues speculatively while it waits for the records that the evaluation
/// depends on.
template <bool Plain>
inline void switch_core::evaluate(std::uint32_t o) {
  out_port& out = outs_[o];
  ++evaluations_;
  out.scheduled = never;
  out.starved = 0;
  const std::uint32_t alone = only_requester<Plain>(o);
  if (alone == none) return choose_among<Plain>(o);
  const std::uint64_t ready = in_vcs_[alone].front_ready;
  if (ready > cycle_) return schedule(o, ready);
  const candidate best = choose_alone<Plain>(o, alone);
  if (best.in_vc == none) return reevaluate<Plain>(o);
  choices_[chosen_++] = {never, o, best.in_vc, best.vc, true};
}

template <bool Plain>
inline std::uint32_t switch_core::only_requester(std::uint32_t o) const {
  std::uint64_t asking = outs_[o].asking;
  std::uint32_t first = outs_[o].first_in_vc;
  for (std::uint32_t w = 0; !Plain && w < more_words_; ++w) {
    const std::uint64_t more = more_requests_[o * more_words_ + w];
    if (more == 0) continue;
    if (asking != 0) return none;
    asking = more;
    first += 64 * (w + 1);
  }
  if (asking == 0 || (asking & (asking - 1)) != 0) return none;
  return first + static_cast<std::uint32_t>(std::countr_zero(asking));
}

/// Chooses among several requesters. Most of the time one is ready and the others are still being routed.
template <bool Plain>
inline void switch_core::choose_among(std::uint32_t o) {
  std::uint64_t wait = never;  // cycles from the next one until another is ready; wraps for ready ones
  std::uint32_t* const list = ready_.data();
  std::size_t count = 0;
  visit_requesters<Plain>(o, [&](std::uint32_t iv) {
    const std::uint64_t at = in_vcs_[iv].front_ready;
    list[count] = iv;
    count += static_cast<std::size_t>(at <= cycle_);
    wait = std::min(wait, at - (cycle_ + 1));
  });
  const heads ready(list, count);
  // A wrapped `wait` gives `never`, all bits set, without a branch.
  const std::uint64_t next = (cycle_ + 1 + wait) | (0 - (wait >> 63));
  if (ready.empty()) return schedule(o, next);
  const candidate best = ready.size() == 1 ? choose_alone<Plain>(o, ready[0]) : choose<Plain>(o, ready);
  if (best.in_vc == none) return reevaluate<Plain>(o);
  choices_[chosen_++] = {next, o, best.in_vc, best.vc, ready.size() == 1};
}

template <bool Plain>
inline switch_core::candidate switch_core::choose_alone(std::uint32_t o, std::uint32_t iv) {
  const in_vc& queue = in_vcs_[iv];
  if (!free_to_start<Plain>(o, queue)) return {};
  if (!queue.allocated && outs_[o].vc_first) {
    allocate_alone(o, iv, 0);
    if (!queue.allocated) return {};
  }
  const std::uint32_t vc = vc_for(o, queue);
  if (vc == none) return {};
  return {iv, vc};
}

/// Round robin over inputs, then over the VCs of the input.
template <bool Plain>
inline switch_core::candidate switch_core::choose(std::uint32_t o, heads ready) {
  const out_port& out = outs_[o];
  if (out.vc_first) allocate_vcs(o, ready);
  candidate best;
  std::uint64_t nearest = never;
  for (const std::uint32_t iv : ready) {
    const in_vc& queue = in_vcs_[iv];
    const std::uint32_t port_distance = queue.port - out.grant_from;  // wraps: lower numbers come after
    const std::uint8_t vc_distance = static_cast<std::uint8_t>(queue.vc - ins_[queue.port].next_vc);
    const std::uint64_t distance = (std::uint64_t{port_distance} << 8) | vc_distance;
    if (distance >= nearest || !free_to_start<Plain>(o, queue)) continue;
    const std::uint32_t vc = vc_for(o, queue);
    if (vc == none) continue;
    best = {iv, vc};
    nearest = distance;
  }
  return best;
}

/// Repeats the VC allocation of the cycles since the output's last evaluation. This is not quite what
/// allocation in each cycle would give: results near saturation depend on the number of evaluations (ADR 57).
inline void switch_core::allocate_vcs(std::uint32_t o, heads ready) {
  const out_port& out = outs_[o];
  if (out.taken == all_vcs_) return;
  std::uint32_t* const asking = asking_.data();
  std::size_t count = 0;
  std::uint64_t cycle = never;
  for (const std::uint32_t iv : ready) {
    const in_vc& queue = in_vcs_[iv];
    asking[count] = iv;
    count += static_cast<std::size_t>(!queue.allocated);
    cycle = std::min(cycle, queue.allocated ? never : queue.front_ready - out.alloc_cycles);
  }
  while (count > 1 && cycle + out.alloc_cycles <= cycle_) {
    cycle = allocate_vcs_at(o, {asking, count}, cycle);
    const auto has_vc = [this](std::uint32_t iv) { return in_vcs_[iv].allocated; };
    count = static_cast<std::size_t>(std::remove_if(asking, asking + count, has_vc) - asking);
  }
  if (count == 1 && cycle + out.alloc_cycles <= cycle_) allocate_alone(o, asking[0], cycle);
}

/// VC allocation in the common case of a single head, from cycle `from` on: the head gets the VC that is free
/// first, of several the next one round robin.
inline void switch_core::allocate_alone(std::uint32_t o, std::uint32_t iv, std::uint64_t from) {
  const in_vc& queue = in_vcs_[iv];
  const out_port& out = outs_[o];
  const std::uint64_t asks = std::max(queue.front_ready - out.alloc_cycles, from);
  const std::uint32_t first = vc_index(o, queue.to.first_vc);
  const std::uint32_t offset = queue.priority_from - first;  // wraps when it points elsewhere
  const std::uint32_t start = offset * static_cast<std::uint32_t>(offset < queue.to.vcs);
  const out_vc* const behind = &out_vcs_[first];
  std::uint64_t free = 0;
  // Scalar code: a vector does not pay for four VCs.
  for (std::size_t k = queue.to.vcs; k-- != 0;) free = 2 * free + std::uint64_t{behind[k].free_from <= asks};
  free &= ~(out.taken >> queue.to.first_vc);
  if (free == 0) return allocate_later(o, iv, start);
  assign_vc(o, iv, first + next_in_turn(free, start), asks);
}

/// Allocates when no VC was free in the cycle of the head's request.
void switch_core::allocate_later(std::uint32_t o, std::uint32_t iv, std::uint32_t start) {
  const in_vc& queue = in_vcs_[iv];
  const out_port& out = outs_[o];
  const std::uint32_t first = vc_index(o, queue.to.first_vc);
  const std::uint64_t taken = out.taken >> queue.to.first_vc;
  std::uint32_t best = none;
  std::uint64_t cycle = never;
  for (unsigned n = 0; n < queue.to.vcs; ++n) {
    const unsigned k = start + n < queue.to.vcs ? start + n : start + n - queue.to.vcs;
    if ((taken >> k & 1) != 0 || out_vcs_[first + k].free_from >= cycle) continue;
    cycle = out_vcs_[first + k].free_from;
    best = first + k;
  }
  if (best != none && cycle + out.alloc_cycles <= cycle_) assign_vc(o, iv, best, cycle);
}

inline void switch_core::assign_vc(std::uint32_t o, std::uint32_t iv, std::uint32_t v, std::uint64_t cycle) {
  in_vc& queue = in_vcs_[iv];
  out_port& out = outs_[o];
  const std::uint32_t vc = v - vc_index(o, 0);
  out.taken |= std::uint64_t{1} << vc;
  out_vcs_[v].grant_from = iv + 1;
  vc_waits_[queue.own_class] += cycle + out.alloc_cycles > queue.front_ready ? 1U : 0U;
  queue.allocated = true;
  queue.allocated_vc = static_cast<std::uint8_t>(vc);
  queue.front_ready = std::max(queue.front_ready, cycle + out.alloc_cycles);
  queue.priority_from = v + 1;
}

/// Allocates VCs to the heads that request in cycle `from`; returns the next cycle with a possible change:
/// one iteration of a separable allocator, every free VC grants itself to one head, every head accepts one.
inline std::uint64_t switch_core::allocate_vcs_at(std::uint32_t o, heads asking, std::uint64_t from) {
  const out_port& out = outs_[o];
  std::uint64_t next = cycle_ + 1;  // when the next VC is free or the next head requests
  for (const std::uint32_t iv : asking) {
    const std::uint64_t asks = in_vcs_[iv].front_ready - out.alloc_cycles;
    next = std::min(next, asks > from ? asks : never);
  }
  vc_grants_.clear();
  for (std::uint64_t free = all_vcs_ & ~out.taken; free != 0; free &= free - 1) {
    const auto vc = static_cast<std::uint32_t>(std::countr_zero(free));
    const std::uint32_t v = vc_index(o, vc);
    if (out_vcs_[v].free_from > from) {
      next = std::min(next, out_vcs_[v].free_from);
      continue;
    }
    vc_grant granted{none, v};
    std::uint64_t nearest = never;
    for (const std::uint32_t iv : asking) {
      const in_vc& queue = in_vcs_[iv];
      const bool may =
          (vc - queue.to.first_vc < queue.to.vcs) & (queue.front_ready <= from + out.alloc_cycles);
      const std::uint64_t distance =
          may ? iv - out_vcs_[v].grant_from : never;  // wraps: lower numbers come after
      granted.in_vc = distance < nearest ? iv : granted.in_vc;
      nearest = std::min(nearest, distance);
    }
    if (granted.in_vc != none) vc_grants_.push_back(granted);
  }
  if (vc_grants_.empty()) return next;
  accept_vc_grants(o, from);
  return from + 1;
}

/// The priority of a head rotates over the VCs of all outputs: after a packet to another output it begins at
/// the first VC.
inline void switch_core::accept_vc_grants(std::uint32_t o, std::uint64_t cycle) {
  for (const vc_grant& granted : vc_grants_) {
    const in_vc& queue = in_vcs_[granted.in_vc];
    if (queue.allocated) continue;
    std::uint32_t v = granted.out_vc;
    for (const vc_grant& other : vc_grants_) {
      const bool nearer = other.out_vc - queue.priority_from < v - queue.priority_from;
      if (other.in_vc == granted.in_vc && nearer) v = other.out_vc;
    }
    assign_vc(o, granted.in_vc, v, cycle);
  }
}

/// The downstream VC if it has room: the packet's own once it has one; where VC and switch are allocated
/// together, the next free one.
inline std::uint32_t switch_core::vc_for(std::uint32_t o, const in_vc& queue) {
  if (queue.allocated)
    return has_room(vc_index(o, queue.allocated_vc), queue.room) ? queue.allocated_vc : none;
  return outs_[o].vc_first ? none : free_vc_for(o, queue);
}

std::uint32_t switch_core::free_vc_for(std::uint32_t o, const in_vc& queue) {
  const out_port& out = outs_[o];
  const unsigned last = queue.to.first_vc + queue.to.vcs;
  const bool from_middle = out.by_turns && out.next_vc >= queue.to.first_vc && out.next_vc < last;
  unsigned vc = from_middle ? out.next_vc : queue.to.first_vc;
  for (unsigned k = 0; k < queue.to.vcs; ++k) {
    const std::uint32_t v = vc_index(o, vc);
    const bool free = (out.taken >> vc & 1) == 0 && out_vcs_[v].free_from <= cycle_;
    if (free && has_room(v, queue.room)) return vc;
    if (++vc == last) vc = queue.to.first_vc;
  }
  return none;
}

/// Schedules the output for the first cycle in which a grant is possible, as far as is known now.
template <bool Plain>
void switch_core::reevaluate(std::uint32_t o) {
  outs_[o].starved = 0;
  std::uint64_t next = never;
  visit_requesters<Plain>(
      o, [&](std::uint32_t iv) { next = std::min(next, next_chance<Plain>(o, in_vcs_[iv])); });
  schedule(o, next);
}

template void switch_core::reevaluate<true>(std::uint32_t);
template void switch_core::reevaluate<false>(std::uint32_t);

void switch_core::wake_starved(std::uint32_t o) {
  visit_requesters(o, [&](std::uint32_t iv) { schedule(o, next_chance<false>(o, in_vcs_[iv])); });
}

/// The first cycle after this one in which the packet might be granted, as far as is known now; never
/// when it needs credits that nobody has returned yet (add_credit then wakes the output) or a VC whose
/// packet has not passed (the grant of its tail evaluates all requesters).
template <bool Plain>
inline std::uint64_t switch_core::next_chance(std::uint32_t o, const in_vc& queue) {
  const std::uint64_t at =
      std::max({cycle_ + 1, queue.front_ready, out_free<Plain>(o, queue), in_free<Plain>(queue)});
  if (queue.allocated) {
    if (out_vcs_[vc_index(o, queue.allocated_vc)].credits >= queue.room) return at;
    return std::max(at, next_room(o, queue.allocated_vc, queue.room));
  }
  if (queue.front_ready > cycle_) return at;  // not ready yet: evaluated when it is
  return std::max(at, next_free_vc(o, queue, at));
}

/// Cycle in which a VC is free for a packet that may start from `at` on; any up to `at` if one is free then.
std::uint64_t switch_core::next_free_vc(std::uint32_t o, const in_vc& queue, std::uint64_t at) {
  const out_port& out = outs_[o];
  std::uint64_t vc_at = never;
  for (unsigned k = 0; k < queue.to.vcs && vc_at > at; ++k) {
    const unsigned vc = queue.to.first_vc + k;
    if ((out.taken >> vc & 1) != 0) continue;
    // A VC that is allocated before the switch needs no room yet.
    const std::uint64_t room = out.vc_first ? 0 : next_room(o, vc, queue.room);
    vc_at = std::min(vc_at, std::max(out_vcs_[vc_index(o, vc)].free_from + out.alloc_cycles, room));
  }
  return vc_at;
}

/// Cycle from which a VC has room, as far as is known: a past one, or never.
std::uint64_t switch_core::next_room(std::uint32_t o, std::uint32_t vc, std::uint32_t flits) {
  const out_vc& ov = out_vcs_[vc_index(o, vc)];
  const std::uint64_t at = ov.credits >= flits ? 0 : credit_cycle(ov, flits);
  if (at == never) outs_[o].starved |= std::uint64_t{1} << vc;
  return at;
}

}  // namespace diecast::hw
