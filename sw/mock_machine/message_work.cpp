// SPDX-License-Identifier: Apache-2.0
#include "sw/mock_machine/message_work.hpp"

#include <algorithm>

#include "models/abi/address.hpp"
#include "models/abi/wire.hpp"
#include "models/comm/network_tree.hpp"
#include "models/types/error.hpp"

namespace diecast::sw {

void message_work::add(kind what, std::uint32_t pe, std::uint32_t other) {
  while (steps_.contains(next_step_)) ++next_step_;
  steps_[next_step_] = {what, pe, other};
  targets_.add(pe, next_step_++);
}

void message_work::add_effects(std::uint32_t pe, const protocol::tag_effects& effects) {
  if (effects.command) put(commands_[pe], *effects.command, kind::command, pe);
  if (effects.send) {
    if (abi::carries_no_bytes(effects.send->fields.op)) {
      post(pe, pe_behind(targets_.shape, effects.send->to), {effects.send->fields, {}});
    } else {
      put(sends_[pe], *effects.send, kind::source, pe);
    }
  }
  if (effects.read) put(reads_[pe], *effects.read, kind::read, pe);
}

void message_work::post(std::uint32_t from, std::uint32_t to, message m) {
  put(flows_[{from, to}], std::move(m), kind::deliver, from, to);
}

std::uint32_t message_work::perform(std::uint32_t name) {
  const step s = steps_.at(name);
  steps_.erase(name);
  switch (s.what) {
    case kind::command: targets_.unit(s.pe).execute(take(commands_[s.pe], kind::command, s.pe)); return s.pe;
    case kind::source: send_source(s.pe); return s.pe;
    case kind::deliver: deliver(s.pe, s.other); return s.other;
    case kind::land: land(s.pe); return s.pe;
    case kind::read: read(s.pe); return s.pe;
  }
  return s.pe;
}

void message_work::send_source(std::uint32_t pe) {
  const protocol::tag_send_request request = take(sends_[pe], kind::source, pe);
  message m{request.fields, std::vector<std::byte>(request.fields.payload_bytes)};
  targets_.memory.read(request.source, m.bytes);
  targets_.unit(pe).source_read(request.fields.id);
  post(pe, pe_behind(targets_.shape, request.to), std::move(m));
}

void message_work::deliver(std::uint32_t from, std::uint32_t to) {
  message m = take(flows_[{from, to}], kind::deliver, from, to);
  protocol::tag_core& unit = targets_.unit(to);
  if (abi::carries_no_bytes(m.fields.op)) return unit.complete(m.fields);
  const auto placed = unit.arrive(m.fields);
  m.bytes.resize(std::min<std::uint64_t>(m.bytes.size(), placed.room));
  put(landings_[to], {placed.to, std::move(m.bytes), placed.ticket}, kind::land, to);
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
  const protocol::tag_read_request request = take(reads_[pe], kind::read, pe);
  std::vector<std::byte> bytes(request.bytes);
  targets_.memory.read(request.from, bytes);
  targets_.memory.write(request.to, bytes);
  add_effects(pe, targets_.unit(pe).read_done(request.token));
}

namespace {

using abi::mailbox_of;

abi::tree_use use_of(abi::address mailbox) { return static_cast<abi::tree_use>(abi::decode(mailbox)->unit); }

}  // namespace

bool is_for_tree(abi::address mailbox) {
  const auto where = abi::decode(mailbox);
  return where && where->kind == abi::region::tree;
}

tree_work::tree_work(const comm::tree_install& tree) : tree_(tree), space_(tree.n_slots) {
  for (const auto& m : tree.members) members_.push_back({m, {}, 0, 0});
}

tree_work::member& tree_work::member_of(pe_coord pe) {
  const auto at = std::ranges::find_if(members_, [&](const member& m) { return m.who.pe == pe; });
  if (at != members_.end()) return *at;
  throw protocol_error("tree: {} is no member", owner_name(pe));
}

std::vector<tree_work::onward> tree_work::take(const protocol::send_request& message,
                                               std::vector<std::byte> bytes) {
  const abi::address offset = message.fields.match_address - abi::tree_address(use_of(message.mailbox));
  std::vector<onward> all;
  if (use_of(message.mailbox) == abi::tree_use::multicast) {
    for (const member& m : members_) {
      if (m.who.ring == 0) continue;
      onward o{m.who.pe, abi::tree_flow::down, message, bytes, {}, false};
      o.message.mailbox = mailbox_of(m.who.pe);
      o.message.fields.match_address = m.who.ring + offset;
      all.push_back(std::move(o));
    }
    return all;
  }
  member_of(message.fields.source).waiting.push_back({message, std::move(bytes)});
  while (auto o = sum()) all.push_back(std::move(*o));
  return all;
}

std::optional<tree_work::onward> tree_work::sum() {
  const auto missing = [](const member& m) { return m.who.contributes && m.waiting.empty(); };
  if (std::ranges::any_of(members_, missing)) return std::nullopt;
  std::optional<onward> sum;
  comm::tree_sum total(tree_.arithmetic);
  for (member& m : members_) {
    if (!m.who.contributes) continue;
    contribution c = std::move(m.waiting.front());
    m.waiting.pop_front();
    if (!sum) {
      sum = onward{tree_.root, abi::tree_flow::up, c.message, std::move(c.bytes), {}, false};
      total.add(sum->bytes);
      continue;
    }
    if (c.message.fields.sequence != sum->message.fields.sequence || c.bytes.size() != sum->bytes.size()) {
      throw protocol_error("tree: {} contributes {} bytes as message {}; expected {} as {}",
                           owner_name(m.who.pe), c.bytes.size(), c.message.fields.sequence, sum->bytes.size(),
                           sum->message.fields.sequence);
    }
    total.add(c.bytes);
  }
  if (!sum) return std::nullopt;
  sum->bytes = total.result();
  sum->message.mailbox = mailbox_of(tree_.root);
  sum->message.fields.match_address += tree_.root_ring - abi::tree_address(abi::tree_use::reduce);
  return sum;
}

std::vector<tree_work::onward> tree_work::take(const protocol::credit_request& credit) {
  const abi::tree_use use = use_of(credit.mailbox);
  onward o{tree_.root, abi::tree_flow::credits, {}, {}, credit, true};
  o.credit.fields.match_address = abi::tree_address(use);
  if (use == abi::tree_use::reduce) {
    std::vector<onward> all;
    o.flow = abi::tree_flow::down;
    for (const member& m : members_) {
      if (!m.who.contributes) continue;
      o.to = m.who.pe;
      o.credit.mailbox = mailbox_of(o.to);
      all.push_back(o);
    }
    return all;
  }
  member& from = member_of(credit.fields.source);
  from.credits += space_.distance(from.tail, credit.fields.sequence);
  from.tail = credit.fields.sequence;
  std::uint64_t least = UINT64_MAX;
  for (const member& m : members_)
    if (m.who.ring != 0) least = std::min(least, m.credits);
  if (least == credits_sent_) return {};
  tail_sent_ = space_.advance(tail_sent_, static_cast<std::uint32_t>(least - credits_sent_));
  credits_sent_ = least;
  o.credit.fields.sequence = tail_sent_;
  o.credit.mailbox = mailbox_of(tree_.root);
  return {o};
}

}  // namespace diecast::sw
