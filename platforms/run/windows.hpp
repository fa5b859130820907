// SPDX-License-Identifier: Apache-2.0
// Runs this process's part of a pod together with the others. In a window every process simulates alone:
// messages of others in it arrive after its end, as the window is not longer than the latency of any link
// between processes. Between windows processes exchange the messages of these links.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <vector>

#include "hw/base/fault_sink.hpp"
#include "hw/d2d/sip_message.hpp"
#include "models/analysis/critical_path.hpp"
#include "models/fabric/sip_partition.hpp"
#include "models/types/immovable.hpp"
#include "platforms/netlist/pod.hpp"
#include "platforms/run/host_side.hpp"
#include "platforms/run/kernel.hpp"
#include "platforms/run/prepare.hpp"
#include "platforms/run/process_group.hpp"

namespace diecast::platforms {

class run_observers;

/// Host time spent on windows, for measurements.
struct window_counts {
  std::uint64_t windows{}, idle{};  ///< idle: this process had no event in it
  double simulate_s{}, exchange_s{};
};

class windows : immovable {
 public:
  windows(process_group& group, const fabric::sip_partition& partition, const prepared_run& run);

  /// For the links that are cut and for staging between processes; before the netlist is built.
  [[nodiscard]] hw::boundary_outlet outlet();
  /// As run_slices(), of all processes together: each returns the same. All clocks then show the same time.
  [[nodiscard]] end_of_run play(netlist::pod& pod, const host_side& hosts, thread_agreement& agreement,
                                run_observers& watching, const hw::fault_sink& faults,
                                const std::function<bool()>& stuck);
  [[nodiscard]] const window_counts& counts() const { return counts_; }

 private:
  void find_neighbors(const analysis::critical_hops& hops);
  void send(std::uint32_t to, std::uint32_t channel, const std::vector<std::byte>& bytes);
  template <class Listener>
  void send_leaving(std::uint32_t channel, Listener& from);
  void exchange(netlist::pod& pod, run_observers& watching);
  void deliver(const std::vector<std::byte>& mail, netlist::pod& pod, run_observers& watching) const;
  [[nodiscard]] process_state own_state(const host_side& hosts, const hw::fault_sink& faults) const;
  /// Resumes hosts once all of them wait; false otherwise.
  [[nodiscard]] bool start_hosts(const std::vector<process_state>& all) const;
  void simulate(sim_time until, sim_time hosts_may_come);

  process_group& group_;
  const fabric::sip_partition& partition_;
  const prepared_run& run_;
  thread_agreement* agreement_{};  ///< set by play()
  sim_time lookahead_;
  std::set<std::uint32_t> neighbors_;
  std::vector<std::vector<std::byte>> outgoing_;  ///< by process
  window_counts counts_;
};

}  // namespace diecast::platforms
