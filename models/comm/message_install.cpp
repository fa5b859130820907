// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string>

#include "models/abi/tag_registers.hpp"
#include "models/comm/install_plan.hpp"
#include "models/types/error.hpp"

namespace diecast::comm {

message_install plan_messages(const config::machine_config& c, std::vector<pe_coord> pes,
                              std::uint64_t tcm_offset) {
  const config::tag_match_block& b = c.tag_match;
  message_install m{std::move(pes), tcm_offset, b.slot_bytes(), b.ring_messages, b.heap_kib * 1024};
  if (m.slots() > UINT16_MAX) {
    throw user_error(
        {"tag_match.ring_messages", "a PE has more slots for messages than the unit can name",
         std::to_string(b.ring_messages) + " for each of " + std::to_string(m.pes.size()) + " PEs",
         "at most " + std::to_string(UINT16_MAX / m.pes.size()) + " for each"});
  }
  return m;
}

std::vector<register_write> register_writes(const message_install& m, pe_coord pe) {
  const abi::address ring = abi::encode({pe.sip, pe.cube, abi::region::tcm, pe.pe.value, m.tcm_offset});
  return {{abi::tm_ring_base, ring},
          {abi::tm_slot_bytes, m.slot_bytes},
          {abi::tm_slots, m.slots()},
          {abi::tm_peer_credits, m.peer_credits},
          {abi::tm_heap_base, ring + m.slots() * m.slot_bytes},
          {abi::tm_heap_bytes, m.heap_bytes}};
}

}  // namespace diecast::comm
