// SPDX-License-Identifier: Apache-2.0
// What the SIPs of a process have counted. Sums are of whole numbers, so that they do not depend on which
// process adds up what.
#pragma once

#include <cstdint>
#include <string>

#include "models/analysis/critical_hops.hpp"
#include "models/cost/energy.hpp"
#include "platforms/run/prepare.hpp"
#include "platforms/run/process_group.hpp"

namespace diecast::platforms {

struct machine_totals {
  std::uint64_t packets{}, hops{}, wakeups{}, routed_hops{}, routed_bytes{};
  std::uint64_t messages{}, message_bytes{}, checked{}, mismatches{};
  std::uint64_t stall_fs{}, wait_fs{}, checksum_fs{};
  std::uint64_t tag_compared{}, tag_busy_fs{};
  std::uint64_t tree_packets{}, tree_copies{}, tree_credits_combined{}, tree_combinations{};
  std::uint64_t unwritten{};    ///< bytes read
  std::uint64_t fingerprint{};  ///< fingerprint of the members' queue engines
  // The largest, not the sum:
  std::uint64_t trees{}, tree_most_bytes{}, tag_most_slots{};
  std::string first_unwritten;
  cost::activity activity;
};

/// Makes rows, totals and hops those of all processes, in the order that one process would have.
void join(process_group& group, const prepared_run& run, run_outcome& o, machine_totals& totals,
          analysis::critical_hops& hops);

}  // namespace diecast::platforms
