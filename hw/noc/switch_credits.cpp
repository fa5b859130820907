// SPDX-License-Identifier: Apache-2.0
// Credits of the switches' outputs.
#include "hw/noc/switch_core.hpp"

namespace diecast::hw {

void switch_core::credit(std::uint32_t output, std::uint8_t vc, std::uint32_t flits, std::uint64_t cycle) {
  add_credit(output, vc, flits, cycle, cycle);
}

void switch_core::add_credit(std::uint32_t o, std::uint8_t vc, std::uint32_t flits, std::uint64_t first,
                             std::uint64_t last) {
  out_vc& ov = out_vcs_[vc_index(o, vc)];
  if (free_returning_ == none) more_returning();
  const std::uint32_t index = free_returning_;
  free_returning_ = returning_[index].next;
  returning_[index] = {first, last, flits, 0, none};
  insert_in_order(ov, index);
  ov.next_back = returning_[ov.first].cycle;
  if (starved(o, vc)) wake_starved(o);
}

void switch_core::more_returning() {
  free_returning_ = static_cast<std::uint32_t>(returning_.size());
  returning_.push_back({0, 0, 0, 0, none});
}

void switch_core::wake_starved(std::uint32_t o) {
  visit_requesters(o, [&](std::uint32_t iv) { schedule(o, next_chance(o, in_vcs_[iv], cycle_ + 1)); });
}

inline void switch_core::insert_in_order(out_vc& ov, std::uint32_t credit) {
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

/// When flit number `flit` of a batch, counted from 1, is back: evenly spread over its time.
std::uint64_t switch_core::back_at(const returning_credit& r, std::uint32_t flit) {
  if (r.last == r.cycle || r.flits == 1) return r.cycle;
  return r.cycle + ((flit - 1) * (r.last - r.cycle) + r.flits - 2) / (r.flits - 1);
}

/// Makes the credits usable that are back by now.
void switch_core::take_credits(out_vc& ov) {
  while (ov.first != none && returning_[ov.first].cycle <= cycle_) {
    const std::uint32_t index = ov.first;
    returning_credit& r = returning_[index];
    if (r.last > cycle_) {
      const auto back =
          static_cast<std::uint32_t>(1 + (cycle_ - r.cycle) * (r.flits - 1) / (r.last - r.cycle));
      if (back > r.taken) {  // not so when the batch has been slowed down since
        ov.credits += back - r.taken;
        r.taken = back;
      }
      return;
    }
    ov.credits += r.flits - r.taken;
    ov.first = returning_[index].next;
    returning_[index].next = free_returning_;
    free_returning_ = index;
  }
  if (ov.first == none) ov.last = none;
  ov.next_back = ov.first == none ? never : returning_[ov.first].cycle;
}

/// When enough of the credits on their way are back; never when they are too few.
std::uint64_t switch_core::credit_cycle(const out_vc& ov, std::uint32_t flits) const {
  std::uint32_t credits = ov.credits;
  for (std::uint32_t index = ov.first; index != none; index = returning_[index].next) {
    const returning_credit& r = returning_[index];
    const std::uint32_t more = r.flits - r.taken;
    if (credits + more >= flits) return back_at(r, r.taken + flits - credits);
    credits += more;
  }
  return never;
}

std::uint32_t switch_core::missing_credits(std::uint32_t output, std::uint8_t vc) const {
  const out_vc& ov = out_vcs_[vc_index(output, vc)];
  std::uint32_t credits = ov.credits;
  for (std::uint32_t r = ov.first; r != none; r = returning_[r].next) {
    credits += returning_[r].flits - returning_[r].taken;
  }
  return initial_credits_[vc_index(output, vc)] - credits;
}

}  // namespace diecast::hw
