// SPDX-License-Identifier: Apache-2.0
#include "sw/mock_machine/message_work.hpp"

#include <algorithm>

#include "models/abi/wire.hpp"

namespace diecast::sw {

void message_work::add(kind what, std::uint32_t pe, std::uint32_t other) {
  while (steps_.contains(next_step_)) ++next_step_;
  steps_[next_step_] = {what, pe, other};
  targets_.add(pe, next_step_++);
}

void message_work::add_effects(std::uint32_t pe, const protocol::tag_effects& effects) {
  if (effects.command) {
    commands_[pe].push_back(*effects.command);
    if (commands_[pe].size() == 1) add(kind::command, pe);
  }
  if (effects.send) {
    if (abi::carries_no_bytes(effects.send->fields.op)) {
      post(pe, pe_behind(targets_.shape, effects.send->to), {effects.send->fields, {}});
    } else {
      sends_[pe].push_back(*effects.send);
      if (sends_[pe].size() == 1) add(kind::source, pe);
    }
  }
  if (effects.read) {
    reads_[pe].push_back(*effects.read);
    if (reads_[pe].size() == 1) add(kind::read, pe);
  }
}

void message_work::post(std::uint32_t from, std::uint32_t to, message m) {
  auto& flow = flows_[{from, to}];
  flow.push_back(std::move(m));
  if (flow.size() == 1) add(kind::deliver, from, to);
}

std::uint32_t message_work::perform(std::uint32_t name) {
  const step s = steps_.at(name);
  steps_.erase(name);
  switch (s.what) {
    case kind::command: {
      auto& queue = commands_[s.pe];
      const protocol::tag_command command = queue.front();
      queue.pop_front();
      if (!queue.empty()) add(kind::command, s.pe);
      targets_.unit(s.pe).execute(command);
      return s.pe;
    }
    case kind::source: send_source(s.pe); return s.pe;
    case kind::deliver: deliver(s.pe, s.other); return s.other;
    case kind::land: land(s.pe); return s.pe;
    case kind::read: read(s.pe); return s.pe;
  }
  return s.pe;
}

void message_work::send_source(std::uint32_t pe) {
  auto& queue = sends_[pe];
  const protocol::tag_send_request request = queue.front();
  queue.pop_front();
  if (!queue.empty()) add(kind::source, pe);
  message m{request.fields, std::vector<std::byte>(request.fields.payload_bytes)};
  targets_.memory.read(request.source, m.bytes);
  targets_.unit(pe).source_read(request.fields.id);
  post(pe, pe_behind(targets_.shape, request.to), std::move(m));
}

void message_work::deliver(std::uint32_t from, std::uint32_t to) {
  auto& flow = flows_[{from, to}];
  message m = std::move(flow.front());
  flow.pop_front();
  if (!flow.empty()) add(kind::deliver, from, to);
  protocol::tag_core& unit = targets_.unit(to);
  if (abi::carries_no_bytes(m.fields.op)) return unit.complete(m.fields);
  const auto placed = unit.arrive(m.fields);
  m.bytes.resize(std::min<std::uint64_t>(m.bytes.size(), placed.room));
  landings_[to].push_back({placed.to, std::move(m.bytes), placed.ticket});
  if (landings_[to].size() == 1) add(kind::land, to);
  if (placed.credit) add_effects(to, {placed.credit, {}, {}});
}

/// The last one first when there are several: bytes may land in any order.
void message_work::land(std::uint32_t pe) {
  auto& queue = landings_[pe];
  const landing l = std::move(queue.back());
  queue.pop_back();
  if (!queue.empty()) add(kind::land, pe);
  if (!l.bytes.empty()) targets_.memory.write(l.to, l.bytes);
  add_effects(pe, targets_.unit(pe).payload_written(l.ticket));
}

void message_work::read(std::uint32_t pe) {
  auto& queue = reads_[pe];
  const protocol::tag_read_request request = queue.front();
  queue.pop_front();
  if (!queue.empty()) add(kind::read, pe);
  std::vector<std::byte> bytes(request.bytes);
  targets_.memory.read(request.from, bytes);
  targets_.memory.write(request.to, bytes);
  add_effects(pe, targets_.unit(pe).read_done(request.token));
}

}  // namespace diecast::sw
