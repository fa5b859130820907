// SPDX-License-Identifier: Apache-2.0
#include "hw/d2d/link_monitor.hpp"

#include <algorithm>

#include "models/checksum/packet_checksum.hpp"

namespace diecast::hw {

void link_monitor::pass(const packet& p, sim_time at) {
  const abi::packet_header& h = p.header;
  if (h.kind == abi::packet_kind::ipcq_credit) {
    seen_.oldest_credit = std::max(seen_.oldest_credit, at - p.created);
    return;
  }
  const bool message = h.kind == abi::packet_kind::ipcq_data || h.kind == abi::packet_kind::tag_message;
  // A tree in the network makes packets of its own.
  if (!message || checksum_ == config::packet_checksum::none || abi::is_tree(h.destination)) return;
  if (checksum::of_packet(checksum_, h, p.data) != h.checksum) ++seen_.corrupted;
  if (!follows(h)) ++seen_.out_of_order;
}

/// Under a checksum tag-matched packets are numbered one by one, those of queue pairs by message.
bool link_monitor::follows(const abi::packet_header& h) {
  const bool tags = h.kind == abi::packet_kind::tag_message;
  const place here = tags ? place{h.transaction, 0} : place{h.ipcq.sequence, h.offset};
  place after{here.number + 1, 0};
  if (!tags && h.offset + h.payload_bytes < h.ipcq.message_bytes)
    after = {here.number, std::uint64_t{h.offset} + h.payload_bytes};
  // Through host memory they are numbered apart from control, which is not staged.
  const flow of{abi::origin_of(h), h.staged.set ? h.staged.to : h.destination, h.kind, h.ipcq.source,
                tags ? std::uint16_t{h.staged.set} : h.ipcq.source_direction};
  place& next = next_[of];
  const bool as_expected = here == next;
  // What came late or twice does not turn the flow back.
  if (here >= next) next = after;
  return as_expected;
}

}  // namespace diecast::hw
