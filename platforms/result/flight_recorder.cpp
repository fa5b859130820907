// SPDX-License-Identifier: Apache-2.0
#include "platforms/result/flight_recorder.hpp"

#include <algorithm>

#include "models/comm/install_plan.hpp"

namespace diecast::observe {
namespace {

std::size_t place(std::uint16_t qp, bool send) { return std::size_t{qp} * 2 + (send ? 1 : 0); }

}  // namespace

flight_recorder::flight_recorder(const machine_shape& shape, std::uint64_t operations)
    : shape_(shape), kept_(operations), tracks_(shape.pes()) {}

void flight_recorder::next_launch() {
  ++launches_;
  for (track& t : tracks_) {
    t.steps.clear();
    t.users.clear();
    t.noted.clear();
    t.messages = 0;
  }
}

/// Adds a record with the step of its task, or the kernel's step if the task has marked none.
flight_operation& flight_recorder::add(track& t, sim_time at, abi::task_id task) {
  if (t.ring.size() < kept_) t.ring.emplace_back();
  flight_operation& o = t.ring[t.records % kept_];
  o = {};
  o.record_id = t.records++;
  o.launch = launches_ == 0 ? 0 : launches_ - 1;
  const auto marked = [&t](abi::task_id id) { return id < t.steps.size() ? t.steps[id] : marked_step{}; };
  const marked_step own = marked(task);
  const marked_step step = own.name != 0 ? own : marked(abi::kernel_task);
  o.step = step.name;
  o.step_index = step.index;
  o.created = at;
  return o;
}

/// The record of that number; null when a later record has replaced it.
flight_operation* flight_recorder::find(track& t, std::uint64_t record) {
  return record + kept_ < t.records ? nullptr : &t.ring[record % kept_];
}

void flight_recorder::start(track& t, const events::message_event& e, bool send) {
  const std::size_t at = place(e.qp, send);
  flight_operation& o = add(t, e.at, at < t.users.size() ? t.users[at] : abi::kernel_task);
  o.send = send;
  o.qp = e.qp;
  o.peer = e.peer;
  o.sequence = e.sequence;
  o.bytes = e.bytes;
  o.state = flight_state::started;
  o.started = e.at;
  if (!send) o.crc = t.crc;
  if (t.open.size() <= at) t.open.resize(at + 1);
  t.open[at].push_back({o.record_id, e.sequence});
}

/// A credit contains the next sequence number: all messages before it are done.
void flight_recorder::complete(track& t, const events::message_event& e, bool send) {
  const std::size_t at = place(e.qp, send);
  if (t.open.size() <= at) return;
  auto& open = t.open[at];
  const auto before = [&e](std::uint32_t sequence) {  // numbers wrap
    return static_cast<std::int32_t>(sequence - e.sequence) < 0;
  };
  for (; !open.empty() && before(open.front().sequence); open.pop_front()) {
    flight_operation* const o = find(t, open.front().id);
    if (o == nullptr) continue;
    o->state = flight_state::completed;
    o->ended = e.at;
  }
}

void flight_recorder::on(const events::message_event& e) {
  track& t = tracks_[shape_.pe_index(e.pe)];
  switch (e.phase) {
    case events::message_phase::sent: return start(t, e, true);
    case events::message_phase::visible: return start(t, e, false);
    case events::message_phase::released: return complete(t, e, false);
    case events::message_phase::credited: return complete(t, e, true);
  }
}

void flight_recorder::on(const events::message_content& e) {
  // Ignores packets of tag-matched messages, which belong to no queue pair.
  if (e.fields.source_direction != comm::no_direction) tracks_[shape_.pe_index(e.pe)].crc = e.digest;
}

/// Number of the group of a team slot with these PEs: a freed slot may get another team.
std::uint32_t flight_recorder::group_of(std::uint32_t slot, std::span<const pe_coord> pes) {
  const auto known = latest_group_.find(slot);
  if (known != latest_group_.end() && std::ranges::equal(groups_[known->second].listed, pes))
    return known->second;
  const auto same = std::ranges::find_if(
      groups_, [&](const flight_group& g) { return g.slot == slot && std::ranges::equal(g.listed, pes); });
  const auto at = static_cast<std::uint32_t>(same - groups_.begin());
  if (same == groups_.end())
    groups_.push_back({slot, sim_time::never(), {pes.begin(), pes.end()}, {pes.begin(), pes.end()}});
  return latest_group_[slot] = at;
}

/// Adds a PE to a group; if it is not listed, behind the first PE of its rank, in any order of arrival.
void flight_recorder::admit(flight_group& g, pe_coord pe) {
  const auto listed = [&g](pe_coord p) { return std::ranges::find(g.listed, p) != g.listed.end(); };
  if (std::ranges::find(g.members, pe) != g.members.end()) return;
  std::optional<pe_coord> first;  // ranks are ranges of PEs, so this is the last listed PE before `pe`
  for (const pe_coord p : g.listed)
    if (p < pe && (!first || *first < p)) first = p;
  auto at = first ? std::ranges::find(g.members, *first) + 1 : g.members.begin();
  while (at != g.members.end() && *at < pe && !listed(*at)) ++at;
  g.members.insert(at, pe);
}

void flight_recorder::post(track& t, const events::operation_changed& e) {
  const abi::operation_note& n = e.note;
  flight_operation& o = add(t, e.at, n.task);
  const bool barrier = n.kind == abi::operation_kind::barrier;
  o.group = barrier ? group_of(n.group, n.members) : n.group;
  if (barrier) {
    flight_group& g = groups_[o.group];
    admit(g, e.pe);
    g.begun = std::min(g.begun, e.at);
  }
  t.noted.insert_or_assign({n.kind, n.id}, noted_record{o.record_id, o.group});
  if (barrier) {
    o.what = flight_kind::barrier;
    o.sequence = ++t.barriers[o.group].entered;
    o.algorithm = n.algorithm;
    o.count = n.count;
    return;
  }
  o.what = flight_kind::message;
  o.send = n.kind == abi::operation_kind::send;
  o.sequence = ++t.messages;
  o.peer = n.peer;
  o.tag = n.tag;
  o.bytes = n.bytes;
}

void flight_recorder::end(track& t, const events::operation_changed& e, const noted_record& record) {
  if (e.note.kind == abi::operation_kind::barrier) ++t.barriers[record.group].left;
  t.noted.erase({e.note.kind, e.note.id});
  flight_operation* const o = find(t, record.id);
  if (o == nullptr) return;
  const bool cancelled = e.note.phase == abi::operation_phase::cancelled;
  o->state = cancelled ? flight_state::cancelled : flight_state::completed;
  o->ended = e.at;
}

void flight_recorder::on(const events::operation_changed& e) {
  using phase = abi::operation_phase;
  track& t = tracks_[shape_.pe_index(e.pe)];
  if (e.note.phase == phase::posted) return post(t, e);
  const auto noted = t.noted.find({e.note.kind, e.note.id});
  if (noted == t.noted.end()) return;  // probes and receipts are not recorded
  const noted_record record = noted->second;
  flight_operation* const o = find(t, record.id);
  const bool barrier = e.note.kind == abi::operation_kind::barrier;
  if (e.note.phase == phase::completed || e.note.phase == phase::cancelled) return end(t, e, record);
  if (o == nullptr) return;
  if (e.note.phase == phase::started) {
    o->state = flight_state::started;
    o->started = e.at;
    if (barrier) return;
    o->peer = e.note.peer;
    o->tag = e.note.tag;
    o->bytes = e.note.bytes;
  } else if (barrier && e.note.phase == phase::awaited) {
    o->peer = e.note.peer;
    o->stage = e.note.stage;
    o->stage_number = e.note.stage_number;
  }
}

flight_recorder::barrier_counts flight_recorder::barriers_of(pe_coord pe, std::uint32_t group) const {
  const track& t = tracks_[shape_.pe_index(pe)];
  const auto at = t.barriers.find(group);
  return at == t.barriers.end() ? barrier_counts{} : at->second;
}

void flight_recorder::on(const events::step_entered& e) {
  track& t = tracks_[shape_.pe_index(e.pe)];
  if (t.steps.size() <= e.task) t.steps.resize(std::size_t{e.task} + 1);
  marked_step& step = t.steps[e.task];
  step.index = e.index;
  if (step_names_[step.name] == e.name) return;
  step.name = number_of(e.name);
}

std::uint16_t flight_recorder::number_of(std::string_view step) {
  const auto [at, fresh] =
      step_numbers_.emplace(std::string(step), static_cast<std::uint16_t>(step_names_.size()));
  if (fresh) step_names_.emplace_back(step);
  return at->second;
}

void flight_recorder::add(const flight_recorder& other) {
  std::vector<std::uint16_t> step;
  for (const std::string& name : other.step_names_) step.push_back(number_of(name));
  std::vector<std::uint32_t> group;
  for (const flight_group& g : other.groups_) {
    flight_group& own = groups_[group.emplace_back(group_of(g.slot, g.listed))];
    for (const pe_coord pe : g.members) admit(own, pe);
    own.begun = std::min(own.begun, g.begun);
  }
  for (std::size_t pe = 0; pe < tracks_.size(); ++pe) {
    const track& theirs = other.tracks_[pe];
    if (theirs.records == 0) continue;
    track& t = tracks_[pe];
    t.ring = theirs.ring;
    t.records = theirs.records;
    for (flight_operation& o : t.ring) {
      o.step = step[o.step];
      if (o.what == flight_kind::barrier) o.group = group[o.group];
    }
    for (const auto& [g, counts] : theirs.barriers) t.barriers[group[g]] = counts;
  }
}

void flight_recorder::on(const events::queue_pair_used& e) {
  track& t = tracks_[shape_.pe_index(e.pe)];
  const std::size_t at = place(e.qp, e.send);
  if (t.users.size() <= at) t.users.resize(at + 1);
  t.users[at] = e.task;
}

std::vector<flight_operation> flight_recorder::operations_of(pe_coord pe) const {
  const track& t = tracks_[shape_.pe_index(pe)];
  std::vector<flight_operation> all = t.ring;
  std::ranges::sort(all, {}, &flight_operation::record_id);
  return all;
}

}  // namespace diecast::observe
