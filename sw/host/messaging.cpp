// SPDX-License-Identifier: Apache-2.0
#include "sw/host/messaging.hpp"

#include "models/abi/tag_registers.hpp"

namespace diecast::sw {

void install_messaging(abi::host_hal& host, std::span<const pe_coord> pes,
                       const config::machine_config& config, std::uint64_t tcm_offset) {
  const config::tag_match_block& b = config.tag_match;
  const std::uint64_t slots = pes.size() * b.ring_messages;
  for (const pe_coord pe : pes) {
    if (pe.sip != host.self()) continue;
    const abi::address ring = abi::encode({pe.sip, pe.cube, abi::region::tcm, pe.pe.value, tcm_offset});
    const auto write = [&](abi::register_offset reg, std::uint64_t value) {
      host.debug_write_register(pe, reg, value);
    };
    write(abi::tm_ring_base, ring);
    write(abi::tm_slot_bytes, b.slot_bytes());
    write(abi::tm_slots, slots);
    write(abi::tm_peer_credits, b.ring_messages);
    write(abi::tm_heap_base, ring + slots * b.slot_bytes());
    write(abi::tm_heap_bytes, b.heap_kib * 1024);
  }
}

}  // namespace diecast::sw
