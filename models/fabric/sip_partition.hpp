// SPDX-License-Identifier: Apache-2.0
// Which of several processes simulates each SIP of a pod, and how far they may run ahead of each other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/fabric/topology.hpp"

namespace diecast::fabric {

struct sip_partition {
  std::uint32_t processes{1};
  std::vector<std::uint32_t> process_of;  ///< by SIP

  [[nodiscard]] std::vector<bool> sips_of(std::uint32_t process) const;
  /// "0-3,6"
  [[nodiscard]] std::string text_of(std::uint32_t process) const;
  [[nodiscard]] bool cuts(const sip_link& link) const {
    return process_of[link.from.sip] != process_of[link.to.sip];
  }
};

/// `text`: --partition, a list of SIPs for each process, or auto: as many PEs for each as whole SIPs allow,
/// and among such partitions few cut links, fast ones rather than slow ones in one process. Throws user_error
/// when a list does not name every SIP once or has another number of processes, or there are more processes
/// than SIPs.
[[nodiscard]] sip_partition partition_sips(const topology& t, const std::string& text,
                                           std::uint32_t processes);

/// The least time from a message's departure to its arrival in another process: that of the cut link with the
/// least latency; never() when no link is cut.
[[nodiscard]] sim_time lookahead_of(const topology& t, const config::machine_config& c,
                                    const sip_partition& p);

}  // namespace diecast::fabric
