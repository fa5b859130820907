// SPDX-License-Identifier: Apache-2.0
// Rows of the block comm: protection of messages, paths of transfers, firmware forms.
#include "models/config/rows.hpp"

namespace diecast::config {

block_table comm_table() {
  using b = comm_block;
  return rows<b>(&machine_config::comm, "comm", "How messages are protected and transferred.")
      .choice(&b::profile, "profile", {"none", "trusted", "defensive"},
              "Sets path, checksum and deterministic_reduction together, unless set explicitly: trusted "
              "is direct, none, false; defensive is staged, crc32c, true.",
              assumption)
      .choice(
          &b::checksum, "checksum", {"none", "xor64", "crc32c", "end_to_end"},
          "Checksum of every IPCQ packet over payload, sequence number, slot address and offset: made by the "
          "sender's DMA, verified by the receiver's. xor64 misses permutations and pairs of errors. "
          "end_to_end is crc32c and one more checksum per message, computed by firmware over the sender's "
          "and over the receiver's buffer: it covers copies within a PE, too.",
          assumption)
      .real(&b::checksum_gbytes_s, "checksum_gbytes_s", "GB/s", 0.001, 1e6,
            "Rate of the checksum engine at each end; packets pass through it.", assumption)
      .boolean(&b::deterministic_reduction, "deterministic_reduction",
               "Replaces the all-reduce algorithm by p2p_tree.", assumption)
      .choice(&b::path, "path", {"direct", "staged"},
              "Transfers between SIPs: from DMA to DMA, or through host memory.", assumption)
      .real(&b::direct_efficiency, "direct_efficiency", "", 0.001, 1,
            "Share of a SIP link's rate that direct transfers reach.", assumption)
      .choice(&b::sendrecv, "sendrecv", {"one_call", "split"},
              "How firmware sends and receives at once: in one call, or as isend, irecv and waitall, which "
              "costs two more calls. The fault sendrecv_alias affects one_call only.",
              assumption)
      .choice(
          &b::staging, "sendrecv_staging", {"none", "pages"},
          "Whether one_call copies what it sends and receives through TCM pages of its own (ipcq.slot_bytes "
          "per direction; tag-matched messages: heap memory). With comm.path=staged host memory takes their "
          "place.",
          assumption)
      .choice(
          &b::monitor, "mr_cache_monitor", {"enabled", "disabled"},
          "Whether registered memory is cached. If so, the cache's monitor redirects each PE's dispatch "
          "table to stubs, which the fault dispatch_corruption corrupts. If not, the memory of every message "
          "is registered again.",
          assumption)
      .count(&b::registration_cycles, "registration_cycles", "cycles", 0, 1'000'000,
             "comm.mr_cache_monitor disabled: firmware's time to register the memory of a message, for every "
             "send of a queue pair and every tag-matched send and receive.",
             assumption)
      .table();
}

}  // namespace diecast::config
