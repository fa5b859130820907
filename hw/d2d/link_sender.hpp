// SPDX-License-Identifier: Apache-2.0
// Sending half of a die-to-die or SIP-to-SIP link: packets from the lanes' NoC terminals are stored
// whole, then sent one after the other at the link's own rate, each with the credits of its VC.
#pragma once

#include <cstdint>
#include <vector>

#include "hw/base/packet.hpp"
#include "hw/base/queue_set.hpp"
#include "models/fabric/topology.hpp"
#include "models/timing/link.hpp"

namespace diecast::hw {

/// What both halves of a link are built from.
struct link_parameters {
  std::uint32_t lanes{};
  timing::link_timing timing;
  std::uint64_t ni_in_cycles{};
  std::uint64_t credit_cycles{};
  std::vector<std::uint32_t> link_buffer;  ///< per VC, in NoC flits: receive buffer at the far end
  std::vector<std::uint32_t> noc_buffer;   ///< per VC: the NoC's buffer behind a lane terminal
};

/// Throws user_error when the latency of the link is below one NoC cycle (`key` names it).
[[nodiscard]] link_parameters ucie_parameters(const fabric::topology& t, const config::machine_config& c,
                                              std::uint32_t lanes);
[[nodiscard]] link_parameters sip_link_parameters(const fabric::topology& t, const config::machine_config& c);

struct link_counters {
  std::uint64_t evaluations{};  ///< instants at which the free link chose among packets that were here
  std::uint64_t packets{};
  std::uint64_t flits{};
  sim_time busy;
  sim_time credit_stall;  ///< idle although a packet was ready, for want of credits
};

/// Arbitration is per packet: class sideband first, so that a credit waits for one packet at most, then
/// round robin over (VC, lane).
class link_sender {
 public:
  class owner {
   public:
    virtual ~owner() = default;
    virtual void transmit(packet_ptr p, std::uint8_t lane, std::uint8_t vc, sim_time start,
                          const timing::span& arrival) = 0;
    /// To the NoC: `flits` of the lane's receive buffer are usable again at `usable`.
    virtual void return_noc_credit(std::uint8_t lane, std::uint8_t vc, std::uint32_t flits,
                                   sim_time usable) = 0;
  };

  link_sender(const fabric::topology& topology, const link_parameters& parameters, owner& o);

  /// The packet is here at `tail`; act() must run then.
  void arrived(std::uint8_t lane, packet_ptr p, std::uint8_t vc, sim_time tail);
  /// Link credits usable from `at` on; act() must run then.
  void credit(std::uint8_t vc, std::uint32_t flits, sim_time at);
  /// Sends what can start now; returns when something might start next as far as is known.
  [[nodiscard]] sim_time act(sim_time now);

  /// True when no packet waits here: credits then wake nobody.
  [[nodiscard]] bool idle() const { return queues_.empty(); }
  /// End of the transfer in progress or of the last one.
  [[nodiscard]] sim_time busy_until() const { return free_; }
  [[nodiscard]] const link_counters& statistics() const { return counters_; }
  [[nodiscard]] bool quiescent() const;

 private:
  struct stored {
    packet_ptr p;
    sim_time tail;
  };
  struct returning_credit {
    sim_time at;
    std::uint8_t vc;
    std::uint32_t flits;
  };
  [[nodiscard]] std::uint8_t vc_of(std::uint32_t queue) const {
    return static_cast<std::uint8_t>(queue / lanes_);
  }
  [[nodiscard]] bool any_arrived(sim_time now) const;
  [[nodiscard]] bool ready(std::uint32_t queue, sim_time now) const;
  [[nodiscard]] std::uint32_t choose(sim_time now) const;
  void take_credits(sim_time now);
  void start(std::uint32_t queue, sim_time now);
  [[nodiscard]] sim_time next_chance(sim_time now) const;

  const timing::link_timing timing_;
  const std::uint32_t lanes_;
  const std::uint64_t credit_cycles_;
  owner& owner_;
  const std::vector<std::uint32_t> buffer_;
  std::uint32_t sideband_begin_;  ///< queues of class sideband
  std::uint32_t sideband_end_;
  queue_set<stored> queues_;  ///< [VC][lane]
  std::vector<std::uint32_t> credits_;
  std::vector<returning_credit> returning_;
  sim_time free_;
  std::uint32_t last_{};
  std::uint32_t last_sideband_{};
  sim_time evaluated_{sim_time::never()};
  link_counters counters_;
};

}  // namespace diecast::hw
