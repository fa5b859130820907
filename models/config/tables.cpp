// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "models/config/rows.hpp"

namespace diecast::config {

std::span<const block_table> tables() {
  static const std::array all{
      sim_table(),  pod_table(),       sip_table(), cube_table(), placement_table(), pe_table(),
      ipcq_table(), tag_match_table(), noc_table(), ucie_table(), sip_link_table(),  hbm_table(),
      sram_table(), host_table(),      ccl_table(), comm_table(), energy_table(),    trace_table()};
  return all;
}

block_table energy_table() {
  using b = energy_block;
  constexpr double most = 1e9;
  constexpr const char* pj_byte = "pJ/B";
  constexpr const char* floonoc =
      "FlooNoC (arXiv 2409.17606): 0.15 pJ per byte and hop, router and link, 12 nm, 0.8 V; split: "
      "assumption";
  constexpr const char* horowitz =
      "Horowitz, Computing's energy problem, ISSCC 2014, 45 nm, 0.9 V: 10 pJ per 64-bit access of 8 KB SRAM";
  constexpr const char* operations =
      "Horowitz, Computing's energy problem, ISSCC 2014, 45 nm, 0.9 V: an addition";
  constexpr const char* dram =
      "assumption, so that a stream of whole rows costs what O'Connor et al. (Fine-Grained DRAM, MICRO 2017) "
      "give for HBM2, about 4 pJ/bit";
  return rows<&machine_config::energy>("Energy of what the counters count.")
      .real<&b::router_pj_per_byte>(pj_byte, 0, most, "A byte through a router: buffer and switch.", floonoc)
      .real<&b::link_pj_per_byte>(pj_byte, 0, most, "A byte from router to router.", floonoc)
      .real<&b::dma_pj_per_byte>(pj_byte, 0, most,
                                 "A byte through DMA engine and network interface of a PE, in or out.")
      .real<&b::tcm_pj_per_byte>(pj_byte, 0, most, "A byte read from or written to TCM.", horowitz)
      .real<&b::sram_pj_per_byte>(pj_byte, 0, most, "A byte read from or written to the SRAM of a cube.",
                                  "Horowitz, ISSCC 2014: 20 pJ per 64-bit access of 32 KB")
      .real<&b::hbm_activate_pj>("pJ", 0, most,
                                 "Opening and closing a row of 1 KiB, whatever hbm.page_bytes is.", dram)
      .real<&b::hbm_pj_per_byte>(pj_byte, 0, most,
                                 "A byte read or written: columns, wires on the die, interface.", dram)
      .real<&b::hbm_refresh_pj>("pJ", 0, most,
                                "A refresh of all banks of a pseudo-channel, one row of each; the refresh of "
                                "one bank costs its share.",
                                "32 banks x hbm_activate_pj")
      .real<&b::vector_f16_pj>("pJ", 0, most, "An element of f16 or bf16 through the vector unit.",
                               operations)
      .real<&b::vector_f32_pj>("pJ", 0, most, "An element of f32 through the vector unit.", operations)
      .real<&b::vector_i32_pj>("pJ", 0, most, "An element of i32 through the vector unit.", operations)
      .real<&b::pe_idle_mw>("mW", 0, most, "Power of a PE, busy or idle.")
      .real<&b::cube_idle_mw>("mW", 0, most,
                              "Power of a cube without its PEs: NoC, memory controllers, adapters.")
      .table();
}

// Rows of the block tag_match.

block_table tag_match_table() {
  using b = tag_match_block;
  constexpr const char* unit_source = "assumption: one comparison per cycle, a few to start";
  return rows<&machine_config::tag_match>(
             "Tag-matched messages between PEs and the unit that matches them. Cycles are of noc.clock_ghz.")
      .count<&b::entries>("", 0, 4096, "Receives that the unit of a PE holds; 0 turns it off.")
      .count<&b::ring_messages>(
          "", 1, 256, "Unexpected messages of each peer that a PE's ring holds: the peer's eager credits.")
      .count<&b::heap_kib>("KiB", 0, 65'536, "Memory of a PE into which firmware empties a full ring.")
      .count<&b::eager_bytes>("B", 64, 65'536,
                              "Longest message that is sent eagerly; longer ones go by rendezvous.")
      .count<&b::rndv_inline_bytes>("B", 0, 65'536,
                                    "First bytes of a rendezvous message that travel with its request.")
      .count<&b::rndv_max_bytes>(
          "B", 64, 1ULL << 36, "Longest message whose rendezvous the unit does; software reads longer ones.")
      .count<&b::match_cycles>("cycles", 1, 10'000, "Cycles of the unit to take a message.", unit_source)
      .count<&b::entry_cycles>("cycles", 0, 10'000, "Cycles of the unit to compare one entry.", unit_source)
      .count<&b::command_cycles>("cycles", 1, 10'000, "Cycles of the unit to execute a command.", unit_source)
      .count<&b::software_entry_cycles>("cycles", 0, 10'000,
                                        "Cycles of firmware to compare one element of a list.")
      .count<&b::offload_min_bytes>("B", 0, 1ULL << 36, "Shorter receives are matched by firmware.")
      .boolean<&b::offload_wildcards>("Receives with wildcards are given to the unit, too.")
      .count<&b::offload_force_bytes>(
          "B", 0, 1ULL << 36, "A receive this long first gives the unit the receives that wait in firmware.")
      .table();
}

// Rows of the block comm: protection of messages, paths of transfers, firmware forms.

block_table comm_table() {
  using b = comm_block;
  return rows<&machine_config::comm>("How messages are protected and transferred.")
      .choice<&b::profile>(
          "Sets path, checksum and deterministic_reduction together, unless set explicitly: trusted is "
          "direct, none, false; defensive is staged, crc32c, true.")
      .choice<&b::checksum>(
          "Checksum of every IPCQ packet over payload, sequence number, slot address and offset: made by the "
          "sender's DMA, verified by the receiver's. xor64 misses permutations and pairs of errors. "
          "end_to_end is crc32c and one more checksum per message, computed by firmware over the sender's "
          "and over the receiver's buffer: it covers copies within a PE, too.")
      .real<&b::checksum_gbytes_s>("GB/s", 0.001, 1e6,
                                   "Rate of the checksum engine at each end; packets pass through it.")
      .boolean<&b::deterministic_reduction>("Replaces the all-reduce algorithm by p2p_tree.")
      .choice<&b::path>("Transfers between SIPs: from DMA to DMA, or through host memory.")
      .real<&b::direct_efficiency>("", 0.001, 1, "Share of a SIP link's rate that direct transfers reach.")
      .choice<&b::sendrecv>(
          "How firmware sends and receives at once: in one call, or as isend, irecv and waitall, which costs "
          "two more calls. The fault sendrecv_alias affects one_call only.")
      .choice<&b::staging>(
          "Whether one_call copies what it sends and receives through TCM pages of its own (ipcq.slot_bytes "
          "per direction; tag-matched messages: heap memory). With comm.path=staged host memory takes their "
          "place.")
      .named("sendrecv_staging")
      .choice<&b::monitor>(
          "Whether registered memory is cached. If so, the cache's monitor redirects each PE's dispatch "
          "table to stubs, which the fault dispatch_corruption corrupts. If not, the memory of every message "
          "is registered again.")
      .named("mr_cache_monitor")
      .count<&b::registration_cycles>(
          "cycles", 0, 1'000'000,
          "comm.mr_cache_monitor disabled: firmware's time to register the memory of a message, for every "
          "send of a queue pair and every tag-matched send and receive.")
      .table();
}

}  // namespace diecast::config
