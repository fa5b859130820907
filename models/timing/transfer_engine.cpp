// SPDX-License-Identifier: Apache-2.0
#include "models/timing/transfer_engine.hpp"

#include <algorithm>
#include <cmath>

namespace diecast::timing {
constexpr double nothing = 1e-9;  ///< ns; less work than this counts as none

transfer_engine::transfer_engine(event_queue& events, std::uint32_t first_kind, listener who)
    : events_(events), first_kind_(first_kind), listener_(std::move(who)) {}

std::uint32_t transfer_engine::add_server(double flit_ns) {
  servers_.push_back({flit_ns, {}, 0, 0, {}});
  return static_cast<std::uint32_t>(servers_.size() - 1);
}

std::uint32_t transfer_engine::open() {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(transfers_by_id_.size()));
    transfers_by_id_.emplace_back();
  }
  const std::uint32_t id = free_.back();
  free_.pop_back();
  return id;
}

void transfer_engine::start(const transfer_route& route, const transfer_shape& shape, sim_time head,
                            sim_time tail, std::uint32_t user, std::uint32_t last_packets) {
  const std::uint32_t id = open();
  transfer& t = transfers_by_id_[id];
  std::vector<double> ends = std::move(t.ends), paths = std::move(t.paths);  // keep their memory
  t = {};
  t.ends = std::move(ends);
  t.paths = std::move(paths);
  t.ends.assign(route.size(), 0);
  t.paths.assign(route.size(), 0);
  t.route = &route;
  t.shape = shape;
  t.user = user;
  t.head = head.ns();
  t.tail = std::max(tail, head).ns();
  t.last_packets = last_packets;
  for (const route_stage& s : route) {
    packet_hops_ += s.between_dies || s.begins_die ? 0 : shape.packets;
    servers_[s.server].packets += shape.packets;
    servers_[s.server].flits += shape.flits;
  }
  events_.put(head, first_kind_ + join, id);
}

void transfer_engine::close_if_over(std::uint32_t id) {
  transfer& t = transfers_by_id_[id];
  if (!t.finished || (t.last_packets > 0 && !t.has_left)) return;
  for (std::uint32_t i = 0; i < t.route->size(); ++i) {
    for (entry& e : servers_[(*t.route)[i].server].entries)
      if (e.transfer == id) e.transfer = UINT32_MAX;
  }
  free_.push_back(id);
}

double transfer_engine::leaves_at(const transfer& t) const {
  const double packet = std::min(t.shape.flits, t.shape.packet_flits);
  const std::uint32_t last = std::min(t.shape.packets, t.last_packets);
  const double first_gone = (t.shape.packets - last) * packet * servers_[t.route->front().server].flit_ns;
  return std::max(t.begin + first_gone, t.ends.front() - last * packet * t.pace);
}

void transfer_engine::handle(const timed_event& e) {
  const std::uint32_t id = e.index;
  transfer& t = transfers_by_id_[id];
  switch (static_cast<event_kind>(e.kind - first_kind_)) {
    case join: return advance(id);
    case end:
      if (at(t.tail) > e.at) return events_.put(at(t.tail), first_kind_ + end, id);
      t.finished = true;
      listener_.done(t.user, e.at);
      return close_if_over(id);
    case leave:
      if (at(leaves_at(t)) > e.at) return events_.put(at(leaves_at(t)), first_kind_ + leave, id);
      t.has_left = true;
      listener_.left(t.user, e.at);
      return close_if_over(id);
  }
}

/// Number of a transfer's queue: by input, class and leg; at a source's interface by flow and class.
std::uint64_t transfer_engine::queue_at(const transfer& t, std::uint32_t stage) const {
  const std::uint64_t input = stage == 0 ? t.shape.flow : (*t.route)[stage - 1].server;
  return (input * 8 + t.shape.traffic_class) * 64 + (stage == 0 ? 0U : (*t.route)[stage].leg);
}

std::deque<std::uint32_t>& transfer_engine::waiting_in(server& s, std::uint64_t queue) {
  for (auto& [of, waiting] : s.waiting)
    if (of == queue) return waiting;
  return s.waiting.emplace_back(queue, std::deque<std::uint32_t>{}).second;
}

/// A transfer joins the servers of its die when the previous one of its queue has left the source: only then
/// its delay there is known.
bool transfer_engine::waits_at_source(std::uint32_t id) {
  transfer& t = transfers_by_id_[id];
  server& source = servers_[t.route->front().server];
  const std::uint64_t queue = queue_at(t, 0);
  std::deque<std::uint32_t>& waiting = waiting_in(source, queue);
  if (!std::exchange(t.queued, true)) waiting.push_back(id);
  if (waiting.front() != id) return true;
  double gone = 0;
  for (const entry& e : source.entries)
    if (e.queue == queue) gone = std::max({gone, e.end, e.hold});
  if (at(gone) > events_.now()) {
    events_.put(at(gone), first_kind_ + join, id);
    return true;
  }
  waiting.pop_front();
  if (!waiting.empty()) events_.put(events_.now(), first_kind_ + join, waiting.front());
  t.head = std::max(t.head, events_.now().ns());
  t.tail = std::max(t.tail, t.head);
  return false;
}

void transfer_engine::advance(std::uint32_t id) {
  const transfer& t = transfers_by_id_[id];
  if (t.next == t.route->size()) {
    events_.put(at(t.tail), first_kind_ + end, id);
  } else if (t.next == 0 && waits_at_source(id)) {
    return;
  } else if ((*t.route)[t.next].between_dies) {
    cross_link(id);
  } else {
    cross_die(id);
  }
}

/// Joins all servers of a die at the same time: the head crosses it within some tens of cycles.
void transfer_engine::cross_die(std::uint32_t id) {
  const bool leaves_source = transfers_by_id_[id].next == 0;
  const std::uint32_t first = transfers_by_id_[id].next;
  for (;;) {
    const std::uint32_t stage = transfers_by_id_[id].next;
    join_stage(id, stage);
    transfer& t = transfers_by_id_[id];
    const double latency = (*t.route)[stage].latency_ns;
    t.head += latency;
    t.tail_path += latency;
    t.tail = std::max(t.tail + latency, t.head);
    t.paths[stage] = t.tail_path;
    t.next = stage + 1;
    if (stage > first) press_back(t, id, stage);
    if (t.next == t.route->size() || (*t.route)[t.next].between_dies || (*t.route)[t.next].begins_die) break;
  }
  transfer& t = transfers_by_id_[id];
  if (leaves_source && t.last_packets > 0) events_.put(at(leaves_at(t)), first_kind_ + leave, id);
  if (t.next == t.route->size()) return events_.put(at(t.tail), first_kind_ + end, id);
  // A link between dies takes whole packets: it starts when the first one's last flit is there.
  const double packet = t.shape.packets > 1 ? (t.tail - t.head) / t.shape.packets : t.tail - t.head;
  events_.put(at(t.head + packet), first_kind_ + join, id);
  t.head += packet;
}

void transfer_engine::cross_link(std::uint32_t id) {
  const std::uint32_t stage = transfers_by_id_[id].next;
  join_stage(id, stage);
  transfer& t = transfers_by_id_[id];
  press_back(t, id, stage);
  const route_stage& s = (*t.route)[stage];
  const double flit = servers_[s.server].flit_ns, onward = servers_[(*t.route)[stage + 1].server].flit_ns;
  const double flits = std::min(t.shape.flits, t.shape.packet_flits);
  // After the link a packet is injected at a flit per cycle, from the first edge at which it cannot overtake
  // its bits (timing::link_timing::injection); the flits of its last frame arrive together.
  const bool framed = s.frame_ns > 0;
  const double together = framed ? std::min(flits, std::ceil(s.frame_ns / flit - nothing)) : 1;
  const double whole = framed ? std::ceil(flits * flit / s.frame_ns - nothing) * s.frame_ns : flits * flit;
  const double lag = std::max(framed ? s.frame_ns : flit, whole - (flits - together) * onward);
  const double after_tail = s.latency_ns + lag - (flits - 1) * (flit - onward);
  const auto edge = [onward](double ns) { return std::ceil(ns / onward - nothing) * onward; };
  t.head = edge(t.head + s.latency_ns + lag);
  t.tail = std::max(edge(t.tail + after_tail), t.head + (flits - 1) * onward);
  t.tail_path += after_tail;
  t.paths[stage] = t.tail_path;
  t.next = stage + 1;
  events_.put(at(t.head), first_kind_ + join, id);
}

/// Updates the entries of a server to `now`, and removes those that have ended.
void transfer_engine::drain(server& s, double now) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < s.entries.size(); ++i) {
    entry& e = s.entries[i];
    if (std::max(e.end, e.hold) <= now) continue;
    if (now > e.asof) {
      const double left = e.end > now ? (e.end - now) / (e.end - e.asof) : 0;
      e.rest *= left;
      e.asof = now;
    }
    if (kept != i) s.entries[kept] = e;
    ++kept;
  }
  s.entries.resize(kept);
}

/// Work that waits at `when` if an entry's flits arrive evenly until `all_here` and none is served from now
/// on.
double transfer_engine::come_by(const entry& e, double when, double all_here) {
  if (when >= all_here) return e.rest;
  const double come = e.work * (when - e.head) / (all_here - e.head);
  return std::clamp(come - (e.work - e.rest), 0.0, e.rest);
}

/// When the service of a transfer begins whose head arrives at `now` after `before`, of the same queue: the
/// flits of `before` that have arrived, or that its buffer holds while it is blocked, are served first.
double transfer_engine::begins_behind(const entry& before, double now, double buffer_ns) {
  const double gone = std::max(before.end, before.hold);
  const double all_here = std::max(before.come, before.hold - buffer_ns);
  if (before.stage == 0 || before.rest < nothing) return gone;
  return now + come_by(before, now, all_here) / before.rest * (gone - now);
}

/// Sets the ends of all entries as if their queues were served round robin from `now` on. An entry with W ns
/// of work in its queue up to its last flit ends after W plus min(W, work of the queue) for each other queue.
void transfer_engine::share(server& s, double now) {
  queues_.clear();
  totals_.clear();
  for (entry& e : s.entries) {
    const auto found = std::ranges::find(queues_, e.queue);
    e.place = static_cast<std::size_t>(found - queues_.begin());
    if (found == queues_.end()) queues_.push_back(e.queue), totals_.push_back(0);
    totals_[e.place] += e.rest;
  }
  for (entry& e : s.entries) {
    if (e.rest < nothing) continue;
    double own = 0;
    for (const entry& other : s.entries) {
      if (other.place != e.place) continue;
      own += &other == &e ? e.rest : come_by(other, e.come, other.come);
    }
    double finish = now + own;
    for (std::size_t q = 0; q < queues_.size(); ++q)
      if (q != e.place) finish += std::min(own, totals_[q]);
    const double later = std::max({finish, e.supply, e.asof + e.rest});
    if (later <= e.end) continue;
    e.end = later;
    moved(e);
  }
}

/// Delays the rest of a transfer after a later end at a server: its tail, and earlier servers.
void transfer_engine::moved(const entry& e) {
  if (e.transfer == UINT32_MAX) return;
  transfer& t = transfers_by_id_[e.transfer];
  t.ends[e.stage] = std::max(t.ends[e.stage], e.end);
  if (t.next > e.stage) press_back(t, e.transfer, e.stage);
  if (t.next <= e.stage) return;
  const double flit = servers_[(*t.route)[e.stage].server].flit_ns;
  const double before = e.stage == 0 ? 0 : t.paths[e.stage - 1];
  t.tail = std::max(t.tail, e.end - flit + (t.tail_path - before));
}

void transfer_engine::join_stage(std::uint32_t id, std::uint32_t stage) {
  transfer& t = transfers_by_id_[id];
  const route_stage& place = (*t.route)[stage];
  server& s = servers_[place.server];
  drain(s, t.head);
  const std::uint64_t queue = queue_at(t, stage);
  const double now = t.head;
  double start = now, turn = 0;
  bool shared = false;
  const double packet = std::min(t.shape.flits, t.shape.packet_flits) * s.flit_ns;
  const double buffer = stage == 0 ? 0 : (*t.route)[stage - 1].buffer_flits * s.flit_ns;
  for (const entry& e : s.entries) {
    shared |= e.rest != 0;
    if (e.queue == queue) {
      start = std::max(start, begins_behind(e, now, buffer));
    } else if (e.traffic_class == t.shape.traffic_class && e.rest > nothing && e.asof <= now) {
      // On average half of a packet of a non-empty queue is still to be sent.
      turn += std::min(e.packet, e.rest) / 2 * std::min(1.0, e.rest / std::max(nothing, e.end - now));
    }
  }
  start += turn;
  const double work = t.shape.flits * s.flit_ns;
  // Between dies the last packet is sent when all of it has arrived.
  const double come = t.tail + (place.between_dies ? packet : s.flit_ns);
  const double supply = std::max(come, start + work);
  s.entries.push_back({id, stage, queue, stage == 0 ? start : now, work, work, start, start + work,
                       stage == 0 ? supply : come, supply, 0, packet, t.shape.traffic_class, 0});
  t.head = start;
  if (stage == 0) t.begin = start, t.pace = s.flit_ns;
  if (shared) share(s, now);
  entry& own = s.entries.back();
  own.end = std::max(own.end, supply);
  t.ends[stage] = own.end;
  t.tail = own.end - s.flit_ns;
}

/// Back-pressure from `stage` to the source: flits that the buffer between two servers does not hold stay in
/// the queue of the previous one.
void transfer_engine::press_back(transfer& t, std::uint32_t id, std::uint32_t stage) {
  for (std::uint32_t i = stage; i > 0; --i) {
    const route_stage& before = (*t.route)[i - 1];
    const double behind = before.buffer_flits * servers_[(*t.route)[i].server].flit_ns;
    const double until = t.ends[i] - before.latency_ns - behind;
    if (until <= t.ends[i - 1]) return;
    t.ends[i - 1] = until;
    server& s = servers_[before.server];
    for (std::size_t n = 0; n < s.entries.size(); ++n) {
      if (s.entries[n].transfer != id || s.entries[n].stage != i - 1) continue;
      s.entries[n].hold = until;
      if (i == 1) t.pace = std::max(t.pace, servers_[(*t.route)[stage].server].flit_ns);
      if (i == 1) hold_turns(s, n, until);
    }
  }
}

/// Packets of several flows leave their source alternately through one buffer: other flows are as slow as the
/// blocked one, until either has no more packets.
void transfer_engine::hold_turns(server& s, std::size_t held, double until) {
  const entry& h = s.entries[held];
  if (h.rest < nothing) return;
  for (entry& e : s.entries) {
    if (e.stage != 0 || e.queue == h.queue || e.traffic_class != h.traffic_class || e.rest < nothing)
      continue;
    const double later = h.asof + (until - h.asof) * std::min(1.0, e.rest / h.rest);
    if (later <= e.end) continue;
    e.end = later;
    moved(e);
  }
}

}  // namespace diecast::timing
