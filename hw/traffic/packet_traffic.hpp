// SPDX-License-Identifier: Apache-2.0
// Sources and sinks of all nodes of a network study in one module: at most one activation per cycle, for any
// number of nodes.
//
// A packet is made in its cycle and waits in a queue of its node without bound. With virtual cut-through the
// first in the queue enters the NoC when a VC it may take has room for all of it and the packet before it has
// left, one flit per cycle. With wormhole switching the NoC's network interface holds the queue and sends
// flits; as it accepts every packet, packets are passed to it up to `cycles_ahead` cycles before they are
// made, in fewer activations. Sinks take one flit per cycle and return its credit at once.
//
// Latency is from the cycle a packet is made in to the arrival of its last flit, queue included.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <queue>
#include <systemc>
#include <vector>

#include "hw/base/agenda.hpp"
#include "hw/base/fabric_socket.hpp"
#include "hw/base/fault_sink.hpp"
#include "models/analysis/latency_histogram.hpp"
#include "models/config/machine_config.hpp"
#include "models/fabric/router_grid.hpp"
#include "models/fabric/topology.hpp"
#include "models/traffic/packet_arrivals.hpp"

namespace diecast::hw {

class packet_traffic : public sc_core::sc_module, private fabric_owner {
 public:
  /// Cycles [first, end) in which packets made are measured, and deliveries counted as throughput.
  struct interval {
    std::uint64_t first{};
    std::uint64_t end{UINT64_MAX};  ///< one past the last cycle; at least `first`
    [[nodiscard]] bool holds(std::uint64_t cycle) const {
      return cycle - first < end - first;  // wraps before the first
    }
  };
  struct results {
    std::uint64_t made{}, delivered{};  ///< packets of the whole run, with those passed on early
    std::uint64_t measured_made{}, measured_made_flits{};  ///< made in the interval
    std::uint64_t measured_hops{};                         ///< links on their routes
    std::uint64_t flits_taken{};  ///< flits of all packets whose tail arrived in the interval
    std::uint64_t latency_sum{};  ///< cycles, of those in `latencies`
    /// Latencies of measured packets; cycles, counted as femtoseconds.
    analysis::latency_histogram latencies;
    std::uint64_t last_tail{};    ///< cycle
    std::uint64_t fingerprint{};  ///< hash of all deliveries, in any order
  };

  /// A network study's topology; it and what else is passed by reference outlive the module.
  packet_traffic(sc_core::sc_module_name name, const fabric::topology& topology,
                 const config::machine_config& config, traffic::packet_arrivals& arrivals, packet_pool& pool,
                 interval measured, fault_sink& faults);

  [[nodiscard]] fabric_target_socket& noc_socket(std::uint32_t node) { return ends_.at(node).socket; }

  /// Called for every packet delivered, with its VC and the cycle of its tail.
  using delivery_observer = std::function<void(const packet&, std::uint8_t vc, std::uint64_t tail)>;
  void observe(delivery_observer observer) { observer_ = std::move(observer); }

  [[nodiscard]] const results& statistics() const { return results_; }
  [[nodiscard]] std::uint64_t measured_in_flight() const {
    return results_.measured_made - results_.latencies.count();
  }
  /// Sum of the ages at `cycle` of measured packets that have not arrived. Precondition: no measured packet
  /// is made after `cycle`.
  [[nodiscard]] std::uint64_t measured_age(std::uint64_t cycle) const {
    return measured_in_flight() * cycle - (measured_made_sum_ - measured_done_sum_);
  }
  /// Packets not handed to the NoC yet.
  [[nodiscard]] std::uint64_t waiting() const { return waiting_; }
  /// True when nothing waits and the NoC has returned every credit.
  [[nodiscard]] bool quiescent() const;

 private:
  static constexpr std::uint32_t none = UINT32_MAX;
  static constexpr std::uint64_t cycles_ahead = 15;

  struct queued {
    traffic::packet_arrival what;
    std::uint64_t sequence;
  };
  struct source {
    std::deque<queued> queue;   ///< packets that wait
    std::uint64_t free_from{};  ///< cycle in which the next packet may start
    std::uint64_t sequence{};
    std::uint64_t due{UINT64_MAX};  ///< cycle of its entry in due_
    std::uint8_t last_vc{};
    fabric::router_index router{};
    fabric_target* out{};
  };
  struct due_node {
    std::uint64_t cycle;
    std::uint32_t node;
    bool operator>(const due_node& o) const { return cycle != o.cycle ? cycle > o.cycle : node > o.node; }
  };
  struct returning_credit {
    std::uint64_t cycle;
    std::uint32_t node_vc;
    std::uint32_t flits;
    bool operator>(const returning_credit& o) const { return cycle > o.cycle; }
  };

  void on_packet(unsigned port, packet_ptr&& p, const fabric_phase& phase) override;
  void on_credit(unsigned port, const fabric_phase& phase) override;
  void start_of_simulation() override { wake_.set(now()); }
  void act();
  void serve();
  void make_packets(std::uint64_t cycle);
  void take_credits(std::uint64_t cycle);
  void try_send(std::uint32_t n, std::uint64_t cycle);
  [[nodiscard]] std::uint32_t choose_vc(const source& from, std::uint32_t n, fabric::vc_set vcs,
                                        std::uint32_t flits) const;
  void enqueue(std::uint64_t cycle);
  void send(std::uint32_t n, std::uint8_t vc, std::uint64_t cycle);
  void hand_over(const traffic::packet_arrival& what, std::uint64_t sequence, std::uint8_t vc,
                 std::uint64_t cycle);
  [[nodiscard]] fabric::vc_set vcs_for(const traffic::packet_arrival& what) const;
  void schedule(std::uint32_t n, std::uint64_t cycle);
  void wake_at(std::uint64_t cycle);

  const fabric::topology& topology_;
  const fabric::router_grid& grid_;  ///< grid of topology_
  traffic::packet_arrivals& arrivals_;
  packet_pool& pool_;
  fault_sink& faults_;
  const interval measured_;
  const clock_domain clock_;
  const std::uint64_t ni_in_cycles_;
  const std::uint64_t credit_cycles_;
  const bool wormhole_;
  const std::uint32_t vcs_;
  const std::uint32_t room_;  ///< size of the NoC's buffer for a terminal, flits per VC
  traffic::packet_arrival next_;
  bool more_{};
  std::vector<source> nodes_;
  std::vector<std::uint32_t> credits_;  ///< [node][VC]
  std::uint64_t waiting_{};
  template <class Entry>
  using earliest_first = std::priority_queue<Entry, std::vector<Entry>, std::greater<>>;
  earliest_first<due_node> due_;
  earliest_first<returning_credit> returning_;
  std::uint64_t measured_made_sum_{},
      measured_done_sum_{};  ///< sums of the cycles in which packets were made and done
  std::uint64_t armed_{UINT64_MAX};
  alarm wake_{*this, [this] { act(); }};
  std::deque<fabric_target> ends_;
  delivery_observer observer_;
  results results_;
};

}  // namespace diecast::hw
