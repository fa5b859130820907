// SPDX-License-Identifier: Apache-2.0
// Credits of the switches' outputs.
#include "hw/noc/switch_core.hpp"

namespace diecast::hw {

void switch_core::credit(std::uint32_t output, std::uint8_t vc, std::uint32_t flits, std::uint64_t cycle) {
  add_credit(output, vc, flits, cycle);
}

void switch_core::add_credit(std::uint32_t o, std::uint8_t vc, std::uint32_t flits, std::uint64_t cycle) {
  out_port& out = outs_[o];
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
    const std::uint64_t next = next_chance(o, in_vcs_[iv], cycle_ + 1);
    if (next != never) schedule(o, next);
  }
}

void switch_core::insert_in_order(out_vc& ov, std::uint32_t credit) {
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
void switch_core::take_credits(out_vc& ov) {
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
std::uint64_t switch_core::credit_cycle(const out_vc& ov, std::uint32_t flits) const {
  std::uint32_t credits = ov.credits;
  for (std::uint32_t index = ov.first; index != none; index = returning_[index].next) {
    credits += returning_[index].flits;
    if (credits >= flits) return returning_[index].cycle;
  }
  return never;
}

std::uint32_t switch_core::missing_credits(std::uint32_t output, std::uint8_t vc) const {
  const out_vc& ov = out_vcs_[vc_index(output, vc)];
  std::uint32_t credits = ov.credits;
  for (std::uint32_t r = ov.first; r != none; r = returning_[r].next) credits += returning_[r].flits;
  return initial_credits_[vc_index(output, vc)] - credits;
}

}  // namespace diecast::hw
