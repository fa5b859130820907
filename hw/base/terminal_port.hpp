// SPDX-License-Identifier: Apache-2.0
// A block's side of one NoC terminal: a send queue per class, serialization into flits, credits in both
// directions, delivery of whole packets. PEs, memories and CPUs attach to the NoC through one each.
#pragma once

#include <algorithm>
#include <array>
#include <boost/container/deque.hpp>
#include <cstdint>
#include <systemc>
#include <tuple>
#include <vector>

#include "hw/base/agenda.hpp"
#include "hw/base/fabric_socket.hpp"
#include "hw/base/time.hpp"
#include "models/abi/wire.hpp"
#include "models/config/machine_config.hpp"
#include "models/fabric/topology.hpp"
#include "models/timing/link.hpp"
#include "models/timing/shared_link.hpp"

namespace diecast::hw {

/// Packets and flits that a terminal has received, by source. With the routes of the topology this gives the
/// flits that every link must have carried, independently of the counters of links.
class source_tally {
 public:
  struct row {
    abi::node_address source;
    std::uint64_t packets{};
    std::uint64_t flits{};
  };
  void add(const abi::node_address& source, std::uint32_t flits) {
    auto at = std::ranges::lower_bound(rows_, source, {}, &row::source);
    if (at == rows_.end() || at->source != source) at = rows_.insert(at, {source, 0, 0});
    ++at->packets;
    at->flits += flits;
  }
  /// In order of source.
  [[nodiscard]] const std::vector<row>& rows() const { return rows_; }

 private:
  std::vector<row> rows_;
};

class terminal_port : public sc_core::sc_module, private fabric_owner {
 public:
  /// The block behind the port.
  class client {
   public:
    virtual ~client() = default;
    /// The last flit of `p` is here now (called at that instant, in order per VC; packets of one
    /// instant come in VC order). The port's buffer stays occupied until release(vc, flits).
    virtual void on_packet(const packet_ptr& p, std::uint8_t vc) = 0;
    /// A packet of class `c` has left the send queue: its first flit enters the NoC now.
    virtual void on_sent(abi::traffic_class c) = 0;
  };

  terminal_port(sc_core::sc_module_name name, const fabric::topology& topology,
                const config::machine_config& config, abi::node_address self, client& owner);

  [[nodiscard]] fabric_target_socket& noc_socket() { return noc_.socket; }

  /// Whether the packet goes through host memory: data for another SIP, where comm.path is staged.
  [[nodiscard]] bool stages(const abi::packet_header& h) const {
    return staged_ && !h.staged.set && !abi::is_tree(h.destination) && h.destination.sip != self_.sip &&
           abi::is_staged_kind(h);
  }
  /// Queues a packet; header.source, flits (from header.payload_bytes) and created are set here.
  /// Leaves at the first clock edge, one cycle or more from now, at which the link is free and the NoC
  /// has room for all of it: one flit per cycle, classes served round robin per packet, first in first
  /// out within a class; a packet of another class may start while a long one is in transfer (see
  /// models/timing/shared_link.hpp). Throws protocol_error for a packet no buffer could ever hold.
  void send(packet_ptr p);
  /// Sends in a class chosen by the caller, for packets of kind synthetic.
  void send(packet_ptr p, abi::traffic_class c);
  /// Packets of a class still waiting to enter the NoC.
  [[nodiscard]] std::size_t waiting(abi::traffic_class c) const;
  /// Frees buffer space of a packet delivered by on_packet; the NoC sees it credit_cycles later.
  void release(std::uint8_t vc, std::uint32_t flits);

  [[nodiscard]] std::uint64_t packets_sent() const { return packets_sent_; }
  [[nodiscard]] std::uint64_t packets_received() const { return packets_received_; }
  /// Packets and flits received, by source.
  [[nodiscard]] const source_tally& received() const { return received_; }
  [[nodiscard]] abi::node_address address() const { return self_; }
  /// True when nothing is queued here and the NoC has returned every credit.
  [[nodiscard]] bool quiescent() const;

 private:
  void on_packet(unsigned port, packet_ptr&& p, const fabric_phase& phase) override;
  void on_credit(unsigned port, const fabric_phase& phase) override;
  void act();
  void deliver();
  void try_send();
  void start(unsigned c, std::uint8_t vc, std::uint64_t cycle);
  void take_credits(std::uint64_t cycle);
  void schedule_try(std::uint64_t cycle);
  [[nodiscard]] std::uint64_t next_try(std::uint64_t from) const;

  struct queued {
    packet_ptr p;
    std::uint64_t earliest;  ///< cycle; a decision of the instant of send() does not consider the packet
  };
  struct arrival {
    sim_time tail;
    std::uint8_t vc;
    std::uint64_t sequence;
    packet_ptr p;
    static bool later(const arrival& a, const arrival& b) {
      return std::tie(a.tail, a.vc, a.sequence) > std::tie(b.tail, b.vc, b.sequence);
    }
  };
  struct returning_credit {
    std::uint64_t cycle;
    std::uint8_t vc;
    std::uint32_t flits;
  };
  static constexpr unsigned no_vc = UINT8_MAX;

  [[nodiscard]] fabric::vc_set vcs_of(const packet& p, unsigned c) const {
    if (abi::is_tree(p.header.destination)) return {topology_.tree_vc(abi::flow_of(p.header)), 1};
    return topology_.injection_vcs(static_cast<abi::traffic_class>(c), 0, self_, p.header.destination);
  }
  [[nodiscard]] unsigned vc_with_room(const packet& p, unsigned c) const;

  const fabric::topology& topology_;
  abi::node_address self_;
  bool staged_;
  client& owner_;
  timing::noc_timing timing_;
  std::uint64_t credit_cycles_;
  std::uint32_t flit_bytes_;
  alarm wake_{*this, [this] { act(); }};
  fabric_target noc_;
  std::array<boost::container::deque<queued>, abi::traffic_classes> queues_;
  std::array<std::uint32_t, abi::traffic_classes> room_;  ///< room in the NoC's buffer of a VC, in flits
  std::vector<std::uint32_t> credits_;                    ///< by VC: credits usable now
  std::vector<returning_credit> returning_;               ///< credits usable later; few, not sorted
  std::vector<arrival> arrivals_;                         ///< a heap, earliest tail in front
  std::uint64_t arrival_sequence_{};
  timing::shared_link link_;
  std::uint64_t try_cycle_{UINT64_MAX};
  unsigned next_class_{};
  std::uint64_t packets_sent_{};
  std::uint64_t packets_received_{};
  source_tally received_;
};

}  // namespace diecast::hw
