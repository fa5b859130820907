// SPDX-License-Identifier: Apache-2.0
// Checksums of messages: made between the read of a packet and the network, compared between the network and
// the write. One engine each way; packets pass it in order, at its rate.
#include <algorithm>
#include <fmt/format.h>

#include "hw/pe/dma_engine.hpp"
#include "models/checksum/packet_checksum.hpp"
#include "models/comm/launch_plan.hpp"
#include "models/types/error.hpp"

namespace diecast::hw {

/// The edge at which a packet of so many bytes that comes to the engine now has passed it.
sim_time dma_engine::through_engine(sim_time& free, std::uint64_t bytes) {
  const sim_time length = nanoseconds(static_cast<double>(bytes) / setup_.config.comm.checksum_gbytes_s);
  free = std::max(free, now()) + length;
  checksum_bytes_ += bytes;
  checksum_time_ += length;
  return std::max(clock_.edge_at_or_after(free), edge_after(1));
}

/// An IPCQ packet leaves for the network.
void dma_engine::leave(packet_ptr p) {
  const auto kind = setup_.config.comm.checksum;
  if (kind == config::packet_checksum::none) return inject(std::move(p));
  p->header.checksum = checksum::of_packet(kind, p->header, p->data);
  const std::uint64_t bytes = p->header.payload_bytes;
  work_.put(through_engine(seal_free_, bytes),
            work_key(static_cast<unsigned>(work_kind::sealed), checksums_++),
            {work_kind::sealed, 0, 0, std::move(p)});
}

void dma_engine::verify(const packet_ptr& p) const {
  const auto kind = setup_.config.comm.checksum;
  const abi::packet_header& h = p->header;
  const std::uint64_t found = checksum::of_packet(kind, h, p->data);
  if (found == h.checksum) return;
  throw protocol_error(fmt::format(
      "{}: {} checksum mismatch: {:#x} over the {} bytes at offset {} of message {} from {} to {}; the "
      "packet carries {:#x}; it came over {}",
      name(), checksum::to_string(kind), found, h.payload_bytes, h.offset, h.ipcq.sequence,
      pe_path(setup_.config.shape(), h.ipcq.source), abi::describe(h.ipcq.match_address), h.checksum,
      path_of(h)));
}

/// What a packet came over since it left its sender's PE.
std::string dma_engine::path_of(const abi::packet_header& h) const {
  std::string path;
  const auto add = [&path](const std::string& place) { path += (path.empty() ? "" : ", ") + place; };
  const auto add_links = [&](abi::node_address from, abi::node_address to) {
    for (const fabric::route_hop& hop : setup_.topology.trace(from, to)) {
      add(setup_.topology.links()[hop.link].name);
    }
  };
  const pe_coord sender = h.ipcq.source;
  const bool staged = setup_.config.comm.path == config::transfer_path::staged;
  if (staged && sender.sip != setup_.self.sip) {
    const auto pe = abi::encode({sender.sip, sender.cube, abi::region::tcm, sender.pe.value, 0});
    add_links(setup_.topology.locate(pe), comm::io_cpu_node(setup_.topology, sender.sip));
    add("host memory");
  }
  add_links(h.source, h.destination);
  return path;
}

}  // namespace diecast::hw
