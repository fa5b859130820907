// SPDX-License-Identifier: Apache-2.0
// Finds runs in which nothing moves although events never run out: firmware that polls. Looked at
// between slices of the simulation, so it costs the machine no event.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>

#include "models/types/time.hpp"
#include "platforms/netlist/pod.hpp"

namespace diecast::platforms {

/// State of the SIPs of a process at one time.
struct movement {
  std::uint64_t watched{};       ///< 1: firmware polls words of global memory
  std::uint64_t packets_move{};  ///< 1: a packet is in flight that no core's access sent
  std::uint64_t kernels_run{};   ///< 1: a PE runs one
  std::uint64_t moves{},
      moves_watched{};  ///< sums of counters that only rise: of all, of those that polling leaves
  sim_time busy_until;
};
/// Combines the states of all processes; empty: there is no other process.
using movement_join = std::function<movement(const movement&)>;

class watchdog {
 public:
  /// `patience`: time without movement after which a run is taken for a deadlock (sim.watchdog_us), but
  /// never less than twice the machine's longest step (fabric::longest_step).
  watchdog(netlist::pod& pod, sim_time patience, sim_time longest_step, movement_join join = {})
      : pod_(pod), patience_(std::max(patience, longest_step * 2)), join_(std::move(join)) {}

  [[nodiscard]] sim_time patience() const { return patience_; }

  /// True when nothing has moved for that long. While firmware polls words of global memory, its own packets
  /// are no movement; every other packet in flight is. Descriptors, tokens, credits, packets at blocks, in
  /// routers and on links between dies and packages, copies, vector operations, steps and changes of state
  /// are movement, and so is timed work (a long computation, the wait for a common start) until it ends.
  /// While no PE runs a kernel, hosts do, and nobody polls.
  [[nodiscard]] bool starved(sim_time now);

 private:
  [[nodiscard]] movement look() const;
  [[nodiscard]] bool watched() const;
  [[nodiscard]] bool packets_move() const;
  [[nodiscard]] std::uint64_t moves(bool watched) const;
  [[nodiscard]] sim_time busy_until() const;
  [[nodiscard]] bool kernels_run() const;

  netlist::pod& pod_;
  sim_time patience_;
  movement_join join_;
  sim_time next_look_;
  sim_time moved_at_;
  std::uint64_t moves_{};
};

}  // namespace diecast::platforms
