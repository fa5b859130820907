// SPDX-License-Identifier: Apache-2.0
// Checksums of messages: made between the read of a packet and the network, compared between the network and
// the write. One engine in each direction; packets pass it in order, at its rate.
//
// The engine works in the cycle in which a packet is forwarded anyway (to the network, or to the TCM), and
// has no clock of its own: what it adds is its bytes over its rate, as far as that goes beyond this cycle.
#include <algorithm>

#include "hw/pe/dma_engine.hpp"
#include "models/checksum/packet_checksum.hpp"
#include "models/comm/install_plan.hpp"
#include "models/protocol/fault_record.hpp"

namespace diecast::hw {

/// Data of messages, and the answers to a tag-matching unit's reads, which are data of messages, too.
bool dma_engine::is_protected(const abi::packet_header& h) const {
  if (pe_.config.comm.checksum == config::packet_checksum::none) return false;
  switch (h.kind) {
    case abi::packet_kind::ipcq_data:
    case abi::packet_kind::tag_message: return true;
    case abi::packet_kind::read_response: return abi::answers_rendezvous(h);
    default: return false;
  }
}

/// A packet comes to an engine; it is forwarded at once, or when `what` is due.
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
  // An IPCQ packet has the number of its message; what is read has that of its request.
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

/// Tag-matched packets of a sender come in the order in which it numbered them, and each once.
void dma_engine::verify_number(const abi::packet_header& h) {
  if (h.kind != abi::packet_kind::tag_message) return;
  const std::uint64_t expected = verified_messages_[{abi::origin_of(h), h.staged.set}]++;
  if (h.transaction == expected) return;
  fault_record r = record_of(fault_kind::packet_number, h);
  r.sequence = h.transaction;
  r.expected = expected;
  throw fault_error(std::move(r));
}

/// What is known of a packet that arrived and should not have.
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

/// What a packet came over since it left its sender's PE.
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
