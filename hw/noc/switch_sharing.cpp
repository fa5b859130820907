// SPDX-License-Identifier: Apache-2.0
// Transfers, and how those of several classes share an input or an output.
#include <algorithm>
#include <bit>

#include "hw/noc/switch_core.hpp"

namespace diecast::hw {

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
  std::uint64_t alone = 0;
  if (((out.classes | in.classes) & ~(1U << own)) != 0) {
    const sharer joining{s.flits, queue.port, c.output, 0};
    const pace by_output = share_port(out.classes, on_out, own, joining, end);
    const pace by_input = share_port(in.classes, on_in, own, joining, end);
    const pace slower = by_output.cycles > by_input.cycles ? by_output : by_input;
    if (cycle_ + slower.cycles >= end) {
      end = cycle_ + slower.cycles;
      alone = slower.alone;
    }
  }
  queue.end = on_out[own].end = on_in[own].end = end;
  if (classes_ > 1) {
    queue.moving = slot_index;
    queue.moving_flits = s.flits - 1;
    queue.moving_cycles = static_cast<std::uint32_t>(end - cycle_ - 1);
    out.classes |= 1U << own;
    in.classes |= 1U << own;
    on_out[own] = on_in[own] = {end, c.in_vc, c.output, static_cast<std::uint32_t>(alone), c.vc};
  }
  out.next_start = in.next_start = cycle_ + 1;
  return end;
}

/// Flits of a transfer that have not passed yet; the first goes at once.
std::uint32_t switch_core::left(const in_vc& queue) const {
  const std::uint64_t rest = queue.end - cycle_;
  if (rest > queue.moving_cycles) return queue.moving_flits + 1;
  const std::uint32_t alone = on_in_[queue.port * classes_ + class_of_vc_[queue.vc]].alone;
  if (queue.moving_cycles == queue.moving_flits || rest <= alone) return static_cast<std::uint32_t>(rest);
  const std::uint64_t flits = queue.moving_flits - alone;
  const std::uint64_t cycles = queue.moving_cycles - alone;
  return static_cast<std::uint32_t>(alone + ((rest - alone) * flits + cycles - 1) / cycles);
}

/// A packet joins the transfers of other classes on an input or an output. Until one of them is through, as
/// many flits of each other pass as the arbiter lets while they last. The others end later by this; returns
/// what becomes of `own`, the packet's class, which without them would end at `end`.
switch_core::pace switch_core::share_port(std::uint32_t& classes, const transfer* transfers, unsigned own,
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
  pace own_pace;
  for (std::uint32_t each = all; each != 0; each &= each - 1) {
    const auto c = static_cast<unsigned>(std::countr_zero(each));
    const pace needed = shared_pace(on, all, c, own);
    if (c == own) {
      own_pace = needed;
    } else {
      extend(transfers[c], cycle_ + needed.cycles, needed.alone);
    }
  }
  if (cycle_ + own_pace.cycles < end) own_pace = {end - cycle_, 0};
  return own_pace;
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

/// Until transfer `c` is through, when `joins` comes, whose first flit goes at once. The others count as
/// never short of flits: the gaps of one that is slowed down on this port are filled by the rest.
switch_core::pace switch_core::shared_pace(const std::array<sharer, max_classes>& on, std::uint32_t classes,
                                           unsigned c, unsigned joins) const {
  const auto contended = [&](unsigned k) { return on[k].flits - (k == joins ? 1 : 0); };
  const std::uint64_t pass = contended(c);
  pace p{on[c].flits, 0};
  std::uint64_t beside = 0;  // flits of c while one of another weight lasts
  for (std::uint32_t others = classes & ~(1U << c); others != 0; others &= others - 1) {
    const auto k = static_cast<unsigned>(std::countr_zero(others));
    p.cycles += std::min(on[k].flits, shared(pass, on, c, k));
    if (weights_[c] != weights_[k]) beside = std::max(beside, shared(contended(k), on, k, c));
  }
  // Of equal weights, the flits of the longer one count as spread over all its time: another mostly follows.
  if (beside != 0 && beside < pass) p.alone = pass - beside;
  return p;
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
void switch_core::extend(const transfer& t, std::uint64_t end, std::uint64_t alone) {
  in_vc& queue = in_vcs_[t.in_vc];
  if (end <= queue.end) return;
  const in_port& in = ins_[queue.port];
  const out_port& out = outs_[t.output];
  out_vc& ov = out_vcs_[vc_index(t.output, t.vc)];
  if (!wormhole_ && in.upstream != none) {
    const out_vc& credited = out_vcs_[vc_index(in.upstream, queue.vc)];
    const std::uint64_t announced = queue.end - 1 + in.credit_cycles;
    if (credited.last != none && returning_[credited.last].last == announced) {
      returning_credit& batch = returning_[credited.last];
      batch.last = end - 1 + in.credit_cycles;
      if (credits_observed_) {
        around_.credits_changed(in.upstream, queue.vc, static_cast<std::int32_t>(batch.flits), batch.cycle,
                                batch.last, announced);
      }
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
  on_in_[queue.port * classes_ + c].alone =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(alone, queue.moving_flits));
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
    extend(next, tail + 1, alone);
  }
}

}  // namespace diecast::hw
