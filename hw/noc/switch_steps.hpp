// SPDX-License-Identifier: Apache-2.0
// Common steps of evaluations, grants and credits of switch_core, inlined in each.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

#include "hw/noc/switch_core.hpp"

namespace diecast::hw {

/// The first cycle in which the output may start a packet of this class.
template <bool Plain>
inline std::uint64_t switch_core::out_free(std::uint32_t o, const in_vc& queue) const {
  const std::uint64_t next = outs_[o].next_start;
  return Plain || classes_ == 1 ? next : std::max(next, on_out_[o * classes_ + queue.own_class].end);
}

/// The first cycle in which the input of this VC may start a packet of its class.
template <bool Plain>
inline std::uint64_t switch_core::in_free(const in_vc& queue) const {
  if (!Plain && port_per_vc_) return queue.end;
  const std::uint64_t next = ins_[queue.port].next_start;
  return Plain || classes_ == 1 ? next : std::max(next, on_in_[queue.port * classes_ + queue.own_class].end);
}

template <bool Plain>
inline bool switch_core::free_to_start(std::uint32_t o, const in_vc& queue) const {
  return std::max(out_free<Plain>(o, queue), in_free<Plain>(queue)) <= cycle_;
}

/// Makes the returned credits usable.
inline void switch_core::take_credits(out_vc& ov) {
  if (ov.next_back > cycle_) return;
  if (ov.first != none) return take_listed(ov);
  ov.credits += std::exchange(ov.last, none);
  ov.next_back = never;
}

/// With one class a VC mostly has one batch of credits in flight, which needs no list. With several classes
/// credits may be delayed, and are listed. Precondition: flits > 0, or an empty batch would be in flight.
template <bool Plain>
inline void switch_core::add_credit(std::uint32_t o, std::uint8_t vc, std::uint32_t flits,
                                    std::uint64_t first, std::uint64_t last) {
  out_vc& ov = out_vcs_[vc_index(o, vc)];
  const bool one_class = Plain || classes_ == 1;
  if (one_class) take_credits(ov);
  if (one_class && first == last && ov.next_back == never) {
    ov.last = flits;
    ov.next_back = first;
  } else {
    list_credit(ov, flits, first, last);
  }
  if (starved(o, vc)) wake_starved(o);
}

inline bool switch_core::has_room(std::uint32_t v, std::uint32_t flits) {
  out_vc& ov = out_vcs_[v];
  take_credits(ov);
  return ov.credits >= flits;
}

/// Records the transfer at its input and its output. Returns one past the cycle of its last flit, which
/// depends on the arrival of its flits and on transfers of other classes.
template <bool Plain>
inline std::uint64_t switch_core::start_transfer(std::uint32_t o, std::uint32_t vc, in_vc& queue,
                                                 std::uint32_t slot_index) {
  const slot& s = slots_[slot_index];
  const std::uint64_t end = std::max(cycle_ + s.flits, s.tail_ready + 1);
  if (!Plain && classes_ > 1) return start_beside(o, vc, queue, slot_index, end);
  queue.end = outs_[o].next_start = ins_[queue.port].next_start = end;
  return end;
}

/// Schedules an evaluation of the output at `cycle` unless an earlier one is scheduled, which finds the next.
inline void switch_core::schedule(std::uint32_t o, std::uint64_t cycle) {
  out_port& out = outs_[o];
  if (cycle >= out.scheduled) return;
  if (out.scheduled != never) wheel_.remove(out.scheduled, o);
  out.scheduled = std::min(cycle, cycle_ + wheel_.span() - 1);
  wheel_.put(out.scheduled, o);
}

template <bool Plain, class Visit>
inline void switch_core::visit_requesters(std::uint32_t o, Visit visit) const {
  std::uint32_t first = outs_[o].first_in_vc;
  const auto visit_bits = [&](std::uint64_t b) {
    for (; b != 0; b &= b - 1) visit(first + static_cast<std::uint32_t>(std::countr_zero(b)));
  };
  visit_bits(outs_[o].asking);
  for (std::uint32_t w = 0; !Plain && w < more_words_; ++w) {
    first += 64;
    visit_bits(more_requests_[o * more_words_ + w]);
  }
}

template <bool Plain>
inline switch_core::request_bit switch_core::request_of(std::uint32_t o, std::uint32_t iv) {
  out_port& out = outs_[o];
  const std::uint32_t n = iv - out.first_in_vc;
  std::uint64_t& word = Plain || n < 64 ? out.asking : more_requests_[o * more_words_ + n / 64 - 1];
  return {word, std::uint64_t{1} << n % 64};
}

}  // namespace diecast::hw
