// SPDX-License-Identifier: Apache-2.0
// Rows of the block comm: protection of messages, paths of transfers, firmware forms.
#include "models/config/rows.hpp"

namespace diecast::config {

block_table comm_table() {
  using b = comm_block;
  return rows<b>(&machine_config::comm, "comm", "How messages are protected and transferred.")
      .choice(&b::profile, "profile", {"none", "trusted", "defensive"},
              "Sets path, checksum and deterministic_reduction together, below values written out: trusted "
              "is direct, none, false; defensive is staged, crc32c, true.",
              assumption)
      .choice(&b::checksum, "checksum", {"none", "xor64", "crc32c"},
              "Checksum of every IPCQ packet over payload, sequence number, slot address and offset: made by "
              "the sender's DMA, verified by the receiver's. xor64 misses permutations and pairs of errors.",
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
              "How firmware sends and receives at a time: in one call, or as isend, irecv and waitall, which "
              "costs two "
              "calls more. The fault sendrecv_alias is one of the one call.",
              assumption)
      .choice(&b::monitor, "mr_cache_monitor", {"enabled", "disabled"},
              "Whether the monitor of the registration cache patches the firmware's dispatch table at "
              "start-up. The "
              "fault dispatch_corruption is one of the monitor; else the key changes nothing.",
              assumption)
      .table();
}

}  // namespace diecast::config
