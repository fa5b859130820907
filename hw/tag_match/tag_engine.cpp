// SPDX-License-Identifier: Apache-2.0
#include "hw/tag_match/tag_engine.hpp"

#include <algorithm>

#include "models/abi/wire.hpp"
#include "models/checksum/packet_checksum.hpp"
#include "models/fabric/fault_places.hpp"
#include "models/protocol/fault_record.hpp"

namespace diecast::hw {
namespace {

protocol::tag_unit::eligibility rule_of(const pe_setup& pe) {
  using rule = protocol::tag_unit::eligibility;
  const bool races = fabric::fault_at(pe.config, config::fault_kind::tag_list_race, pe.self) != nullptr;
  return races ? rule::never_wait : rule::by_count;
}

}  // namespace

tag_engine::tag_engine(sc_core::sc_module_name name, const pe_setup& pe, const packet_setup& setup)
    : sc_module(name),
      pe_(pe),
      setup_(setup),
      clock_(clock_domain::from_ghz(pe.config.noc.clock_ghz)),
      core_(pe.self, static_cast<std::uint32_t>(pe.config.tag_match.entries), pe.config.noc.max_packet_bytes,
            rule_of(pe)) {}

bool tag_engine::idle() const {
  return work_.empty() && turns_.empty() && waiting_.empty() && inbound_.empty() && sends_.empty() &&
         answers_.empty() && reads_.empty() && accesses_.empty() && core_.unit().idle();
}

void tag_engine::write_register(abi::register_offset reg, std::uint64_t value) {
  take(core_.write_register(reg, value));
  look_for_event();
}

std::uint64_t tag_engine::read_register(abi::register_offset reg) { return core_.read_register(reg); }

void tag_engine::debug_write_register(abi::register_offset reg, std::uint64_t value) {
  core_.debug_write(reg, value);
}

std::uint64_t tag_engine::debug_read_register(abi::register_offset reg) { return core_.debug_read(reg); }

void tag_engine::look_for_event() {
  if (core_.take_event()) events->post_event({abi::event_kind::tag_match, false, 0, 0});
}

/// Time at which a descriptor submitted now is started; descriptors are started one after the other.
sim_time tag_engine::descriptor_ready(sim_time& last) const {
  const auto& pe = pe_.config.pe;
  const sim_time started = edge_after(pe.dma_launch_cycles + pe.dma_startup_cycles);
  last = std::max(started, last + clock_.cycles(pe.dma_issue_cycles));
  return last;
}

void tag_engine::take(protocol::tag_effects effects) {
  if (effects.command) {
    turns_.push_back({*effects.command, {}, 0, edge_after(1)});
    put(work_kind::start, turns_.back().ready, 0, {});
  }
  if (effects.send) {
    // fin and credit carry no bytes and need no descriptor.
    const bool answer = abi::carries_no_bytes(effects.send->fields.op);
    auto& queue = answer ? answers_ : sends_;
    queue.push_back({*effects.send, 0, answer ? edge_after(1) : descriptor_ready(last_send_)});
    put(work_kind::start, queue.back().ready, 0, {});
  }
  if (effects.read) {
    reads_.push_back({*effects.read, 0, descriptor_ready(last_read_)});
    read_remaining_[effects.read->token] = effects.read->bytes;
    put(work_kind::start, reads_.back().ready, 0, {});
    ++statistics_.reads;
    statistics_.bytes_read += effects.read->bytes;
  }
}

/// The unit serves the oldest command or message; its list does not change until it has ended.
void tag_engine::begin_turn() {
  if (serving_ || turns_.empty() || turns_.front().ready > now()) return;
  serving_ = true;
  const auto& block = pe_.config.tag_match;
  const turn& next = turns_.front();
  const std::uint64_t cycles =
      next.command ? block.command_cycles
                   : block.match_cycles + block.entry_cycles * core_.cost_of(next.p->header.tag);
  statistics_.busy += clock_.cycles(cycles);
  put(work_kind::turn_ends, edge_after(cycles), 0, {});
}

void tag_engine::end_turn() {
  turn t = std::move(turns_.front());
  turns_.pop_front();
  serving_ = false;
  ++moves_;
  if (t.command) {
    if (t.command->what == protocol::tag_command::kind::append) {
      ++statistics_.appended;
      if (t.command->seen != core_.unit().unexpected_count()) ++statistics_.unseen;
    }
    core_.execute(*t.command);
  } else {
    const abi::tag_fields& message = t.p->header.tag;
    const auto placed = core_.arrive(message);
    statistics_.compared += placed.looked_at;
    ++(placed.credit ? statistics_.matched : statistics_.unexpected);
    statistics_.most_slots_taken =
        std::max<std::uint64_t>(statistics_.most_slots_taken, core_.unit().slots_taken());
    inbound_[abi::origin_of(t.p->header)] = {message, placed};
    if (placed.credit) take({*placed.credit, {}, {}});
    write_payload(t.p, t.vc);
    auto& packets = waiting_[abi::origin_of(t.p->header)];
    packets.pop_front();
    // Takes the packets of this message that have arrived in the meantime.
    while (!packets.empty() && packets.front().p->header.offset != 0) {
      write_payload(packets.front().p, packets.front().vc);
      packets.pop_front();
    }
    if (!packets.empty()) {
      turns_.push_back({{}, packets.front().p, packets.front().vc, now()});
    } else {
      waiting_.erase(abi::origin_of(t.p->header));
    }
  }
  look_for_event();
}

void tag_engine::packet_arrived(const packet_ptr& p, std::uint8_t vc) {
  put(work_kind::packet_in, edge_after(1), sequence_++, {work_kind::packet_in, 0, vc, p});
}

/// Publishes received bytes packet by packet; only firmware knows their buffer.
void tag_engine::report_content(const packet_ptr& p, pe_coord source) const {
  if (p->header.payload_bytes == 0 || !pe_.events.wants(events::contents)) return;
  events::message_content e{now(), pe_.self, {}, checksum::digest_of_part(p->header.offset, p->data)};
  e.fields.source = source;
  e.fields.source_direction = comm::no_direction;
  e.fields.message_bytes = p->header.payload_bytes;
  pe_.events.publish(e);
}

/// Packets of a flow arrive in order: one message after the other.
void tag_engine::packet_in(const packet_ptr& p, std::uint8_t vc) {
  ++moves_;
  const abi::tag_fields& message = p->header.tag;
  if (abi::carries_no_bytes(message.op)) {
    core_.complete(message);
    if (vc != no_buffer) out->release_packet(vc, p->flits);
    return look_for_event();
  }
  const bool first = p->header.offset == 0;
  report_content(p, message.source);
  if (first) ++statistics_.messages_received;
  statistics_.bytes_received += p->header.payload_bytes;
  const auto waiting = waiting_.find(abi::origin_of(p->header));
  if (waiting != waiting_.end()) {
    waiting->second.push_back({p, vc});
    return;
  }
  if (!first) return write_payload(p, vc);
  waiting_[abi::origin_of(p->header)].push_back({p, vc});
  turns_.push_back({{}, p, vc, now()});
}

void tag_engine::write_payload(const packet_ptr& p, std::uint8_t vc) {
  const auto found = inbound_.find(abi::origin_of(p->header));
  if (found == inbound_.end()) {
    throw protocol_error("{}: bytes at offset {} of a message whose first packet has not come", name(),
                         p->header.offset);
  }
  const inbound_message& m = found->second;
  if (p->header.tag != m.fields) {
    fault_record r{fault_kind::interleaved_messages, name(), pe_.self};
    r.offset = p->header.offset;
    r.tag = p->header.tag.tag;
    r.expected = m.fields.tag;
    throw fault_error(std::move(r));
  }
  const std::uint64_t offset = p->header.offset;
  const std::uint64_t kept =
      offset >= m.placed.room ? 0 : std::min<std::uint64_t>(p->header.payload_bytes, m.placed.room - offset);
  access write;
  write.what = stage::payload_write;
  write.p = p;
  write.vc = vc;
  write.token = m.placed.ticket;
  access_tcm(tcm_port::message_write, m.placed.to + offset, *p, kept, true, open(std::move(write)));
  if (offset + p->header.payload_bytes >= p->header.tag.payload_bytes) inbound_.erase(found);
}

/// The TCM may write a message's last packet first: the message is written when all packets are.
void tag_engine::payload_written(const access& done) {
  if (done.vc != no_buffer) out->release_packet(done.vc, done.p->flits);
  const bool others = accesses_.any(
      [&done](const access& a) { return a.what == stage::payload_write && a.token == done.token; });
  const auto arriving =
      std::ranges::any_of(inbound_, [&done](const auto& m) { return m.second.placed.ticket == done.token; });
  if (others || arriving) return;
  take(core_.payload_written(static_cast<std::uint32_t>(done.token)));
  look_for_event();
}

void tag_engine::pump() {
  for (auto* queue : {&answers_, &sends_}) {
    while (ahead_ < packets_read_ahead && !queue->empty() && queue->front().ready <= now())
      issue_packet(*queue);
  }
  while (outstanding_ < pe_.config.pe.dma_outstanding && !reads_.empty() && reads_.front().ready <= now())
    issue_read();
}

void tag_engine::issue_packet(boost::container::deque<outgoing>& queue) {
  outgoing& o = queue.front();
  const std::uint64_t total = o.request.fields.payload_bytes;
  const std::uint64_t bytes = std::min<std::uint64_t>(pe_.config.noc.max_packet_bytes, total - o.next);
  packet_ptr p = make_packet(abi::packet_kind::tag_message, o.request.to);
  p->header.tag = o.request.fields;
  p->header.offset = static_cast<std::uint32_t>(o.next);
  p->header.payload_bytes = static_cast<std::uint32_t>(bytes);
  if (o.next == 0 && !abi::carries_no_bytes(o.request.fields.op)) ++statistics_.messages_sent;
  statistics_.bytes_sent += bytes;
  access read;
  read.what = stage::source_read;
  read.p = p;
  read.last = o.next + bytes >= total;
  const abi::address from = o.request.source + o.next;
  const std::uint32_t index = open(std::move(read));
  source_reads_.push_back(index);
  ++ahead_;
  access_tcm(tcm_port::message_read, from, *p, bytes, false, index);
  o.next += bytes;
  if (o.next >= total) queue.pop_front();
}

/// Packets leave in the order of issue, independently of the order of the banks' answers.
void tag_engine::leave() {
  while (!source_reads_.empty() && accesses_[source_reads_.front()].done) {
    access done = accesses_.close(source_reads_.front());
    source_reads_.pop_front();
    const abi::tag_fields& message = done.p->header.tag;
    if (done.last && !abi::carries_no_bytes(message.op)) core_.source_read(message.id);
    if (is_local(done.p->header.target)) {
      // A message to this PE does not enter the network.
      done.p->header.source = done.p->header.destination;
      put(work_kind::loop_back, edge_after(1), sequence_++, {work_kind::loop_back, 0, no_buffer, done.p});
    } else {
      out->send_packet(std::move(done.p));
    }
  }
  look_for_event();
}

void tag_engine::packet_left() { put(work_kind::packet_gone, edge_after(1), 0, {}); }

void tag_engine::issue_read() {
  reading& r = reads_.front();
  const std::uint64_t bytes =
      std::min<std::uint64_t>(pe_.config.noc.max_packet_bytes, r.request.bytes - r.next);
  const abi::address from = r.request.from + r.next;
  access piece;
  piece.what = is_local(from) ? stage::local_read : stage::remote_read;
  piece.token = r.request.token;
  piece.bytes = bytes;
  piece.to = r.request.to + r.next;
  ++outstanding_;
  if (piece.what == stage::local_read) {
    piece.p = setup_.pool.make();
    packet_ptr p = piece.p;
    access_tcm(tcm_port::message_read, from, *p, bytes, false, open(std::move(piece)));
  } else {
    packet_ptr p = make_packet(abi::packet_kind::read_request, from);
    p->header.request_bytes = static_cast<std::uint32_t>(bytes);
    p->header.transaction = tag_read_bit | open(std::move(piece));
    out->send_packet(std::move(p));
  }
  r.next += bytes;
  if (r.next >= r.request.bytes) reads_.pop_front();
}

void tag_engine::read_answered(const packet_ptr& p) {
  const auto index = static_cast<std::uint32_t>(p->header.transaction & ~tag_read_bit);
  if (!accesses_.is_open(index) || accesses_[index].what != stage::remote_read) {
    fault_record r{fault_kind::unexpected_answer, name(), pe_.self};
    r.text = abi::to_string(p->header.kind);
    r.sequence = index;
    throw fault_error(std::move(r));
  }
  report_content(p, pe_.self);  // the reader is this PE
  accesses_[index].p = p;
  put(work_kind::access_finished, edge_after(1), accesses_[index].sequence,
      {work_kind::access_finished, index, 0, {}});
}

void tag_engine::read_written(const access& done) {
  --outstanding_;
  std::uint64_t& remaining = read_remaining_.at(done.token);
  remaining -= done.bytes;
  if (remaining > 0) return;
  read_remaining_.erase(done.token);
  take(core_.read_done(done.token));
  look_for_event();
}

void tag_engine::access_tcm(tcm_port through, abi::address at, packet& p, std::uint64_t bytes, bool write,
                            std::uint32_t index) {
  if (bytes == 0) {
    return put(work_kind::access_finished, edge_after(1), accesses_[index].sequence,
               {work_kind::access_finished, index, 0, {}});
  }
  if (!is_local(at)) {
    throw protocol_error("{}: {} is not in this PE's TCM, where messages lie", name(), abi::describe(at));
  }
  if (setup_.move_data && !write) p.data.resize(bytes);
  tcm->request({through, abi::decode(at)->offset, bytes, write, setup_.move_data ? p.data.data() : nullptr,
                index, this},
               edge_after(1));
}

void tag_engine::tcm_done(std::uint64_t tag, sim_time finish) {
  const auto index = static_cast<std::uint32_t>(tag);
  put(work_kind::access_finished, finish, accesses_[index].sequence,
      {work_kind::access_finished, index, 0, {}});
}

void tag_engine::finished(std::uint32_t index) {
  if (accesses_[index].what == stage::source_read) {
    accesses_[index].done = true;
    return leave();
  }
  access done = accesses_.close(index);
  switch (done.what) {
    case stage::source_read: return;
    case stage::payload_write: return payload_written(done);
    case stage::local_read:
    case stage::remote_read: {
      done.what = stage::read_write;
      packet_ptr p = done.p;
      const abi::address to = done.to;
      const std::uint64_t bytes = done.bytes;
      return access_tcm(tcm_port::message_write, to, *p, bytes, true, open(std::move(done)));
    }
    case stage::read_write: return read_written(done);
  }
}

bool tag_engine::is_local(abi::address a) const {
  const auto where = abi::decode(a);
  return where && (where->kind == abi::region::tcm || where->kind == abi::region::ipcq_mailbox) &&
         is_of(pe_.self, *where);
}

sim_time tag_engine::edge_after(std::uint64_t cycles) const {
  return clock_.edge_at_or_after(now()) + clock_.cycles(cycles);
}

void tag_engine::put(work_kind what, sim_time at, std::uint64_t key, work w) {
  w.what = what;
  work_.put(at, work_key(static_cast<unsigned>(what), key), std::move(w));
}

void tag_engine::do_work(work& w) {
  switch (w.what) {
    case work_kind::access_finished: return finished(w.index);
    case work_kind::packet_in: return packet_in(w.p, w.vc);
    case work_kind::loop_back: --ahead_; return packet_in(w.p, w.vc);
    case work_kind::packet_gone: --ahead_; return;
    case work_kind::turn_ends: return end_turn();
    case work_kind::start: return;
  }
}

void tag_engine::act() {
  guarded(pe_.faults, name(), [this] {
    work w;
    while (work_.take(w)) {
      do_work(w);
      w.p = {};
    }
    begin_turn();
    pump();
  });
}

}  // namespace diecast::hw
