// SPDX-License-Identifier: Apache-2.0
// Ranks and teams as firmware sees them: a rank is a group of PEs (its cores) that arrive as one, a team
// is an ordered set of ranks with a slot of flags in each member's memory.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "models/abi/hal.hpp"
#include "models/comm/sync_layout.hpp"
#include "sw/runtime/signals.hpp"

namespace diecast::sw {

/// Somebody with a home region: a core, or the first core of a rank.
struct sync_peer {
  abi::address home{};
  pe_coord pe;
};

/// The cores of this PE's rank, and the barrier among them: dissemination, ceil(log2 cores) rounds.
class core_group {
 public:
  /// `me` indexes `cores`. `counter_offset`: a word of local TCM that counts the core barriers of this PE,
  /// also from one kernel to the next. Traps when there are more cores than the flags serve.
  core_group(abi::hal& hal, signal_port& signals, std::vector<sync_peer> cores, std::uint32_t me,
             std::uint64_t counter_offset);

  /// Is told of each wait before it begins: its round, and whose signal ends it.
  using before_wait = std::function<void(std::uint32_t round, pe_coord from)>;
  void barrier(const before_wait& tell);
  /// Core `core` of the rank whose first core is `first`: as far from it as here. For reports only.
  [[nodiscard]] pe_coord neighbor(pe_coord first, std::uint32_t core) const;
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(cores_.size()); }
  [[nodiscard]] std::uint32_t me() const { return me_; }

 private:
  abi::hal& hal_;
  signal_port& signals_;
  std::vector<sync_peer> cores_;
  std::uint32_t me_;
  std::uint64_t counter_offset_;
  std::uint32_t counter_{};
};

/// A team, as one of its members knows it.
struct team {
  std::vector<sync_peer> members;  ///< in team order
  std::uint32_t me{};              ///< index of this rank
  std::uint32_t slot{};            ///< slot of its flags, the same at every member

  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(members.size()); }
  [[nodiscard]] abi::address counter() const { return comm::team_counter(members[me].home, slot); }
};

}  // namespace diecast::sw
