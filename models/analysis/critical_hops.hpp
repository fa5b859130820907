// SPDX-License-Identifier: Apache-2.0
// Length of the longest chain of dependent messages, counted from events.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "models/comm/install_plan.hpp"
#include "models/events/events.hpp"

namespace diecast::analysis {

/// Longest chains that end at a PE: hops between cubes and hops between SIPs.
struct hop_depth {
  std::uint32_t cube{};
  std::uint32_t sip{};
  bool operator==(const hop_depth&) const = default;
};

/// Follows every message from its departure to the instant it becomes visible. A message carries its
/// sender's depth at departure; a PE's depth is the largest that any message brought it, plus one
/// when that message was a hop of the level: cube, a message in direction N, S, E or W between two
/// cubes; sip, any message between two SIPs. Messages in other directions carry the depth on.
class critical_hops : public events::observer {
 public:
  /// The plan pairs receive and transmit directions.
  explicit critical_hops(const comm::install_plan& plan);

  using events::observer::on;
  void on(const events::message_event& e) override;

  [[nodiscard]] std::uint32_t cube_hops() const { return longest_.cube; }
  [[nodiscard]] std::uint32_t sip_hops() const { return longest_.sip; }
  [[nodiscard]] hop_depth of(pe_coord pe) const;
  /// Messages that became visible where the plan does not expect them (sender matching does that);
  /// unless it is 0 the counts miss chains.
  [[nodiscard]] std::uint64_t unmatched() const { return unmatched_; }
  /// A message in flight to a SIP of another process, which must be informed.
  struct carried {
    sip_id to;
    std::uint32_t receiver{}, sequence{};
    std::uint64_t launch{};
    hop_depth depth;
  };
  /// SIPs of this process; messages to others are kept for take_leaving().
  void set_here(std::function<bool(sip_id)> here) { here_ = std::move(here); }
  /// Calls visit(sip_id from, sip_id to) for each direction of a message.
  template <class Visit>
  void visit_paths(Visit visit) const {
    for (const path& p : paths_) visit(p.from.sip, receivers_[p.receiver].pe.sip);
  }
  [[nodiscard]] std::vector<carried> take_leaving() { return std::exchange(leaving_, {}); }
  /// A message of a launch that has not begun here waits for reset(); one of an earlier launch is forgotten.
  void arrive(const carried& c);
  /// What another process has found.
  void merge(hop_depth longest, std::uint64_t unmatched);
  /// Forgets all chains, for the next collective on the same machine.
  void reset();

 private:
  struct path {
    pe_coord from;
    comm::direction dir{};
    std::uint32_t receiver{};  ///< index into the plan's receive halves
    bool between_cubes{}, between_sips{};
  };
  struct receiver {
    pe_coord pe;
    comm::direction dir{};
  };
  [[nodiscard]] const receiver* receiver_at(pe_coord pe, comm::direction dir) const;

  std::vector<receiver> receivers_;  ///< by PE, direction
  std::vector<path> paths_;          ///< by PE, direction; of a multicast one for each receiver
  std::map<pe_coord, hop_depth> depths_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, hop_depth> in_flight_;  ///< by receiver, sequence
  std::function<bool(sip_id)> here_;
  std::vector<carried> leaving_, early_;
  std::uint64_t launch_{};  ///< counts calls of reset()
  hop_depth longest_;
  std::uint64_t unmatched_{};
};

}  // namespace diecast::analysis
