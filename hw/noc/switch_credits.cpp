// SPDX-License-Identifier: Apache-2.0
// Credits of the switches' outputs.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "hw/noc/switch_steps.hpp"

namespace diecast::hw {

void switch_core::credit(std::uint32_t output, std::uint8_t vc, std::uint32_t flits, std::uint64_t cycle) {
  add_credit(output, vc, flits, cycle, cycle);
}

/// Lists returning credits: of several batches, or of one that returns flit by flit or may be delayed.
void switch_core::list_credit(out_vc& ov, std::uint32_t flits, std::uint64_t first, std::uint64_t last) {
  if (const std::uint32_t other = only_batch(ov); other != 0) {
    ov.last = none;
    const std::uint64_t back = std::exchange(ov.next_back, never);
    list_credit(ov, other, back, back);
  }
  if (free_returning_ == none) more_returning();
  const std::uint32_t index = free_returning_;
  free_returning_ = returning_[index].next;
  returning_[index] = {first, last, flits, 0, none, false};
  insert_in_order(ov, index);
  ov.next_back = returning_[ov.first].cycle;
}

void switch_core::more_returning() {
  free_returning_ = static_cast<std::uint32_t>(returning_.size());
  returning_.push_back({0, 0, 0, 0, none, false});
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

/// Cycle in which the credit of flit `flit` of a batch, from 1, is back: they are spread evenly over its
/// time.
std::uint64_t switch_core::back_at(const returning_credit& r, std::uint32_t flit) {
  if (r.last == r.cycle || r.flits == 1) return r.cycle;
  return r.cycle + ((flit - 1) * (r.last - r.cycle) + r.flits - 2) / (r.flits - 1);
}

/// take_credits() where several batches of credits are returning.
void switch_core::take_listed(out_vc& ov) {
  while (ov.first != none && returning_[ov.first].cycle <= cycle_) {
    const std::uint32_t index = ov.first;
    returning_credit& r = returning_[index];
    if (r.last > cycle_) {
      const auto back =
          static_cast<std::uint32_t>(1 + (cycle_ - r.cycle) * (r.flits - 1) / (r.last - r.cycle));
      if (back > r.taken) {  // false when the batch has been delayed in the meantime
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

/// Announces the credits of a transfer that begins now.
void switch_core::announce_along(const in_vc& queue, std::uint32_t flits) {
  return_along(queue, flits, true);
  if (!credits_observed_) return;
  const std::uint32_t o = ins_[queue.port].upstream;
  const std::vector<std::uint64_t> times = credit_times(out_vcs_[vc_index(o, queue.vc)]);
  for (auto t = times.end() - flits; t != times.end(); ++t)
    environment_.credits_changed(o, queue.vc, 1, *t, *t);
}

/// Returns the credits of the last `flits` of a transfer along its rate schedule: evenly between two points.
/// `begins`: `flits` are all of the transfer, and the first one leaves now.
void switch_core::return_along(const in_vc& queue, std::uint32_t flits, bool begins) {
  const in_port& in = ins_[queue.port];
  const transfer_progress& moving = progress_[class_index(queue)];
  const rate_schedule& rates = rate_schedules_[class_index(queue)];
  out_vc& ov = out_vcs_[vc_index(in.upstream, queue.vc)];
  std::uint64_t reported = ov.last == none ? 0 : returning_[ov.last].last;  // rounding keeps the order
  rate_schedule::point earlier{moving.parts, moving.cycles * flit_parts};
  for (std::uint32_t k = rates.count + 1; k-- != 0;) {
    const rate_schedule::point later = k == 0 ? rate_schedule::point{} : rates.points[k - 1];
    const std::uint32_t here = std::min(flits, whole_flits(earlier.passing));
    const std::uint32_t behind = whole_flits(later.passing);
    if (here > behind) {
      const auto back = [&](std::uint32_t n) {
        return queue.end - 1 + in.credit_cycles - time_left(earlier, later, n) / flit_parts;
      };
      const std::uint64_t last = std::max(back(behind), reported);
      const bool at_once = begins && here > behind + 1;
      const std::uint64_t first = at_once ? cycle_ + in.credit_cycles : std::max(back(here - 1), reported);
      add_credit(in.upstream, queue.vc, here - behind, first, last);
      reported = last;
      returning_[ov.last].goes_on = behind != 0;
      begins = false;
    }
    earlier = later;
  }
}

/// Time left, in parts of cycles, when `flits` are left, between two points of a rate schedule.
std::uint64_t switch_core::time_left(const rate_schedule::point& earlier, const rate_schedule::point& later,
                                     std::uint64_t flits) {
  const std::uint64_t parts = flits * flit_parts - later.passing;
  return later.time + parts * (earlier.time - later.time) / (earlier.passing - later.passing);
}

/// Delays the credits of a transfer that now ends later than was reported, except those of flits that have
/// left.
void switch_core::delay_credits(const in_vc& queue) {
  const in_port& in = ins_[queue.port];
  out_vc& ov = out_vcs_[vc_index(in.upstream, queue.vc)];
  take_credits(ov);
  if (ov.last == none) return;  // a wormhole packet's credits may be back before its last flits leave
  std::vector<std::uint64_t> reported;
  if (credits_observed_) reported = credit_times(ov);
  if (wormhole_) {
    returning_credit& batch = returning_[ov.last];
    batch.cycle = batch.last = std::max(batch.last, queue.end - batch.flits + in.credit_cycles);
    ov.next_back = returning_[ov.first].cycle;
  } else {
    return_along(queue, take_back(ov, whole_flits(progress_[class_index(queue)].parts)), false);
  }
  if (credits_observed_) report_delayed(in.upstream, queue.vc, reported, credit_times(ov));
}

/// Removes the returning credits of the last flits of the last transfer, at most `flits`; returns how many.
std::uint32_t switch_core::take_back(out_vc& ov, std::uint32_t flits) {
  std::uint32_t* from = &ov.first;
  std::uint32_t coming = 0;  // credits of the transfer
  for (std::uint32_t n = ov.first; n != none; n = returning_[n].next) {
    returning_credit& r = returning_[n];
    coming += r.flits - r.taken;
    if (r.goes_on || r.next == none) continue;
    from = &r.next;
    coming = 0;
  }
  flits = std::min(flits, coming);
  std::uint32_t stay = coming - flits;
  while (stay != 0) {
    returning_credit& r = returning_[*from];
    const std::uint32_t here = std::min(stay, r.flits - r.taken);
    r.last = back_at(r, r.taken + here);
    r.flits = r.taken + here;
    r.goes_on = true;
    stay -= here;
    from = &r.next;
  }
  drop_credits(ov, from);
  return flits;
}

/// Removes all returning credits behind a link of the list.
void switch_core::drop_credits(out_vc& ov, std::uint32_t* from) {
  while (*from != none) {
    const std::uint32_t n = *from;
    *from = returning_[n].next;
    returning_[n].next = free_returning_;
    free_returning_ = n;
  }
  if (ov.first == none) ov.next_back = never;
  ov.last = ov.first;
  for (std::uint32_t n = ov.first; n != none; n = returning_[n].next) ov.last = n;
}

/// Arrival cycles of the returning credits, flit by flit.
std::vector<std::uint64_t> switch_core::credit_times(const out_vc& ov) const {
  std::vector<std::uint64_t> times;
  for (std::uint32_t n = ov.first; n != none; n = returning_[n].next) {
    const returning_credit& r = returning_[n];
    for (std::uint32_t flit = r.taken + 1; flit <= r.flits; ++flit) times.push_back(back_at(r, flit));
  }
  return times;
}

void switch_core::report_delayed(std::uint32_t o, std::uint8_t vc, const std::vector<std::uint64_t>& reported,
                                 const std::vector<std::uint64_t>& present) const {
  for (std::size_t n = 0; n < reported.size(); ++n) {
    if (reported[n] == present[n]) continue;
    environment_.credits_changed(o, vc, -1, reported[n], reported[n]);
    environment_.credits_changed(o, vc, 1, present[n], present[n]);
  }
}

/// Cycle in which `flits` credits are there; never when too few are returning.
std::uint64_t switch_core::credit_cycle(const out_vc& ov, std::uint32_t flits) const {
  std::uint32_t credits = ov.credits;
  if (ov.first == none) return credits + only_batch(ov) >= flits ? ov.next_back : never;
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
  std::uint32_t credits = ov.credits + only_batch(ov);
  for (std::uint32_t r = ov.first; r != none; r = returning_[r].next) {
    credits += returning_[r].flits - returning_[r].taken;
  }
  return initial_credits(output, vc) - credits;
}

// Prefetches the records that coming evaluations will read.
//
// Between two packets over a link the rest of the network is evaluated. Where its records exceed a core's own
// caches, each of the dozen records of a packet-hop comes from a slower memory, and most of their indices are
// in another record: one miss after the other. But the outputs that are due in a cycle are known at its
// start. So these chains are followed ahead of the evaluations, one link per `stride` evaluations, for many
// outputs at a time. For small networks this would only cost time (ADR 74).

namespace {

template <class Record>
void fetch(const Record& r) {
  constexpr int to_write = 1;
  __builtin_prefetch(&r, to_write);
  asm volatile("");  // GCC takes functions that only prefetch for pure and drops calls of them
}

/// Evaluations between two dependent prefetches; they take longer than a cache miss.
constexpr std::size_t stride = 4;
constexpr std::size_t links = 4;

}  // namespace

void switch_core::begin_fetching() {
  due_.clear();
  wheel_.visit(cycle_, [this](std::uint32_t o) { due_.push_back(o); });
  fetches_ = 0;
  for (std::size_t n = 0; n < links * stride; ++n) fetch_ahead();
}

void switch_core::fetch_ahead() {
  const std::size_t n = fetches_++;
  const auto is_due = [this](std::size_t k) { return k < due_.size(); };  // wraps before the first
  if (is_due(n)) {
    fetch(outs_[due_[n]]);
    fetch(outs_[due_[n]].used);  // second cache line of the output
  }
  if (is_due(n - stride)) {
    visit_requesters(due_[n - stride], [this](std::uint32_t iv) { fetch(in_vcs_[iv]); });
  }
  if (is_due(n - 2 * stride)) fetch_transfer(outs_[due_[n - 2 * stride]]);
  if (is_due(n - 3 * stride)) fetch_neighbors(outs_[due_[n - 3 * stride]]);
}

/// The first requester, which is mostly the only one.
inline const switch_core::in_vc* switch_core::first_requester(const out_port& out) const {
  if (out.asking == 0) return nullptr;
  return &in_vcs_[out.first_in_vc + static_cast<std::uint32_t>(std::countr_zero(out.asking))];
}

/// Prefetches packet, input, downstream VCs, and the buffer of the VC that the packet gets if all are free.
inline void switch_core::fetch_transfer(const out_port& out) const {
  const in_vc* const queue = first_requester(out);
  if (queue == nullptr) return;
  fetch(slots_[queue->first]);
  fetch(ins_[queue->port]);
  const std::uint32_t first = vc_index(queue->to.output, queue->to.first_vc);
  fetch(out_vcs_[first]);
  fetch(out_vcs_[first + queue->to.vcs - 1]);
  if (out.downstream == none) return;
  const std::uint32_t turn = queue->priority_from - first;  // wraps when it points elsewhere
  const std::uint32_t next = queue->to.first_vc + (turn < queue->to.vcs ? turn : 0);
  fetch(in_vcs_[in_index(out.downstream, queue->allocated ? queue->allocated_vc : next)]);
}

/// Prefetches the output that gets the credits, and the one that the packet requests next.
inline void switch_core::fetch_neighbors(const out_port& out) const {
  const in_vc* const queue = first_requester(out);
  if (queue == nullptr) return;
  const std::uint32_t upstream = ins_[queue->port].upstream;
  if (upstream != none) {
    fetch(outs_[upstream]);
    fetch(out_vcs_[vc_index(upstream, queue->vc)]);
  }
  const slot& front = slots_[queue->first];
  if (out.downstream == none) return fetch(*front.p);
  const auto vc = static_cast<std::uint8_t>(queue->to.first_vc);
  fetch(outs_[environment_.route(ins_[out.downstream].router, front.exit, vc).output]);
}

}  // namespace diecast::hw
