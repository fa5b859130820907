// SPDX-License-Identifier: Apache-2.0
// Transfers, and how those of several classes share an input or an output.
#include <algorithm>
#include <bit>

#include "hw/noc/switch_steps.hpp"

namespace diecast::hw {

/// start_transfer() where there are other classes: it slows down theirs on its ports and is slowed down by
/// them.
std::uint64_t switch_core::start_beside(std::uint32_t o, std::uint32_t vc, in_vc& queue,
                                        std::uint32_t slot_index, std::uint64_t end) {
  out_port& out = outs_[o];
  in_port& in = ins_[queue.port];
  const std::uint32_t flits = slots_[slot_index].flits;
  const unsigned own = queue.own_class;
  const auto bit = static_cast<std::uint8_t>(1U << own);
  transfer* const on_out = &on_out_[std::size_t{o} * classes_];
  transfer* const on_in = &on_in_[std::size_t{queue.port} * classes_];
  course way;
  if (((out.classes | in.classes) & ~bit) != 0) {
    const sharer joining{std::uint64_t{flits} * flit_parts, queue.port, o, 0};
    const pace by_output = share_port(out.classes, on_out, own, joining, end);
    const pace by_input = share_port(in.classes, on_in, own, joining, end);
    const pace& slower = by_output.cycles > by_input.cycles ? by_output : by_input;
    if (cycle_ + slower.cycles >= end) {
      end = cycle_ + slower.cycles;
      way = slower.way;
    }
  }
  if (way.count == 0) way = course_behind(slot_index, end);
  queue.end = end;
  motions_[index_of(queue)] = {slot_index, flits * flit_parts, static_cast<std::uint32_t>(end - cycle_)};
  out.classes |= bit;
  in.classes |= bit;
  on_out[own] = on_in[own] = {end, index_of(queue), o, static_cast<std::uint8_t>(vc)};
  keep_course(queue, way);
  out.next_start = in.next_start = cycle_ + 1;
  return end;
}

/// The course of a packet that goes on as it comes: that of its transfer from the router before, whose tail
/// it waits for, and where that joined others. Points that have passed there may still be ahead here.
switch_core::course switch_core::course_behind(std::uint32_t slot_index, std::uint64_t end) const {
  const slot& s = slots_[slot_index];
  if (s.came_from == none || end != s.tail_ready + 1) return {};
  const in_vc& before = in_vcs_[s.came_from];
  if (before.end <= cycle_ || motions_[s.came_from].slot != slot_index) return {};
  course way = courses_[before.port * classes_ + before.own_class];
  const motion& joined = motions_[s.came_from];
  if (way.count < max_classes) way.points[way.count++] = {joined.parts, joined.cycles * flit_parts};
  return way;
}

/// What of a course lies ahead of a transfer. One that is behind it, as it had to wait for its grant, passes
/// a flit per cycle until it has caught up.
void switch_core::keep_course(const in_vc& queue, const course& way) {
  const motion& moving = motions_[index_of(queue)];
  const course::point now{moving.parts, moving.cycles * flit_parts};
  // Time that is left over until a point when all goes at full rate; negative: the point is out of reach.
  const auto spare = [&](const course::point& p) {
    return std::int64_t{now.time} - p.time - std::int64_t{now.passing} + p.passing;
  };
  course& kept = courses_[queue.port * classes_ + queue.own_class];
  kept.count = 0;
  const auto keep = [&](const course::point& p) {
    if (p.passing < now.passing && p.time < now.time) kept.points[kept.count++] = p;
  };
  course::point later;
  for (std::uint32_t k = 0; k < way.count; ++k) {
    const course::point& p = way.points[k];
    if (spare(p) < 0) {
      if (spare(later) > 0) keep(caught_up(later, p, spare(later), -spare(p)));
      return;
    }
    keep(p);
    later = p;
  }
}

/// Between a point that is reached with `early` to spare and an earlier one that is missed by `late`.
switch_core::course::point switch_core::caught_up(const course::point& later, const course::point& earlier,
                                                  std::int64_t early, std::int64_t late) {
  const std::int64_t on = early * (std::int64_t{earlier.time} - later.time) / (early + late);
  return {static_cast<std::uint32_t>(later.passing + on - early),
          static_cast<std::uint32_t>(later.time + on)};
}

/// What of a transfer has not passed yet, in parts of flits.
std::uint32_t switch_core::left(const in_vc& queue) const {
  const auto cycles = static_cast<std::uint32_t>(queue.end - cycle_);
  const std::uint32_t rest = cycles * flit_parts;
  const motion& moving = motions_[index_of(queue)];
  course::point later, earlier{moving.parts, moving.cycles * flit_parts};
  if (earlier.passing == earlier.time) return rest;
  const course& way = courses_[queue.port * classes_ + queue.own_class];
  for (std::uint32_t k = 0; k < way.count; ++k) {
    if (rest <= way.points[k].time) {
      earlier = way.points[k];
      break;
    }
    later = way.points[k];
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

/// A packet joins the transfers of other classes on an input or an output. Until one of them is through, as
/// many flits of each other pass as the arbiter lets while they last. The others end later by this; returns
/// what becomes of `own`, the packet's class, which without them would end at `end`.
switch_core::pace switch_core::share_port(std::uint8_t& classes, const transfer* transfers, unsigned own,
                                          const sharer& joining, std::uint64_t end) {
  sharers on;
  classes &= static_cast<std::uint8_t>(~(1U << own));
  for (std::uint32_t others = classes; others != 0; others &= others - 1) {
    const auto c = static_cast<unsigned>(std::countr_zero(others));
    const transfer& t = transfers[c];
    if (t.end <= cycle_) {
      classes &= static_cast<std::uint8_t>(~(1U << c));
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
      extend(transfers[c], cycle_ + needed.cycles, needed.way);
    }
  }
  if (cycle_ + own_pace.cycles < end) own_pace = {end - cycle_, {}};
  return own_pace;
}

void switch_core::count_streams(sharers& on, std::uint32_t classes) {
  for (std::uint32_t each = classes; each != 0; each &= each - 1) {
    sharer& a = on[static_cast<unsigned>(std::countr_zero(each))];
    for (std::uint32_t others = classes; others != 0; others &= others - 1) {
      const sharer& b = on[static_cast<unsigned>(std::countr_zero(others))];
      if (a.input == b.input && a.output == b.output) ++a.streams;
    }
  }
}

/// Until transfer `c` is through, when `joins` comes, whose first flit goes at once: who has less than a flit
/// left has to wait for it. The others count as never short of flits: the gaps of one that is slowed down on
/// this port are filled by the rest.
switch_core::pace switch_core::shared_pace(const sharers& on, std::uint32_t classes, unsigned c,
                                           unsigned joins) const {
  const std::uint32_t rivals = classes & ~(1U << c);
  const auto time_of = [&](std::uint64_t parts) {  // in which so much of c passes, in parts of cycles
    std::uint64_t time = parts;
    for (std::uint32_t others = rivals; others != 0; others &= others - 1) {
      const auto k = static_cast<unsigned>(std::countr_zero(others));
      const std::uint64_t at_least = k == joins ? flit_parts : 0;
      time += std::min(on[k].parts, std::max(at_least, shared(parts, on, c, k)));
    }
    return time;
  };
  const std::uint32_t at_once = c == joins ? flit_parts : 0;
  pace p{(time_of(on[c].parts - at_once) + at_once + flit_parts - 1) / flit_parts, {}};
  const std::uint64_t time = time_of(on[c].parts);
  for (std::uint32_t others = rivals; others != 0; others &= others - 1) {
    const auto k = static_cast<unsigned>(std::countr_zero(others));
    const std::uint64_t beside =
        shared(on[k].parts, on, k, c);  // flits of class c that pass until k is through
    if (beside >= on[c].parts) continue;
    const course::point turn{static_cast<std::uint32_t>(on[c].parts - beside),
                             static_cast<std::uint32_t>(time - time_of(beside))};
    std::uint32_t at = p.way.count++;
    for (; at > 0 && p.way.points[at - 1].passing > turn.passing; --at)
      p.way.points[at] = p.way.points[at - 1];
    p.way.points[at] = turn;
  }
  // From where the others joined on, for routers that this place of the packet has yet to reach.
  p.way.points[p.way.count++] = {static_cast<std::uint32_t>(on[c].parts),
                                 static_cast<std::uint32_t>(p.cycles * flit_parts)};
  return p;
}

/// What of class `other` passes while `parts` of class `own` do, when both always have some. Round robin
/// goes over the inputs of an output (over the outputs of an input), and what one of them gets is shared by
/// its VCs; weights hold between classes wherever they come from.
std::uint64_t switch_core::shared(std::uint64_t parts, const sharers& on, unsigned own,
                                  unsigned other) const {
  if (weights_[own] != weights_[other]) {
    return (parts * weights_[other] + weights_[own] - 1) / weights_[own];
  }
  if (on[own].streams == on[other].streams) return parts;
  return (parts * on[own].streams + on[other].streams - 1) / on[other].streams;
}

/// A transfer under way ends later, and with it all that follows: its tail at the next router, or the
/// transfer from there if the packet has gone on, and the credits that go upstream.
void switch_core::extend(const transfer& t, std::uint64_t end, const course& way) {
  in_vc& queue = in_vcs_[t.in_vc];
  if (end <= queue.end) return;
  const in_port& in = ins_[queue.port];
  const out_port& out = outs_[t.output];
  motion& moving = motions_[t.in_vc];
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
  keep_course(queue, way);
  if (in.upstream != none) put_off_credits(queue);
  on_out_[t.output * classes_ + c].end = end;
  if (out.downstream == none) return around_.delay(t.output, t.vc, end - 1);
  const std::uint64_t tail = end - 1 + out.way[0];
  slot& s = slots_[moving.slot];
  if (s.came_from == t.in_vc) {
    s.tail_ready = std::max(s.tail_ready, tail);
    return;
  }
  const transfer& next = on_in_[out.downstream * classes_ + c];
  const std::uint32_t behind = vc_index(out.downstream, t.vc);
  if (next.in_vc == behind && next.end > cycle_ && motions_[behind].slot == moving.slot) {
    extend(next, tail + 1, way);
  }
}

}  // namespace diecast::hw
