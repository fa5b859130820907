// SPDX-License-Identifier: Apache-2.0
// Calls of programs: posting, waiting, probing.
#include "sw/runtime/messaging.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "sw/runtime/firmware_trap.hpp"

namespace diecast::sw {
namespace {

std::uint64_t tag_of(const communicator& c, std::uint32_t source, std::uint64_t tag) {
  return std::uint64_t{c.id} << context_shift | std::uint64_t{source} << source_shift | tag;
}

std::uint32_t rank_in(const communicator& c, pe_coord pe) {
  const auto at = std::ranges::find(c.members, pe);
  if (at == c.members.end()) {
    throw firmware_trap(pe, "is no member of communicator {}", c.id);
  }
  return static_cast<std::uint32_t>(at - c.members.begin());
}

void check_rank(pe_coord self, const communicator& c, std::uint32_t rank) {
  if (rank < c.members.size()) return;
  throw firmware_trap(self, "rank {} of communicator {}; expected less than {}", rank, c.id,
                      c.members.size());
}

protocol::offload_policy policy_of(const config::tag_match_block& b, std::uint64_t entries) {
  protocol::offload_policy p;
  p.entries = static_cast<std::uint32_t>(entries);
  p.min_bytes = b.offload_min_bytes;
  p.wildcards = b.offload_wildcards;
  p.force_bytes = b.offload_force_bytes;
  return p;
}

}  // namespace

messaging::messaging(pe_runtime& runtime)
    : runtime_(runtime),
      driver_(runtime.hal(), runtime.options().end_to_end),
      installed_(driver_.read_installation()),
      block_(runtime.options().tag_match),
      shadow_(policy_of(block_, installed_.entries), installed_.unexpected),
      heap_(installed_.heap_base - runtime.options().tcm_base, installed_.heap_bytes) {
  if (installed_.slots == 0) {
    throw firmware_trap(runtime.hal().self(), "messages without an installed ring of the tag-matching unit");
  }
  runtime.driver().on_tag_event([this] { progress(); });
  runtime.before_idle([this] { publish_waits(); });
  driver_.arm();
}

messaging& messaging_of(pe_runtime& runtime) {
  return runtime.service<messaging>([&runtime] { return std::make_shared<messaging>(runtime); });
}

void messaging::charge_search(std::uint32_t elements) {
  counts_.compared += elements;
  if (elements > 0) runtime_.hal().compute(elements * block_.software_entry_cycles);
}

std::uint32_t messaging::add(operation o) {
  const std::uint32_t id = next_id_++;
  operations_.emplace(id, std::move(o));
  return id;
}

messaging::operation& messaging::find(message_request r) {
  const auto at = operations_.find(r.id);
  if (at == operations_.end()) {
    throw firmware_trap(runtime_.hal().self(), "request {} is not open: it has been waited for before", r.id);
  }
  return at->second;
}

message_request messaging::isend(const communicator& c, std::uint32_t to, std::uint32_t tag,
                                 const message_buffer& from, send_mode mode) {
  return post_send(c, to, tag, from, mode, check_of(from));
}

message_request messaging::post_send(const communicator& c, std::uint32_t to, std::uint32_t tag,
                                     const message_buffer& from, send_mode mode, std::uint32_t check) {
  runtime_.enter(abi::entry_point::message);
  runtime_.charge_call();
  runtime_.charge_registration();
  const pe_coord self = runtime_.hal().self();
  check_rank(self, c, to);
  operation o;
  o.what = kind::send;
  o.buffer = from;
  o.mode = mode;
  o.peer = c.members[to];
  o.peer_known = true;
  o.group = c.id;
  o.tag = tag_of(c, rank_in(c, self), tag);
  o.status = {to, tag, from.bytes};
  o.check = check;
  o.name = fmt::format("send to rank {} of communicator {}, tag {}", to, c.id, tag);
  const std::uint32_t id = add(std::move(o));
  note(id, abi::operation_phase::posted);
  queued_[abi::pack_short_peer(c.members[to])].push_back(id);
  start_sends(c.members[to]);
  return {id};
}

protocol::tag_pattern messaging::pattern(const communicator& c, std::uint32_t from, std::uint64_t tag) const {
  const pe_coord self = runtime_.hal().self();
  (void)rank_in(c, self);
  if (from != any_source) check_rank(self, c, from);
  if (tag != any_tag && tag > tag_bits) {
    throw firmware_trap(self, "tag {}; expected at most {}", tag, tag_bits);
  }
  protocol::tag_pattern p;
  p.tag = tag_of(c, from == any_source ? 0 : from, tag == any_tag ? 0 : tag);
  if (from == any_source) p.mask &= ~source_bits;
  if (tag == any_tag) p.mask &= ~tag_bits;
  return p;
}

message_request messaging::irecv(const communicator& c, std::uint32_t from, std::uint64_t tag,
                                 const message_buffer& to) {
  runtime_.enter(abi::entry_point::message);
  runtime_.charge_call();
  runtime_.charge_registration();
  operation o;
  o.what = kind::receive;
  o.buffer = to;
  o.name = fmt::format("receive from {} of communicator {}, {}",
                       from == any_source ? "any rank" : fmt::format("rank {}", from), c.id,
                       tag == any_tag ? "any tag" : fmt::format("tag {}", tag));
  const protocol::tag_pattern wanted = pattern(c, from, tag);
  o.peer_known = from != any_source;
  if (o.peer_known) o.peer = c.members[from];
  o.group = c.id;
  if (tag != any_tag) o.wanted_tag = static_cast<std::uint32_t>(tag);
  const std::uint32_t id = add(std::move(o));
  note(id, abi::operation_phase::posted);
  const auto d =
      shadow_.post({id, wanted, runtime_.options().tcm_base + to.offset, to.bytes, to.contiguous()});
  charge_search(d.searched);
  flush_commands();
  on_decision(d);
  reuse_room();
  return {id};
}

/// Uses the room that a call of the program has made in the heap. No event reports such room: a task that
/// waits for a message in the ring, or from a peer without credits, would wait for ever.
void messaging::reuse_room() {
  if (heap_full_) use_heap();
}

message_status messaging::conclude(message_request r, on_truncation how) {
  operation& o = find(r);
  const message_status status = o.status;
  const std::string name = o.name;
  const std::uint64_t room = o.buffer.bytes;
  compare_check(o);
  operations_.erase(r.id);
  if (status.truncated && how == on_truncation::trap) {
    throw firmware_trap(
        runtime_.hal().self(),
        "{}: message of {} bytes from rank {}, tag {}; expected at most {}, the receive's buffer", name,
        status.bytes, status.source, status.tag, room);
  }
  return status;
}

message_status messaging::wait(message_request r, on_truncation how) {
  runtime_.charge_call();
  block_until(
      find(r).name, [this, r] { return find(r).done; },
      [this, r] { return std::vector{note_of(r.id, abi::operation_phase::awaited)}; });
  return conclude(r, how);
}

void messaging::wait_all(std::span<const message_request> requests) {
  for (const message_request r : requests) (void)wait(r);
}

std::size_t messaging::wait_any(std::span<const message_request> requests) {
  runtime_.charge_call();
  const auto first_done = [this, requests] {
    return std::ranges::find_if(requests, [this](message_request r) { return find(r).done; });
  };
  const auto all = [&] {
    std::vector<abi::operation_note> notes;
    for (const message_request r : requests) notes.push_back(note_of(r.id, abi::operation_phase::awaited));
    return notes;
  };
  block_until(
      fmt::format("any of {} requests", requests.size()), [&] { return first_done() != requests.end(); },
      all);
  return static_cast<std::size_t>(first_done() - requests.begin());
}

std::optional<message_status> messaging::test(message_request r, on_truncation how) {
  runtime_.charge_call();
  if (!find(r).done) progress();
  if (!find(r).done) return std::nullopt;
  return conclude(r, how);
}

void messaging::cancel(message_request r) {
  runtime_.charge_call();
  if (find(r).what != kind::receive) {
    throw firmware_trap(runtime_.hal().self(), "cancel of a {}; expected a receive", find(r).name);
  }
  if (find(r).done) return;
  const auto d = shadow_.cancel(r.id);
  flush_commands();
  on_decision(d);
}

message_status messaging::status_of(const protocol::tag_message& m, std::uint64_t arrival) const {
  message_status s;
  s.source = static_cast<std::uint32_t>((m.tag & source_bits) >> source_shift);
  s.tag = static_cast<std::uint32_t>(m.tag & tag_bits);
  s.bytes = m.length;
  s.arrival = arrival;
  return s;
}

std::optional<message_status> messaging::iprobe(const communicator& c, std::uint32_t from,
                                                std::uint64_t tag) {
  runtime_.charge_call();
  progress();
  const auto d = shadow_.probe(pattern(c, from, tag));
  charge_search(d.searched);
  if (d.what != protocol::tag_shadow::decision::kind::hit) return std::nullopt;
  const stored& m = messages_.at(d.message);
  return status_of(m.header, m.arrival);
}

message_status messaging::probe(const communicator& c, std::uint32_t from, std::uint64_t tag) {
  std::optional<message_status> found = iprobe(c, from, tag);
  while (!found) {
    const auto wanted = pattern(c, from, tag);
    abi::operation_note n;
    n.kind = abi::operation_kind::probe;
    n.id = probes_++;
    if (from != any_source) n.peer = c.members[from];
    n.group = c.id;
    if (tag != any_tag) n.tag = static_cast<std::uint32_t>(tag);
    block_until(
        fmt::format("probe of communicator {}", c.id),
        [this, wanted] { return shadow_.probe(wanted).what == protocol::tag_shadow::decision::kind::hit; },
        [&n] { return std::vector{n}; });
    found = iprobe(c, from, tag);
  }
  return *found;
}

std::optional<matched_message> messaging::improbe(const communicator& c, std::uint32_t from,
                                                  std::uint64_t tag) {
  runtime_.charge_call();
  progress();
  const auto d = shadow_.extract(pattern(c, from, tag));
  charge_search(d.searched);
  if (d.what != protocol::tag_shadow::decision::kind::hit) return std::nullopt;
  const stored& m = messages_.at(d.message);
  return matched_message{d.message, status_of(m.header, m.arrival)};
}

matched_message messaging::mprobe(const communicator& c, std::uint32_t from, std::uint64_t tag) {
  for (;;) {
    (void)probe(c, from, tag);
    if (const auto m = improbe(c, from, tag)) return *m;  // another task may have been faster
  }
}

message_request messaging::imrecv(const matched_message& m, const message_buffer& to) {
  runtime_.charge_call();
  if (!messages_.contains(m.id)) {
    throw firmware_trap(runtime_.hal().self(), "imrecv of message {} a second time", m.id);
  }
  operation o;
  o.what = kind::receive;
  o.buffer = to;
  o.name = fmt::format("receive of a probed message from rank {}, tag {}", m.status.source, m.status.tag);
  o.group = static_cast<std::uint16_t>(messages_.at(m.id).header.tag >> context_shift);
  o.wanted_tag = m.status.tag;
  const std::uint32_t id = add(std::move(o));
  note(id, abi::operation_phase::posted);
  deliver(m.id, id);
  reuse_room();
  return {id};
}

void messaging::finish() {
  for (const auto& [id, o] : operations_) {
    throw firmware_trap(runtime_.hal().self(),
                        "the program ends with {} open requests, the first a {}; expected a wait for each",
                        operations_.size(), o.name);
  }
  const auto all_home = [this] {
    return shadow_.indexes_used() == 0 && std::ranges::all_of(credits_, [this](const auto& c) {
             return c.second == installed_.peer_credits;
           });
  };
  block_until(
      "end of messaging", [&] { return !messages_.empty() || all_home(); },
      [this] { return open_receipts(); }, [this] { return not_received(); });
  if (messages_.empty()) return;
  const message_status first = status_of(messages_.begin()->second.header, 0);
  fault_record r{fault_kind::messages_left};
  r.value = messages_.size();
  r.sender = std::to_string(first.source);
  r.tag = first.tag;
  r.bytes = first.bytes;
  throw firmware_trap(runtime_.hal().self(), std::move(r));
}

message_counts messaging::counts() const {
  message_counts c = counts_;
  c.matching = shadow_.statistics();
  return c;
}

}  // namespace diecast::sw
