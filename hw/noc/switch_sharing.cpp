// SPDX-License-Identifier: Apache-2.0
// Transfers of several classes that share an input or an output.
#include <algorithm>
#include <bit>

#include "hw/noc/switch_steps.hpp"

namespace diecast::hw {
namespace {

void forget_ended(std::uint8_t& classes, const switch_records::transfer* transfers, std::uint64_t cycle) {
  for (std::uint32_t each = classes; each != 0; each &= each - 1) {
    const auto c = static_cast<unsigned>(std::countr_zero(each));
    if (transfers[c].end <= cycle) classes &= static_cast<std::uint8_t>(~(1U << c));
  }
}

}  // namespace

/// start_transfer() with several classes: transfers of other classes on the same ports delay this one, and it
/// delays them.
std::uint64_t switch_core::start_beside(std::uint32_t o, std::uint32_t vc, in_vc& queue,
                                        std::uint32_t slot_index, std::uint64_t end) {
  out_port& out = outs_[o];
  in_port& in = ins_[queue.port];
  const std::uint32_t flits = slots_[slot_index].flits;
  const unsigned own = queue.own_class;
  const auto bit = static_cast<std::uint8_t>(1U << own);
  transfer* const on_out = &on_out_[std::size_t{o} * classes_];
  transfer* const on_in = &on_in_[std::size_t{queue.port} * classes_];
  rate_schedule rates;
  bool behind = true;  // the packet may still be arriving, at the rates of the previous router
  if (((out.classes | in.classes) & ~bit) != 0) {
    forget_ended(out.classes, on_out, cycle_);
    forget_ended(in.classes, on_in, cycle_);
    behind = cycle_ + flits < end;
  }
  if (((out.classes | in.classes) & ~bit) != 0) {
    const contender joining{std::uint64_t{flits} * flit_parts, queue.port, o, 0};
    const transfer_time by_output = share_port(out.classes, on_out, own, joining, end);
    const transfer_time by_input = share_port(in.classes, on_in, own, joining, end);
    const transfer_time& slower = by_output.cycles > by_input.cycles ? by_output : by_input;
    if (cycle_ + slower.cycles >= end) {
      end = cycle_ + slower.cycles;
      rates = slower.rates;
    }
  }
  if (behind && rates.count == 0) rates = schedule_behind(slot_index, end);
  queue.end = end;
  progress_[class_index(queue)] = {slot_index, flits * flit_parts, static_cast<std::uint32_t>(end - cycle_)};
  out.classes |= bit;
  in.classes |= bit;
  on_out[own] = on_in[own] = {end, slots_[slot_index].in_vc, o, static_cast<std::uint8_t>(vc)};
  keep_schedule(queue, rates);
  out.next_start = in.next_start = cycle_ + 1;
  return end;
}

/// The rate schedule of a packet that is forwarded while it arrives: the schedule of its transfer from the
/// previous router, and the point at which that transfer joined others. A point that the previous router has
/// passed may be in the future of this one.
switch_core::rate_schedule switch_core::schedule_behind(std::uint32_t slot_index, std::uint64_t end) const {
  const slot& s = slots_[slot_index];
  if (s.came_from == none || end != s.tail_ready + 1) return {};
  const in_vc& before = in_vcs_[s.came_from];
  if (before.end <= cycle_ || progress_[class_index(before)].slot != slot_index) return {};
  const rate_schedule& known = rate_schedules_[class_index(before)];
  const transfer_progress& joined = progress_[class_index(before)];
  const std::uint32_t all = s.flits * flit_parts;
  if (known.count == 0 && joined.parts == all && joined.cycles == s.flits) return {};  // sent at full rate
  rate_schedule rates = known;
  if (rates.count < max_classes) rates.points[rates.count++] = {joined.parts, joined.cycles * flit_parts};
  return rates;
}

/// Keeps the part of a rate schedule that a transfer has not passed. A transfer that is late, because it
/// waited for its grant, sends a flit per cycle until it has caught up with the schedule.
void switch_core::keep_schedule(const in_vc& queue, const rate_schedule& rates) {
  const transfer_progress& moving = progress_[class_index(queue)];
  const rate_schedule::point now{moving.parts, moving.cycles * flit_parts};
  // Spare time at a point when the transfer sends at full rate up to it; negative: it is late there.
  const auto spare = [&](const rate_schedule::point& p) {
    return std::int64_t{now.time} - p.time - std::int64_t{now.passing} + p.passing;
  };
  rate_schedule& kept = rate_schedules_[class_index(queue)];
  kept.count = 0;
  if (rates.count == 0) return;
  const auto keep = [&](const rate_schedule::point& p) {
    if (p.passing < now.passing && p.time < now.time) kept.points[kept.count++] = p;
  };
  rate_schedule::point later;
  for (std::uint32_t k = 0; k < rates.count; ++k) {
    const rate_schedule::point& p = rates.points[k];
    if (spare(p) < 0) {
      if (spare(later) > 0) keep(caught_up(later, p, spare(later), -spare(p)));
      return;
    }
    keep(p);
    later = p;
  }
}

/// The point at which a transfer catches up with its schedule: between point `earlier`, where it is `late`
/// parts of cycles behind the schedule, and point `later`, where it would be `early` ahead of it.
switch_core::rate_schedule::point switch_core::caught_up(const rate_schedule::point& later,
                                                         const rate_schedule::point& earlier,
                                                         std::int64_t early, std::int64_t late) {
  const std::int64_t on = early * (std::int64_t{earlier.time} - later.time) / (early + late);
  return {static_cast<std::uint32_t>(later.passing + on - early),
          static_cast<std::uint32_t>(later.time + on)};
}

/// Parts of flits that a transfer has left to send.
std::uint32_t switch_core::left(const in_vc& queue) const {
  const auto cycles = static_cast<std::uint32_t>(queue.end - cycle_);
  const std::uint32_t rest = cycles * flit_parts;
  const transfer_progress& moving = progress_[class_index(queue)];
  rate_schedule::point later, earlier{moving.parts, moving.cycles * flit_parts};
  if (earlier.passing == earlier.time) return rest;
  const rate_schedule& rates = rate_schedules_[class_index(queue)];
  for (std::uint32_t k = 0; k < rates.count; ++k) {
    if (rest <= rates.points[k].time) {
      earlier = rates.points[k];
      break;
    }
    later = rates.points[k];
  }
  const std::uint64_t parts = earlier.passing - later.passing;
  const std::uint64_t time = earlier.time - later.time;
  return static_cast<std::uint32_t>(later.passing + ((rest - later.time) * parts + time - 1) / time);
}

std::optional<std::uint32_t> switch_core::flits_to_go(std::uint32_t output, std::uint8_t vc) const {
  if (classes_ == 1) return {};
  const auto* const first = &on_out_[std::size_t{output} * classes_];
  const auto passes = [&](const transfer& t) { return t.end > cycle_ && t.vc == vc; };
  const auto* const t = std::find_if(first, first + classes_, passes);
  if (t == first + classes_) return {};
  return whole_flits(left(in_vcs_[t->in_vc]));
}

/// A packet of class `own` joins the transfers of other classes on an input or an output, which it delays:
/// until one of them ends, each gets the arbiter's share of cycles. Returns the duration of the packet's
/// transfer, which would end at `end` without them. Precondition: none of them has ended.
switch_core::transfer_time switch_core::share_port(std::uint8_t& classes, const transfer* transfers,
                                                   unsigned own, const contender& joining,
                                                   std::uint64_t end) {
  contenders on;
  classes &= static_cast<std::uint8_t>(~(1U << own));
  for (std::uint32_t others = classes; others != 0; others &= others - 1) {
    const auto c = static_cast<unsigned>(std::countr_zero(others));
    const transfer& t = transfers[c];
    const in_vc& queue = in_vcs_[t.in_vc];
    on[c] = {left(queue), queue.port, t.output, 0};
  }
  on[own] = joining;
  const std::uint32_t all = classes | 1U << own;
  count_streams(on, all);
  transfer_time own_time;
  for (std::uint32_t each = all; each != 0; each &= each - 1) {
    const auto c = static_cast<unsigned>(std::countr_zero(each));
    const transfer_time needed = shared_time(on, all, c, own);
    if (c == own) {
      own_time = needed;
    } else {
      extend(transfers[c], cycle_ + needed.cycles, needed.rates);
    }
  }
  if (cycle_ + own_time.cycles < end) own_time = {end - cycle_, {}};
  return own_time;
}

void switch_core::count_streams(contenders& on, std::uint32_t classes) {
  for (std::uint32_t each = classes; each != 0; each &= each - 1) {
    contender& a = on[static_cast<unsigned>(std::countr_zero(each))];
    for (std::uint32_t others = classes; others != 0; others &= others - 1) {
      const contender& b = on[static_cast<unsigned>(std::countr_zero(others))];
      if (a.input == b.input && a.output == b.output) ++a.streams;
    }
  }
}

/// Time until transfer `c` ends when `joins` starts. The first flit of `joins` is sent at once, even while a
/// flit of another transfer is partly sent. Every other transfer is assumed to have flits at all times: the
/// gaps that a delayed transfer leaves on this port are filled by the rest.
switch_core::transfer_time switch_core::shared_time(const contenders& on, std::uint32_t classes, unsigned c,
                                                    unsigned joins) const {
  const std::uint32_t rivals = classes & ~(1U << c);
  const auto time_of = [&](std::uint64_t parts) {  // time, in parts of cycles, in which c sends `parts`
    std::uint64_t time = parts;
    for (std::uint32_t others = rivals; others != 0; others &= others - 1) {
      const auto k = static_cast<unsigned>(std::countr_zero(others));
      const std::uint64_t at_least = k == joins ? flit_parts : 0;
      time += std::min(on[k].parts, std::max(at_least, shared(parts, on, c, k)));
    }
    return time;
  };
  const std::uint32_t at_once = c == joins ? flit_parts : 0;
  transfer_time p{(time_of(on[c].parts - at_once) + at_once + flit_parts - 1) / flit_parts, {}};
  const std::uint64_t time = time_of(on[c].parts);
  for (std::uint32_t others = rivals; others != 0; others &= others - 1) {
    const auto k = static_cast<unsigned>(std::countr_zero(others));
    const std::uint64_t beside = shared(on[k].parts, on, k, c);  // parts of class c sent until class k ends
    if (beside >= on[c].parts) continue;
    const rate_schedule::point turn{static_cast<std::uint32_t>(on[c].parts - beside),
                                    static_cast<std::uint32_t>(time - time_of(beside))};
    std::uint32_t at = p.rates.count++;
    for (; at > 0 && p.rates.points[at - 1].passing > turn.passing; --at)
      p.rates.points[at] = p.rates.points[at - 1];
    p.rates.points[at] = turn;
  }
  // The point where the transfers joined, for routers that this part of the packet has not reached.
  p.rates.points[p.rates.count++] = {static_cast<std::uint32_t>(on[c].parts),
                                     static_cast<std::uint32_t>(p.cycles * flit_parts)};
  return p;
}

/// Parts of class `other` that are sent while `parts` of class `own` are, when both always have flits. Round
/// robin is over the inputs of an output (the outputs of an input), and the VCs of an input share its turns;
/// weights are those of classes, for all inputs.
std::uint64_t switch_core::shared(std::uint64_t parts, const contenders& on, unsigned own,
                                  unsigned other) const {
  if (weights_[own] != weights_[other]) {
    return (parts * weights_[other] + weights_[own] - 1) / weights_[own];
  }
  if (on[own].streams == on[other].streams) return parts;
  return (parts * on[own].streams + on[other].streams - 1) / on[other].streams;
}

/// Delays the end of a transfer in flight and all that depends on it: the packet's tail at the next router,
/// or its transfer from there if it has begun, and the credits to the previous router.
void switch_core::extend(const transfer& t, std::uint64_t end, const rate_schedule& rates) {
  in_vc& queue = in_vcs_[t.in_vc];
  if (end <= queue.end) return;
  const in_port& in = ins_[queue.port];
  const out_port& out = outs_[t.output];
  transfer_progress& moving = progress_[class_index(queue)];
  std::uint64_t& vc_free_from = out_vcs_[vc_index(t.output, t.vc)].free_from;
  if (vc_free_from == queue.end) vc_free_from = end;
  moving.parts = left(queue);
  moving.cycles = static_cast<std::uint32_t>(end - cycle_);
  queue.end = end;
  if (queue.first != none) {
    const std::uint64_t free = end + (slots_[queue.first].head ? queue.reroute_delay : 0);
    queue.front_ready = std::max(queue.front_ready, free);
  }
  const unsigned c = queue.own_class;
  on_in_[queue.port * classes_ + c].end = end;
  keep_schedule(queue, rates);
  if (in.upstream != none) delay_credits(queue);
  on_out_[t.output * classes_ + c].end = end;
  if (out.downstream == none) return environment_.delay(t.output, t.vc, end - 1);
  const std::uint64_t tail = end - 1 + out.next_hop_cycles[0];
  slot& s = slots_[moving.slot];
  if (s.came_from == t.in_vc) {
    s.tail_ready = std::max(s.tail_ready, tail);
    return;
  }
  const transfer& next = on_in_[out.downstream * classes_ + c];
  if (next.in_vc == in_index(out.downstream, t.vc) && next.end > cycle_ &&
      progress_[class_index(in_vcs_[next.in_vc])].slot == moving.slot) {
    extend(next, tail + 1, rates);
  }
}

}  // namespace diecast::hw
