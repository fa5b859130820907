// SPDX-License-Identifier: Apache-2.0
// Estimated time of a barrier on an idle machine, from the latencies of its parts, for the choice of `auto`.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "models/comm/patterns.hpp"
#include "models/comm/sync_layout.hpp"
#include "models/config/machine_config.hpp"
#include "models/fabric/topology.hpp"

namespace diecast::cost {

/// Estimates in ns, by barrier_algorithm; infinite for one that cannot run. The radix of group_dissemination
/// is ccl.barrier_radix.
struct barrier_costs {
  std::array<double, 3> ns{};
  [[nodiscard]] double of(comm::barrier_algorithm a) const { return ns[static_cast<std::size_t>(a)]; }
  [[nodiscard]] comm::barrier_algorithm cheapest() const;
  /// "auto: centralized_pull is estimated at 1234 ns, dissemination at 1300, group_dissemination at 1500".
  [[nodiscard]] std::string reason() const;
};

/// `members`: of comm::barrier_members. A signal is a line fetched, changed and written back; a wait that
/// finds its flag set is one read, after half a poll period on average. A round lasts as long as at
/// its slowest rank; reads of one core are sequential. Without contention. `parent_ranks`: of the team whose
/// barriers create this team, which needs flags for the same algorithm; 0 when the host creates it.
[[nodiscard]] barrier_costs barrier_costs_of(const fabric::topology& t, const config::machine_config& c,
                                             const comm::group& members, std::uint32_t parent_ranks = 0);

}  // namespace diecast::cost
