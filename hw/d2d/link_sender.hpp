// SPDX-License-Identifier: Apache-2.0
// Sending half of a die-to-die or SIP-to-SIP link: packets from the ports' NoC terminals are stored
// whole, then sent at the link's own rate, each with the credits of its VC. Packets of one class follow
// each other; classes interleave flit by flit. The wire itself, its frames, errors and replays are
// timing::flit_line.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "hw/base/packet.hpp"
#include "hw/base/queue_set.hpp"
#include "models/config/comm_block.hpp"
#include "models/fabric/topology.hpp"
#include "models/timing/flit_line.hpp"
#include "models/types/time.hpp"

namespace diecast::hw {

// Counts checksum and order errors of the packets that pass one end of a link. The difference between the two
// ends shows whether the link caused them.

class link_monitor {
 public:
  /// Compares checksums and order only where packets carry checksums, and only of packets that belong to a
  /// flow. Answers to a tag-matching unit's reads do not: they have the numbers of the requests.
  explicit link_monitor(config::packet_checksum checksum) : checksum_(checksum) {}

  /// `at`: time at which the first flit reaches the receiving end; the sending end gives the computed time.
  void pass(const packet& p, sim_time at);

  struct counters {
    sim_time oldest_credit;        ///< longest time from the release of a credit to its arrival
    std::uint64_t corrupted{};     ///< packets of messages whose checksum is wrong
    std::uint64_t out_of_order{};  ///< message packets that do not follow the previous one of their flow
  };
  [[nodiscard]] const counters& seen() const { return seen_; }

 private:
  /// Packets of one queue pair, or of one pair of tag-matching units.
  struct flow {
    abi::node_address source, destination;
    abi::packet_kind kind{};
    pe_coord sender;
    std::uint16_t direction{};
    auto operator<=>(const flow&) const = default;
  };
  /// Number of a message or packet, and the offset within it.
  struct place {
    std::uint64_t number{};
    std::uint64_t offset{};
    auto operator<=>(const place&) const = default;
  };
  [[nodiscard]] bool follows(const abi::packet_header& h);

  config::packet_checksum checksum_;
  std::map<flow, place> next_;
  counters seen_;
};

/// Parameters of both halves of a link.
struct link_parameters {
  std::uint32_t ports{};
  timing::line_parameters line;
  std::uint64_t seed{};
  std::string path;                    ///< instance path of the sending end; keys its bit errors
  double pj_per_bit{};                 ///< energy on the wire
  config::packet_checksum checksum{};  ///< checksum that packets of messages carry
  std::uint64_t ni_in_cycles{};
  std::uint64_t credit_cycles{};
  std::vector<std::uint32_t> link_buffer;  ///< per VC, in NoC flits: receive buffer at the far end
  std::vector<std::uint32_t> noc_buffer;   ///< per VC: the NoC's buffer behind a port terminal
};

/// Parameters of the link on a side of a cube. Throws user_error when its latency is below one NoC cycle or
/// its buffer cannot hold a packet.
[[nodiscard]] link_parameters ucie_parameters(const fabric::topology& t, const config::machine_config& c,
                                              sip_id sip, cube_id cube, fabric::side edge,
                                              std::uint32_t ports);
/// Parameters of a SIP link by its index; throws user_error as ucie_parameters() does.
[[nodiscard]] link_parameters sip_link_parameters(const fabric::topology& t, const config::machine_config& c,
                                                  std::uint32_t link);

struct link_counters {
  std::uint64_t evaluations{};  ///< packets chosen, and once more each that waited for credits
  std::uint64_t packets{};
  std::uint64_t payload_bytes{};  ///< bytes of packets without their header flits
  sim_time credit_stall;          ///< idle although a packet was ready, without credits
};

/// One packet starts at a time. Of those whose class is free: class sideband first, then round robin over
/// (VC, port).
class link_sender {
 public:
  class owner {
   public:
    virtual ~owner() = default;
    virtual void transmit(packet_ptr p, std::uint8_t port, std::uint8_t vc, sim_time start,
                          const timing::flit_line::transfer& t) = 0;
    /// Returns a credit to the NoC: `flits` of the port's receive buffer are usable again at `usable`.
    virtual void return_noc_credit(std::uint8_t port, std::uint8_t vc, std::uint32_t flits,
                                   sim_time usable) = 0;
  };

  link_sender(const fabric::topology& topology, const link_parameters& parameters, owner& o);

  /// The packet is here at `tail`; act() must run then.
  void arrived(std::uint8_t port, packet_ptr p, std::uint8_t vc, sim_time tail);
  /// Link credits usable from `at` on; act() must run then.
  void credit(std::uint8_t vc, std::uint32_t flits, sim_time at);
  /// Sends what can start now; returns when something might start next as far as is known.
  [[nodiscard]] sim_time act(sim_time now);

  /// True when no packet waits here: credits then wake no module.
  [[nodiscard]] bool idle() const { return queues_.empty(); }
  /// Credits at the start, flits per VC.
  [[nodiscard]] const std::vector<std::uint32_t>& initial_credits() const { return buffer_; }
  [[nodiscard]] const link_counters& statistics() const { return counters_; }
  [[nodiscard]] const timing::line_counters& line_statistics() const { return line_.statistics(); }
  /// Counts of the packets that leave.
  [[nodiscard]] const link_monitor::counters& seen() const { return monitor_.seen(); }
  /// Energy of all bits that were on the wire, those sent again included.
  [[nodiscard]] double energy_pj() const;
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
    return static_cast<std::uint8_t>(queue / ports_);
  }
  /// Time at which each class may start its next packet, computed once per instant.
  using class_times = std::array<sim_time, abi::traffic_classes>;
  [[nodiscard]] class_times free_classes(sim_time now) const;
  [[nodiscard]] unsigned class_of(std::uint32_t queue) const {
    return static_cast<unsigned>(topology_.class_of(vc_of(queue)));
  }
  [[nodiscard]] std::uint32_t choose(sim_time now, const class_times& free) const;
  void take_credits(sim_time now);
  void start(std::uint32_t queue, sim_time now);
  [[nodiscard]] sim_time next_chance(sim_time now, const class_times& free) const;

  const fabric::topology& topology_;
  const timing::link_timing timing_;
  const std::uint32_t ports_;
  const std::uint64_t credit_cycles_;
  owner& owner_;
  const std::vector<std::uint32_t> buffer_;
  std::uint32_t sideband_begin_;  ///< queues of class sideband
  std::uint32_t sideband_end_;
  queue_set<stored> queues_;  ///< [VC][port]
  std::vector<std::uint32_t> credits_;
  std::vector<returning_credit> returning_;
  timing::flit_line line_;
  const double pj_per_bit_;
  link_monitor monitor_;
  std::uint32_t last_{};
  std::uint32_t last_sideband_{};
  link_counters counters_;
};

}  // namespace diecast::hw
