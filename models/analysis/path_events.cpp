// SPDX-License-Identifier: Apache-2.0
#include "models/analysis/path_events.hpp"

namespace diecast::analysis {
namespace {

std::optional<queue_end> look_up(const std::map<queue_end, queue_end>& in, queue_end what) {
  const auto at = in.find(what);
  if (at == in.end()) return std::nullopt;
  return at->second;
}

}  // namespace

queue_ends::queue_ends(const comm::install_plan& plan) {
  std::map<abi::address, queue_end> by_ring;
  for (const auto& q : plan.queue_pairs) {
    pairs_[q.owner].push_back({q.owner, q.dir});
    if (q.rx) by_ring.emplace(q.rx_base, queue_end{q.owner, q.dir});
  }
  for (const auto& q : plan.queue_pairs) {
    if (!q.tx) continue;
    const auto ring = by_ring.find(q.peer_rx_base);
    if (ring == by_ring.end()) continue;
    receivers_.emplace(queue_end{q.owner, q.dir}, ring->second);
    senders_.emplace(ring->second, queue_end{q.owner, q.dir});
  }
}

std::span<const queue_end> queue_ends::of(pe_coord pe) const {
  const auto at = pairs_.find(pe);
  return at == pairs_.end() ? std::span<const queue_end>{} : std::span{at->second};
}

std::optional<queue_end> queue_ends::receiver_of(queue_end sender) const {
  return look_up(receivers_, sender);
}

std::optional<queue_end> queue_ends::sender_to(queue_end receiver) const {
  return look_up(senders_, receiver);
}

namespace {

/// Stations of a message in the process of its sender.
constexpr std::size_t sender_stations = static_cast<std::size_t>(station::injected) + 1;

station station_of(events::transfer_phase p) {
  switch (p) {
    case events::transfer_phase::queued: return station::queued;
    case events::transfer_phase::issued: return station::issued;
    case events::transfer_phase::injected: return station::injected;
    case events::transfer_phase::arrived: return station::arrived;
    case events::transfer_phase::written: return station::written;
  }
  return station::written;
}

}  // namespace

void path_events::reset() {
  for (auto& [pe, core] : cores_) core = {};
  for (auto& [queue, m] : messages_) m.drop_complete();
  for (auto& [queue, c] : credits_) c.drop_complete();
  for (auto& [pe, c] : copies_) c.forget();
  kept_ = 0;
  overflow_ = unmatched_ = false;
}

/// Whether one more event is kept.
bool path_events::count() {
  if (overflow_) return false;
  if (++kept_ <= limit_) return true;
  overflow_ = true;
  for (auto& [pe, core] : cores_) {
    core.waits = {};
    core.works = {};
    core.steps = {};
  }
  for (auto& [pe, c] : copies_) c.forget();
  for (auto& [queue, m] : messages_) m.drop_complete();
  for (auto& [queue, c] : credits_) c.drop_complete();
  return false;
}

void path_events::on(const events::core_state_changed& e) {
  core_record& core = cores_[e.pe];
  if (e.state == events::core_state::running && core.running == sim_time{}) core.running = e.at;
  if (e.state == events::core_state::done) core.done = e.at;
}

void path_events::on(const events::step_entered& e) {
  if (count()) cores_[e.pe].steps.push_back({e.at, number_of(e.name), e.index});
}

std::uint32_t path_events::number_of(std::string_view step) {
  auto known = step_numbers_.find(step);
  if (known == step_numbers_.end()) {
    known = step_numbers_.emplace(step, static_cast<std::uint32_t>(step_names_.size())).first;
    step_names_.emplace_back(step);
  }
  return known->second;
}

void path_events::on(const events::core_waited& e) {
  if (count()) cores_[e.pe].waits.push_back(e);
}

void path_events::on(const events::core_worked& e) {
  if (count()) cores_[e.pe].works.push_back(e);
}

/// Counted beyond the limit, too: the next launch continues these numbers.
void path_events::pass(queue_end sender, station s, sim_time at, std::uint32_t bytes) {
  (void)count();
  messages& queue = messages_[sender];
  const auto which = static_cast<std::size_t>(s);
  if (!queue.may_pass(which)) {
    unmatched_ = true;
    return;
  }
  message_record& m = queue.pass(which);
  m.at[which] = at;
  if (s == station::sent) m.bytes = bytes;
  if (s == station::visible && overflow_) queue.drop_complete();
  if (s != station::injected || !here_) return;
  if (const auto to = ends_.receiver_of(sender); to && away(to->pe))
    leaving_.push_back({to->pe.sip, sender, false, queue.leave(sender_stations), {}});
}

void path_events::arrive(const carried& c) {
  if (c.credit) return credits_[c.sender].arrive(c.returned, 1);
  messages_[c.sender].arrive(c.message, sender_stations);
}

void path_events::drop_unsent() {
  std::erase_if(messages_, [this](const auto& m) {
    const auto to = ends_.receiver_of(m.first);
    return to && away(to->pe);
  });
  std::erase_if(credits_, [this](const auto& c) { return away(c.first.pe); });
}

void path_events::add(const path_events& other) {
  std::vector<std::uint32_t> step;
  for (const std::string& name : other.step_names_) step.push_back(number_of(name));
  for (const auto& [pe, core] : other.cores_) {
    core_record& own = cores_[pe] = core;
    for (core_record::step& s : own.steps) s.name = step[s.name];
  }
  messages_.insert(other.messages_.begin(), other.messages_.end());
  credits_.insert(other.credits_.begin(), other.credits_.end());
  copies_.insert(other.copies_.begin(), other.copies_.end());
  kept_ += other.kept_;
  overflow_ = overflow_ || other.overflow_ || kept_ > limit_;
  unmatched_ = unmatched_ || other.unmatched_;
}

void path_events::on(const events::transfer_event& e) {
  pass({e.source, e.qp}, station_of(e.phase), e.at, 0);
}

void path_events::on(const events::message_event& e) {
  const queue_end here{e.pe, e.qp};
  switch (e.phase) {
    case events::message_phase::sent: return pass(here, station::sent, e.at, e.bytes);
    case events::message_phase::visible:
      if (const auto sender = ends_.sender_to(here)) {
        pass(*sender, station::visible, e.at, 0);
      } else {
        unmatched_ = true;
      }
      return;
    case events::message_phase::released:
      if (const auto sender = ends_.sender_to(here)) {
        (void)count();
        credits& queue = credits_[*sender];
        queue.pass(0).released = e.at;
        if (away(sender->pe)) leaving_.push_back({sender->pe.sip, *sender, true, {}, queue.leave(1)});
      }
      return;
    case events::message_phase::credited: {
      (void)count();
      credits& queue = credits_[here];
      if (!queue.may_pass(1)) {
        unmatched_ = true;
        return;
      }
      queue.pass(1).credited = e.at;
      if (overflow_) queue.drop_complete();
      return;
    }
  }
}

void path_events::on(const events::copy_started& e) {
  const bool keep = count();
  copies& of_pe = copies_[e.pe];
  if (keep) {
    of_pe.starts.push_back(e.at);
  } else {
    ++of_pe.first;
  }
}

const path_events::messages* path_events::messages_of(queue_end sender) const {
  const auto at = messages_.find(sender);
  return at == messages_.end() ? nullptr : &at->second;
}

const path_events::credits* path_events::credits_of(queue_end sender) const {
  const auto at = credits_.find(sender);
  return at == credits_.end() ? nullptr : &at->second;
}

sim_time path_events::copy_start(pe_coord pe, std::uint64_t number) const {
  const auto at = copies_.find(pe);
  if (at == copies_.end() || number < at->second.first) return sim_time::never();
  const std::uint64_t index = number - at->second.first;
  return index < at->second.starts.size() ? at->second.starts[index] : sim_time::never();
}

}  // namespace diecast::analysis
