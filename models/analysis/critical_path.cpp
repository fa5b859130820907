// SPDX-License-Identifier: Apache-2.0
#include "models/analysis/critical_path.hpp"

#include <algorithm>
#include <tuple>

#include "models/types/enum_name.hpp"

namespace diecast::analysis {

namespace {

/// The last element that `before` puts before the bound; null when there is none.
template <class Items, class Before>
auto last_before(const Items& items, Before before) -> decltype(&*items.begin()) {
  const auto at = std::partition_point(items.begin(), items.end(), before);
  return at == items.begin() ? nullptr : &*std::prev(at);
}

path_cause cause_of(events::core_work w) {
  switch (w) {
    case events::core_work::vector: return path_cause::vector;
    case events::core_work::tcm: return path_cause::tcm;
    case events::core_work::pause: return path_cause::poll;
  }
  return path_cause::firmware;
}

/// Walks back from a core and an instant along causes; finds edges in reverse order of time.
class walker {
 public:
  walker(const path_events& events, sim_time core_period) : events_(events), period_(core_period) {}

  path walk(pe_coord last, sim_time start) {
    pe_ = last;
    core_ = &events_.cores().at(last);
    now_ = core_->done;
    path p{start, core_->done, last, {}};
    while (now_ > start) step_back(start);
    std::ranges::reverse(edges_);
    p.edges = std::move(edges_);
    return p;
  }

 private:
  void step_back(sim_time start) {
    const auto* const wait =
        last_before(core_->waits, [this](const events::core_waited& w) { return w.to <= now_; });
    const sim_time awake = std::max(start, wait == nullptr ? start : wait->to);
    if (awake < now_) return work_back(awake);
    if (wait == nullptr) return add(path_cause::firmware, start);
    add(path_cause::interrupt, std::min(wait->raised, now_));
    if (wait->raised.fs % period_.fs != 0)
      return;  // an event that was already there, which the core itself requested
    if (!follow(*wait)) {
      const sim_time before = std::max(start, std::min(wait->from, now_));
      add(path_cause::unexplained, before);
    }
  }

  /// Edges of the core's work from `awake` to now. A pause in which something arrived ends them.
  void work_back(sim_time awake) {
    while (now_ > awake) {
      const auto* const work =
          last_before(core_->works, [this](const events::core_worked& w) { return w.from < now_; });
      if (work == nullptr || work->to <= awake) return add(path_cause::firmware, awake);
      if (work->to < now_) add(path_cause::firmware, work->to);
      if (work->what == events::core_work::pause && follow_poll(*work)) return;
      add(cause_of(work->what), std::max(awake, work->from));
    }
  }

  /// An edge on this core that ends now.
  void add(path_cause cause, sim_time from) { add(cause, from, pe_, pe_, std::nullopt, 0); }

  void add(path_cause cause, sim_time from, pe_coord begin, pe_coord end, std::optional<comm::direction> qp,
           std::uint32_t bytes) {
    if (from >= now_) return;
    const core_record& core = events_.cores().at(begin);
    const auto* const step =
        last_before(core.steps, [from](const core_record::step& s) { return s.at <= from; });
    path_edge e{from, now_, cause, begin, end, qp, std::nullopt, bytes};
    if (step != nullptr) e.step = *step;
    now_ = from;
    edges_.push_back(e);
  }

  void go_to(pe_coord pe) {
    pe_ = pe;
    core_ = &events_.cores().at(pe);
  }

  /// Walks from the event that ended a wait to the event's cause; the present time becomes the time at which
  /// the event was queued. False when its origin is not known.
  bool follow(const events::core_waited& w) {
    const queue_end here{pe_, w.qp};
    switch (w.cause) {
      case events::wait_cause::data: return follow_message(here, now_);
      case events::wait_cause::credit: return follow_credit(here, now_);
      case events::wait_cause::dma: return follow_source(here, w.value);
      case events::wait_cause::memory: return follow_copy(w.value);
      case events::wait_cause::message:
      case events::wait_cause::error: return false;
    }
    return false;
  }

  /// The message that became visible at `at` at this receive half.
  bool follow_message(queue_end receiver, sim_time at) {
    const auto sender = events_.ends().sender_to(receiver);
    const auto* const queue = sender ? events_.messages_of(*sender) : nullptr;
    if (queue == nullptr) return false;
    const auto visible = [](const message_record& m) { return m[station::visible]; };
    const auto end = queue->items().begin() + static_cast<std::ptrdiff_t>(queue->complete());
    const auto found = std::partition_point(queue->items().begin(), end,
                                            [&](const message_record& m) { return visible(m) < at; });
    if (found == end || visible(*found) != at) return false;
    const message_record m = *found;
    for (const sim_time passed : m.at) {
      if (passed == sim_time{}) return false;
    }
    const auto leg = [&](path_cause cause, station from, pe_coord begin) {
      add(cause, m[from], begin, pe_, sender->qp, m.bytes);
    };
    leg(path_cause::ipcq_match, station::written, pe_);
    leg(path_cause::slot_write, station::arrived, pe_);
    leg(path_cause::fabric, station::injected, sender->pe);
    go_to(sender->pe);
    follow_send(m, sender->qp);
    return true;
  }

  /// Walks from the last packet's injection back to the doorbell, on the sender's core.
  void follow_send(const message_record& m, comm::direction qp) {
    add(path_cause::source_read, m[station::issued], pe_, pe_, qp, m.bytes);
    add(path_cause::dma_start, m[station::queued], pe_, pe_, qp, m.bytes);
    add(path_cause::ipcq_check, m[station::sent], pe_, pe_, qp, m.bytes);
  }

  bool follow_credit(queue_end sender, sim_time at) {
    const auto receiver = events_.ends().receiver_of(sender);
    const auto* const queue = events_.credits_of(sender);
    if (!receiver || queue == nullptr) return false;
    const auto end = queue->items().begin() + static_cast<std::ptrdiff_t>(queue->complete());
    const auto found = std::partition_point(queue->items().begin(), end,
                                            [&](const credit_record& c) { return c.credited < at; });
    if (found == end || found->credited != at) return false;
    add(path_cause::credit, found->released, receiver->pe, pe_, receiver->qp, 0);
    go_to(receiver->pe);
    return true;
  }

  bool follow_source(queue_end sender, std::uint32_t sources_read) {
    const auto* const queue = events_.messages_of(sender);
    const message_record* const m =
        queue == nullptr || sources_read == 0 ? nullptr : queue->find(sources_read - 1);
    if (m == nullptr || (*m)[station::injected] == sim_time{} || (*m)[station::injected] >= now_)
      return false;
    const message_record copy = *m;
    add(path_cause::source_read, copy[station::issued], pe_, pe_, sender.qp, copy.bytes);
    follow_send(copy, sender.qp);
    return true;
  }

  bool follow_copy(std::uint32_t copies_done) {
    if (copies_done == 0) return false;
    const sim_time started = events_.copy_start(pe_, copies_done - 1);
    if (started >= now_) return false;
    add(path_cause::copy, started);
    return true;
  }

  /// The last message or credit that arrived during a pause: the poll after the pause found it.
  bool follow_poll(const events::core_worked& pause) {
    sim_time latest{};
    std::optional<queue_end> message, credit;
    for (const auto& end : events_.ends().of(pe_)) {
      if (const auto sender = events_.ends().sender_to(end)) {
        const auto* const m = events_.messages_of(*sender);
        const sim_time at = m == nullptr ? sim_time{} : last_visible(*m, pause.to);
        if (at > latest) latest = at, message = end, credit.reset();
      }
      const auto* const c = events_.credits_of(end);
      const sim_time at = c == nullptr ? sim_time{} : last_credited(*c, pause.to);
      if (at > latest) latest = at, credit = end, message.reset();
    }
    if (latest < pause.from || (!message && !credit)) return false;
    add(path_cause::poll, latest);
    return message ? follow_message(*message, latest) : follow_credit(*credit, latest);
  }

  static sim_time last_visible(const path_events::messages& queue, sim_time before) {
    const auto end = queue.items().begin() + static_cast<std::ptrdiff_t>(queue.complete());
    const auto at = std::partition_point(
        queue.items().begin(), end, [&](const message_record& m) { return m[station::visible] <= before; });
    return at == queue.items().begin() ? sim_time{} : (*std::prev(at))[station::visible];
  }

  static sim_time last_credited(const path_events::credits& queue, sim_time before) {
    const auto end = queue.items().begin() + static_cast<std::ptrdiff_t>(queue.complete());
    const auto at = std::partition_point(queue.items().begin(), end,
                                         [&](const credit_record& c) { return c.credited <= before; });
    return at == queue.items().begin() ? sim_time{} : std::prev(at)->credited;
  }

  const path_events& events_;
  sim_time period_;
  pe_coord pe_;
  const core_record* core_{};
  sim_time now_;
  std::vector<path_edge> edges_;
};

}  // namespace

std::string_view to_string(path_cause c) { return enum_name(c); }

sim_time path::of(path_cause c) const {
  sim_time sum;
  for (const path_edge& e : edges) {
    if (e.cause == c) sum += e.to - e.from;
  }
  return sum;
}

std::optional<path> critical_path(const path_events& events, sim_time core_period) {
  if (events.incomplete() || events.cores().empty()) return std::nullopt;
  const core_record* last = nullptr;
  pe_coord last_pe;
  sim_time start = sim_time::never();
  for (const auto& [pe, core] : events.cores()) {
    if (core.running == sim_time{}) continue;  // not part of the launch
    if (core.done < core.running) return std::nullopt;
    start = std::min(start, core.running);
    if (last == nullptr || core.done > last->done) last = &core, last_pe = pe;
  }
  if (last == nullptr) return std::nullopt;
  return walker(events, core_period).walk(last_pe, start);
}

namespace {

hop_depth larger(hop_depth a, hop_depth b) { return {std::max(a.cube, b.cube), std::max(a.sip, b.sip)}; }

bool is_mesh(comm::direction d) { return d <= comm::west; }

template <class Item>
const Item* search(const std::vector<Item>& sorted, pe_coord pe, comm::direction dir, pe_coord Item::*owner) {
  const auto at = std::ranges::lower_bound(sorted, std::tuple{pe, dir}, {}, [&](const Item& i) {
    return std::tuple{i.*owner, i.dir};
  });
  return at != sorted.end() && (*at).*owner == pe && at->dir == dir ? &*at : nullptr;
}

}  // namespace

critical_hops::critical_hops(const comm::install_plan& plan) {
  std::map<abi::address, std::uint32_t> by_ring;
  std::map<comm::carrier, std::vector<std::uint32_t>> of_tree;
  for (const auto& q : plan.queue_pairs) {  // ordered by owner and direction, so both tables are too
    if (!q.rx) continue;
    const auto index = static_cast<std::uint32_t>(receivers_.size());
    by_ring.emplace(q.rx_base, index);
    of_tree[q.through].push_back(index);
    receivers_.push_back({q.owner, q.dir});
  }
  for (const auto& q : plan.queue_pairs) {
    if (!q.tx) continue;
    const bool paired = q.through == comm::carrier::queue_pairs;
    for (const std::uint32_t to : paired ? std::vector{by_ring.at(q.peer_rx_base)} : of_tree[q.through]) {
      const pe_coord there = receivers_[to].pe;
      const bool other_sip = q.owner.sip != there.sip;
      const bool other_cube = other_sip || q.owner.cube != there.cube;
      paths_.push_back({q.owner, q.dir, to, paired && is_mesh(q.dir) && other_cube, other_sip});
    }
  }
}

const critical_hops::receiver* critical_hops::receiver_at(pe_coord pe, comm::direction dir) const {
  return search(receivers_, pe, dir, &receiver::pe);
}

void critical_hops::on(const events::message_event& e) {
  if (e.phase == events::message_phase::sent) {
    const std::tuple here{e.pe, e.qp};
    auto p = std::ranges::lower_bound(paths_, here, {}, [](const path& each) {
      return std::tuple{each.from, each.dir};
    });
    if (p == paths_.end() || std::tuple{p->from, p->dir} != here) {
      ++unmatched_;
      return;
    }
    for (; p != paths_.end() && std::tuple{p->from, p->dir} == here; ++p) {
      hop_depth depth = of(e.pe);
      depth.cube += p->between_cubes ? 1 : 0;
      depth.sip += p->between_sips ? 1 : 0;
      const sip_id to = receivers_[p->receiver].pe.sip;
      const carried c{to, p->receiver, e.sequence, launch_, depth};
      if (here_ && !here_(to)) {
        leaving_.push_back(c);
      } else {
        arrive(c);
      }
    }
  } else if (e.phase == events::message_phase::visible) {
    const receiver* r = receiver_at(e.pe, e.qp);
    const auto index = r == nullptr ? 0 : static_cast<std::uint32_t>(r - receivers_.data());
    const auto message = in_flight_.find({index, e.sequence});
    if (r == nullptr || message == in_flight_.end()) {
      ++unmatched_;
      return;
    }
    hop_depth& depth = depths_[e.pe];
    depth = larger(depth, message->second);
    longest_ = larger(longest_, depth);
    in_flight_.erase(message);
  }
}

/// A sum of routers has the depth of its deepest contribution.
void critical_hops::arrive(const carried& c) {
  if (c.launch > launch_) early_.push_back(c);
  if (c.launch != launch_) return;
  hop_depth& arriving = in_flight_[{c.receiver, c.sequence}];
  arriving = larger(arriving, c.depth);
}

void critical_hops::merge(hop_depth longest, std::uint64_t unmatched) {
  longest_ = larger(longest_, longest);
  unmatched_ += unmatched;
}

hop_depth critical_hops::of(pe_coord pe) const {
  const auto at = depths_.find(pe);
  return at == depths_.end() ? hop_depth{} : at->second;
}

void critical_hops::reset() {
  depths_.clear();
  in_flight_.clear();
  longest_ = {};
  unmatched_ = 0;
  ++launch_;
  for (const carried& c : std::exchange(early_, {})) arrive(c);
}

}  // namespace diecast::analysis
