// SPDX-License-Identifier: Apache-2.0
// The receiving side of the DMA engine: packets to memory, tokens, service of remote accesses.
#include <algorithm>
#include <span>

#include "hw/pe/dma_engine.hpp"
#include "models/checksum/packet_checksum.hpp"
#include "models/comm/install_plan.hpp"
#include "models/protocol/fault_record.hpp"

namespace diecast::hw {

void dma_engine::on_packet(const packet_ptr& p, std::uint8_t vc) {
  work_.put(edge_after(1), work_key(static_cast<unsigned>(work_kind::packet_arrived), arrivals_++),
            {work_kind::packet_arrived, 0, vc, p});
}

void dma_engine::on_sent(abi::traffic_class c) {
  if (c == abi::traffic_class::message) return tag_messages->packet_left();
  if (c != abi::traffic_class::comm && c != abi::traffic_class::request) return;
  const work_kind what = c == abi::traffic_class::comm ? work_kind::message_left : work_kind::request_left;
  work_.put(edge_after(1), work_key(static_cast<unsigned>(what), 0), {what, 0, 0, {}});
}

void dma_engine::arrived(const packet_ptr& p, std::uint8_t vc) {
  if (is_protected(p->header)) return enter(verifying_, work_kind::verified, p, vc);
  accept(p, vc);
}

void dma_engine::accept(const packet_ptr& p, std::uint8_t vc) {
  switch (p->header.kind) {
    case abi::packet_kind::ipcq_data: return receive_message(p, vc);
    case abi::packet_kind::ipcq_credit:
      slowest_credit_ = std::max(slowest_credit_, now() - p->created);
      ipcq->credit_arrived(p->header.ipcq);
      return terminal_.release(vc, p->flits);
    case abi::packet_kind::read_request:
    case abi::packet_kind::write_request: return serve(p, vc);
    case abi::packet_kind::read_response:
    case abi::packet_kind::write_response: {
      if ((p->header.transaction & tag_read_bit) != 0 && tag_messages.bound()) {
        terminal_.release(vc, p->flits);
        return tag_messages->read_answered(p);
      }
      const auto index = static_cast<std::uint32_t>(p->header.transaction);
      const bool of_messages = (p->header.transaction & tag_read_bit) != 0;
      if (of_messages || !pending_.is_open(index)) {
        throw protocol_error("{}: {} answers transaction {:#x}, which is not open", name(),
                             abi::to_string(p->header.kind), p->header.transaction);
      }
      const stage waits = pending_[index].what;
      if (waits == stage::message_fetch && pending_[index].read) {
        throw protocol_error("{}: a second {} for transaction {:#x}", name(), abi::to_string(p->header.kind),
                             p->header.transaction);
      }
      if (waits == stage::message_fetch) pending_[index].p->data = p->data;
      if (waits == stage::copy_fetch || waits == stage::answer) pending_[index].p = p;
      terminal_.release(vc, p->flits);
      return finished(index);
    }
    case abi::packet_kind::tag_message:
      if (!tag_messages.bound()) break;
      return tag_messages->packet_arrived(p, vc);
    case abi::packet_kind::launch: core->launch(p); return terminal_.release(vc, p->flits);
    case abi::packet_kind::atomic_add:
    case abi::packet_kind::launch_done:
    case abi::packet_kind::synthetic: break;
  }
  throw protocol_error("{}: a PE takes no {} packets", name(), abi::to_string(p->header.kind));
}

void dma_engine::receive_message(const packet_ptr& p, std::uint8_t vc) {
  const abi::packet_header& h = p->header;
  if (h.offset == 0) {
    const std::uint32_t bytes = at_least_one(h.ipcq.message_bytes);
    inbound_[h.source].push_back({h.ipcq, messages_begun_++, bytes, bytes, publication_->early_by()});
  }
  inbound_message& message = take_part(h);
  if (pe_.events.wants(events::contents)) message.digest += checksum::digest_of_part(h.offset, p->data);
  if (ends_message(h)) report(events::transfer_phase::arrived, h.ipcq.source, h.ipcq.source_direction);
  const abi::address to = h.ipcq.match_address + h.offset;
  pending write;
  write.what = stage::message_write;
  write.p = p;
  write.vc = vc;
  write.message = message.number;
  if (message.early_by != sim_time::never()) {
    // The fault: the message's bytes wait in a write buffer while its token is published.
    const std::uint32_t index = open(std::move(write));
    work_.put(edge_after(1) + message.early_by,
              work_key(static_cast<unsigned>(work_kind::buffered_write), pending_[index].sequence),
              {work_kind::buffered_write, index, 0, {}});
    return publish(h.source);
  }
  write_message(to, std::move(write));
}

void dma_engine::write_message(abi::address to, pending write) {
  const packet_ptr p = write.p;
  const abi::packet_header& h = p->header;
  if (h.payload_bytes == 0 || is_local(to)) {
    access_tcm(tcm_port::dma_write, to, *p, h.payload_bytes, true, open(std::move(write)));
    return;
  }
  // The slot ring is in SRAM or HBM: write the bytes there and wait for the acknowledgement.
  packet_ptr request = make_packet(abi::packet_kind::write_request, to);
  request->header.payload_bytes = h.payload_bytes;
  request->data = p->data;
  request->header.transaction = open(std::move(write));
  send_request(std::move(request));
}

void dma_engine::message_write_done(const pending& done) {
  const abi::packet_header& h = done.p->header;
  auto& messages = inbound_.at(h.source);
  const auto of = std::ranges::find(messages, done.message, &inbound_message::number);
  of->missing -= at_least_one(h.payload_bytes);  // the message stays in the list until nothing is missing
  terminal_.release(done.vc, done.p->flits);
  publish(h.source);
}

/// Finds the first open message with a packet's fields that lacks bytes, and counts its bytes as arrived.
dma_engine::inbound_message& dma_engine::take_part(const abi::packet_header& h) {
  const std::uint32_t bytes = at_least_one(h.payload_bytes);
  bool open = false;
  for (inbound_message& m : inbound_[h.source]) {
    if (m.fields != h.ipcq) continue;
    open = true;
    if (m.unarrived < bytes) continue;
    m.unarrived -= bytes;
    return m;
  }
  throw fault_error(record_of(open ? fault_kind::surplus_bytes : fault_kind::no_open_message, h));
}

void dma_engine::publish(abi::node_address flow) {
  const auto found = inbound_.find(flow);
  auto& messages = found->second;
  while (!messages.empty()) {
    inbound_message& m = messages.front();
    const bool written = m.missing == 0;
    if (written) report(events::transfer_phase::written, m.fields.source, m.fields.source_direction);
    if (!m.published && (written || m.early_by != sim_time::never())) {
      ipcq->message_arrived(m.fields);
      m.published = true;
    }
    if (!written) break;
    if (pe_.events.wants(events::contents))
      pe_.events.publish(events::message_content{now(), pe_.self, m.fields, m.digest});
    messages.pop_front();
  }
  if (messages.empty()) inbound_.erase(found);
}

void dma_engine::visit_inbound(
    const std::function<void(const abi::ipcq_fields&, inbound_state)>& visit) const {
  for (const auto& [flow, messages] : inbound_) {
    bool behind = false;
    for (const inbound_message& m : messages) {
      const bool part = m.unarrived != 0;
      visit(m.fields, part     ? inbound_state::part_arrived
                      : behind ? inbound_state::held_behind
                               : inbound_state::being_written);
      behind = behind || part;
    }
  }
}

void dma_engine::visit_outbound(const std::function<void(const abi::ipcq_fields&)>& visit) const {
  for (const job& j : jobs_[ipcq_port]) visit(j.message.fields);
  for (const std::uint32_t index : reads_) visit(pending_[index].p->header.ipcq);
  for (const checksum_engine::passing& packet : sealing_.packets)
    if (packet.p->header.kind == abi::packet_kind::ipcq_data) visit(packet.p->header.ipcq);
}

/// The register is written one cycle after the packet is forwarded; the answer leaves in that cycle.
void dma_engine::serve_register(const packet_ptr& p, std::uint8_t vc, std::uint64_t reg) {
  std::uint64_t value = 0;
  if (p->header.kind != abi::packet_kind::write_request || p->data.size() != sizeof value) {
    throw protocol_error("{}: {} of {} bytes at register {:#x}; expected a write of 8", name(),
                         abi::to_string(p->header.kind), p->data.size(), reg);
  }
  std::ranges::copy(p->data, std::as_writable_bytes(std::span{&value, 1}).begin());
  ipcq->register_written(static_cast<abi::register_offset>(reg), value);
  pending access;
  access.what = stage::serve_write;
  access.p = p;
  access.vc = vc;
  const std::uint32_t index = open(std::move(access));
  work_.put(edge_after(2),
            work_key(static_cast<unsigned>(work_kind::access_finished), pending_[index].sequence),
            {work_kind::access_finished, index, 0, {}});
}

void dma_engine::serve(const packet_ptr& p, std::uint8_t vc) {
  const abi::packet_header& h = p->header;
  const auto where = abi::decode(h.target);
  if (where && where->kind == abi::region::pe_registers && is_of(pe_.self, *where))
    return serve_register(p, vc, where->offset);
  if (!is_local(h.target)) {
    throw protocol_error("{}: {} for {}, which this PE does not have", name(), abi::to_string(h.kind),
                         abi::describe(h.target));
  }
  const bool write = h.kind == abi::packet_kind::write_request;
  pending access;
  access.what = write ? stage::serve_write : stage::serve_read;
  access.p = p;
  access.vc = vc;
  access_tcm(write ? tcm_port::dma_write : tcm_port::dma_read, h.target, *p,
             write ? h.payload_bytes : h.request_bytes, write, open(std::move(access)));
}

void dma_engine::do_work(work& w) {
  switch (w.what) {
    case work_kind::access_finished: return finished(w.index);
    case work_kind::packet_arrived: return arrived(w.p, w.vc);
    case work_kind::message_left: return message_left();
    case work_kind::request_left: --ahead_; return;
    case work_kind::descriptor_ready: return;
    case work_kind::send_packet:
      if (abi::class_of(w.p->header.kind) == abi::traffic_class::request) return send_request(std::move(w.p));
      return leave(std::move(w.p));
    case work_kind::sealed: return drain(sealing_, w.what);
    case work_kind::verified: return drain(verifying_, w.what);
    case work_kind::buffered_write: {
      pending write = pending_.close(w.index);
      const abi::packet_header& h = write.p->header;
      const abi::address to = h.ipcq.match_address + h.offset;
      return write_message(to, std::move(write));
    }
  }
}

// Checksums of messages: made between the read of a packet and the network, compared between the network and
// the write. One engine in each direction; packets pass it in order, at its rate.
//
// The engine works in the cycle in which a packet is forwarded anyway (to the network, or to the TCM), and
// has no clock of its own: what it adds is its bytes over its rate, as far as that goes beyond this cycle.

/// True for packets with bytes of messages: IPCQ and tag-matched data, answers to the unit's reads.
bool dma_engine::is_protected(const abi::packet_header& h) const {
  if (pe_.config.comm.checksum == config::packet_checksum::none) return false;
  switch (h.kind) {
    case abi::packet_kind::ipcq_data:
    case abi::packet_kind::tag_message: return true;
    case abi::packet_kind::read_response: return abi::answers_rendezvous(h);
    default: return false;
  }
}

/// Gives a packet to a checksum engine, which forwards it at once or when work `what` is due.
void dma_engine::enter(checksum_engine& engine, work_kind what, packet_ptr p, std::uint8_t vc) {
  const std::uint64_t bytes = p->header.payload_bytes;
  const sim_time length = nanoseconds(static_cast<double>(bytes) / pe_.config.comm.checksum_gbytes_s);
  engine.free = std::max(engine.free, now()) + length;
  checksum_bytes_ += bytes;
  checksum_time_ += length;
  const sim_time hidden = clock_.cycles(1);
  const sim_time due = engine.free > now() + hidden ? engine.free - hidden : now();
  engine.packets.push_back({due, std::move(p), vc});
  if (due == now()) return drain(engine, what);
  work_.put(due, work_key(static_cast<unsigned>(what), checksums_++), {what, 0, 0, {}});
}

/// Forwards, in order, the packets that have passed the engine by now.
void dma_engine::drain(checksum_engine& engine, work_kind what) {
  while (!engine.packets.empty() && engine.packets.front().due <= now()) {
    const checksum_engine::passing passed = std::move(engine.packets.front());
    engine.packets.pop_front();
    if (what == work_kind::sealed) {
      inject(passed.p);
    } else {
      verify(passed.p);
      accept(passed.p, passed.vc);
    }
  }
}

/// A packet leaves for the network.
void dma_engine::leave(packet_ptr p) {
  if (!is_protected(p->header)) return inject(std::move(p));
  // Only tag-matched packets are numbered: an IPCQ packet has its message's number, an answer its request's.
  if (p->header.kind == abi::packet_kind::tag_message)
    p->header.transaction = sealed_messages_[{p->header.destination, terminal_.stages(p->header)}]++;
  p->header.checksum = checksum::of_packet(pe_.config.comm.checksum, p->header, p->data);
  enter(sealing_, work_kind::sealed, std::move(p), 0);
}

void dma_engine::verify(const packet_ptr& p) {
  const auto kind = pe_.config.comm.checksum;
  const abi::packet_header& h = p->header;
  const std::uint64_t found = checksum::of_packet(kind, h, p->data);
  if (found == h.checksum) return verify_number(h);
  fault_record r = record_of(fault_kind::checksum_mismatch, h);
  r.text = checksum::to_string(kind);
  r.value = found;
  r.expected = h.checksum;
  throw fault_error(std::move(r));
}

/// Checks that a sender's tag-matched packets arrive in the order of their numbers, each once.
void dma_engine::verify_number(const abi::packet_header& h) {
  if (h.kind != abi::packet_kind::tag_message) return;
  const std::uint64_t expected = verified_messages_[{abi::origin_of(h), h.staged.set}]++;
  if (h.transaction == expected) return;
  fault_record r = record_of(fault_kind::packet_number, h);
  r.sequence = h.transaction;
  r.expected = expected;
  throw fault_error(std::move(r));
}

/// The fault record of a packet that should not have arrived.
fault_record dma_engine::record_of(fault_kind kind, const abi::packet_header& h) const {
  fault_record r{kind, name(), pe_.self};
  r.offset = h.offset;
  r.bytes = h.payload_bytes;
  r.links = path_of(h);
  r.tag_matched = h.kind == abi::packet_kind::tag_message;
  r.address = h.target;
  if (h.kind == abi::packet_kind::read_response) return r;
  r.from = r.tag_matched ? h.tag.source : h.ipcq.source;
  r.sender = pe_path(pe_.config.shape(), *r.from);
  r.tag = h.tag.tag;
  if (r.tag_matched) return r;
  r.sequence = h.ipcq.sequence;
  r.address = h.ipcq.match_address;
  r.message_bytes = h.ipcq.message_bytes;
  return r;
}

/// Names of the links that a packet has crossed since it left its sender.
std::vector<std::string> dma_engine::path_of(const abi::packet_header& h) const {
  std::vector<std::string> path;
  const auto add_links = [&](abi::node_address from, abi::node_address to) {
    for (const fabric::route_hop& hop : setup_.topology.trace(from, to))
      path.push_back(setup_.topology.links()[hop.link].name);
  };
  if (h.staged.set) {
    add_links(h.staged.from, comm::io_cpu_node(setup_.topology, sip_id{h.staged.from.sip}));
    path.emplace_back("host memory");
  }
  add_links(h.source, h.destination);
  return path;
}

}  // namespace diecast::hw
