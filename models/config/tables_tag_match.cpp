// SPDX-License-Identifier: Apache-2.0
// Rows of the block tag_match.
#include "models/config/rows.hpp"

namespace diecast::config {

block_table tag_match_table() {
  using b = tag_match_block;
  constexpr const char* unit_source = "assumption: one comparison per cycle, a few to start";
  return rows<b>(&machine_config::tag_match, "tag_match",
                 "Tag-matched messages between PEs and the unit that matches them. Cycles are of "
                 "noc.clock_ghz.")
      .count(&b::entries, "entries", "", 0, 4096, "Receives that the unit of a PE holds; 0 turns it off.",
             assumption)
      .count(&b::ring_messages, "ring_messages", "", 1, 256,
             "Unexpected messages of each peer that a PE's ring holds: the peer's eager credits.", assumption)
      .count(&b::heap_kib, "heap_kib", "KiB", 0, 65'536,
             "Memory of a PE into which firmware empties a full ring.", assumption)
      .count(&b::eager_bytes, "eager_bytes", "B", 64, 65'536,
             "Longest message that is sent eagerly; longer ones go by rendezvous.", assumption)
      .count(&b::rndv_inline_bytes, "rndv_inline_bytes", "B", 0, 65'536,
             "First bytes of a rendezvous message that travel with its request.", assumption)
      .count(&b::rndv_max_bytes, "rndv_max_bytes", "B", 64, 1ULL << 36,
             "Longest message whose rendezvous the unit does; software reads longer ones.", assumption)
      .count(&b::match_cycles, "match_cycles", "cycles", 1, 10'000, "Cycles of the unit to take a message.",
             unit_source)
      .count(&b::entry_cycles, "entry_cycles", "cycles", 0, 10'000,
             "Cycles of the unit to compare one entry.", unit_source)
      .count(&b::command_cycles, "command_cycles", "cycles", 1, 10'000,
             "Cycles of the unit to execute a command.", unit_source)
      .count(&b::software_entry_cycles, "software_entry_cycles", "cycles", 0, 10'000,
             "Cycles of firmware to compare one element of a list.", assumption)
      .count(&b::offload_min_bytes, "offload_min_bytes", "B", 0, 1ULL << 36,
             "Shorter receives are matched by firmware.", assumption)
      .boolean(&b::offload_wildcards, "offload_wildcards",
               "Receives with wildcards are given to the unit, too.", assumption)
      .count(&b::offload_force_bytes, "offload_force_bytes", "B", 0, 1ULL << 36,
             "A receive this long first gives the unit the receives that wait in firmware.", assumption)
      .table();
}

}  // namespace diecast::config
