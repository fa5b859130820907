// SPDX-License-Identifier: Apache-2.0
// Assigns the SIPs of a pod to processes, and computes how far the processes may run ahead of each other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/fabric/topology.hpp"
#include "models/types/archive.hpp"

namespace diecast::fabric {

struct sip_partition {
  std::uint32_t processes{1};
  std::vector<std::uint32_t> process_of;  ///< by SIP
  DIECAST_MEMBERS(processes, process_of)

  [[nodiscard]] std::vector<bool> sips_of(std::uint32_t process) const;
  /// "0-3,6"
  [[nodiscard]] std::string text_of(std::uint32_t process) const;
  [[nodiscard]] bool cuts(const sip_link& link) const {
    return process_of[link.from.sip] != process_of[link.to.sip];
  }
};

/// `text`: --partition, a list of SIPs for each process, or auto: PEs balanced as far as whole SIPs allow;
/// among such partitions few links are cut, slow links rather than fast ones. Throws user_error when a list
/// does not name every SIP once or has another number of processes, or there are more processes than SIPs.
[[nodiscard]] sip_partition partition_sips(const topology& t, const std::string& text,
                                           std::uint32_t processes);

/// The least time from a message's departure to its arrival in another process: the least latency of the cut
/// links, and of host memory where it is a path between SIPs; never() when nothing is cut.
[[nodiscard]] sim_time lookahead_of(const topology& t, const config::machine_config& c,
                                    const sip_partition& p);

}  // namespace diecast::fabric
