// SPDX-License-Identifier: Apache-2.0
#include "platforms/observe/flight_recorder.hpp"

#include <algorithm>

namespace diecast::observe {
namespace {

std::size_t place(std::uint16_t qp, bool send) { return std::size_t{qp} * 2 + (send ? 1 : 0); }

}  // namespace

flight_recorder::flight_recorder(const machine_shape& shape, std::uint64_t operations)
    : shape_(shape), kept_(operations), tracks_(shape.pes()) {}

void flight_recorder::start(track& t, const events::message_event& e, bool send) {
  if (t.ring.size() < kept_) t.ring.emplace_back();
  flight_operation& o = t.ring[t.records % kept_];
  o = {};
  o.record_id = t.records;
  o.launch = launches_ == 0 ? 0 : launches_ - 1;
  o.send = send;
  o.qp = e.qp;
  o.step = t.step;
  o.step_index = t.step_index;
  o.peer = e.peer;
  o.sequence = e.sequence;
  o.bytes = e.bytes;
  o.started = e.at;
  if (!send) o.crc = t.crc;
  const std::size_t at = place(e.qp, send);
  if (t.open.size() <= at) t.open.resize(at + 1);
  t.open[at].push_back({t.records++, e.sequence});
}

/// A credit says which sequence number comes next: all before it are done.
void flight_recorder::complete(track& t, const events::message_event& e, bool send) {
  const std::size_t at = place(e.qp, send);
  if (t.open.size() <= at) return;
  auto& open = t.open[at];
  const auto before = [&e](std::uint32_t sequence) {  // numbers wrap
    return static_cast<std::int32_t>(sequence - e.sequence) < 0;
  };
  for (; !open.empty() && before(open.front().sequence); open.pop_front()) {
    const std::uint64_t id = open.front().id;
    if (id + kept_ < t.records) continue;  // a later record has its place
    flight_operation& o = t.ring[id % kept_];
    o.completed = true;
    o.ended = e.at;
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

void flight_recorder::on(const events::message_content& e) { tracks_[shape_.pe_index(e.pe)].crc = e.digest; }

void flight_recorder::on(const events::step_entered& e) {
  track& t = tracks_[shape_.pe_index(e.pe)];
  t.step_index = e.index;
  if (step_names_[t.step] == e.name) return;
  const auto [at, fresh] =
      step_numbers_.emplace(std::string(e.name), static_cast<std::uint16_t>(step_names_.size()));
  if (fresh) step_names_.emplace_back(e.name);
  t.step = at->second;
}

std::vector<flight_operation> flight_recorder::operations_of(pe_coord pe) const {
  const track& t = tracks_[shape_.pe_index(pe)];
  std::vector<flight_operation> all = t.ring;
  std::sort(all.begin(), all.end(),
            [](const flight_operation& a, const flight_operation& b) { return a.record_id < b.record_id; });
  return all;
}

}  // namespace diecast::observe
