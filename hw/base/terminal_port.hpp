// SPDX-License-Identifier: Apache-2.0
// A block's side of one NoC terminal: per-class send queues, flit serialisation, credits both
// ways, whole-packet delivery. PEs, memories and CPUs all attach to the fabric through one.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <systemc>
#include <vector>

#include "hw/base/calendar.hpp"
#include "hw/base/fabric_socket.hpp"
#include "models/config/machine_config.hpp"
#include "models/fabric/topology.hpp"

namespace diecast::hw {

class terminal_port : public sc_core::sc_module, private fabric_receiver, private credit_receiver {
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

  [[nodiscard]] fabric_initiator_socket& fabric_out_socket() { return out_.socket; }
  [[nodiscard]] fabric_target_socket& fabric_in_socket() { return in_.socket; }

  /// Queues a packet; header.source is set here. Leaves when the link is free and the NoC has room:
  /// one flit per cycle, classes served round robin per packet, first in first out within a class.
  void send(packet_ptr p);
  /// Packets of a class still waiting to enter the NoC.
  [[nodiscard]] std::size_t waiting(abi::traffic_class c) const;
  /// Frees buffer space of a packet delivered by on_packet; the NoC sees it credit_cycles later.
  void release(std::uint8_t vc, std::uint32_t flits);

  [[nodiscard]] std::uint64_t packets_sent() const { return packets_sent_; }
  [[nodiscard]] std::uint64_t packets_received() const { return packets_received_; }

 private:
  SC_HAS_PROCESS(terminal_port);
  void on_packet(unsigned port, packet_ptr p, const fabric_phase& phase) override;
  void on_credit(unsigned port, const fabric_phase& phase) override;
  void act();
  void try_send();
  void deliver(std::uint8_t vc);

  struct arrival {
    packet_ptr p;
    sim_time tail;
  };
  struct future_credit {
    sim_time at;
    std::uint32_t flits;
  };

  const fabric::topology& topology_;
  abi::node_address self_;
  client& owner_;
  clock_domain clock_;
  std::uint64_t credit_cycles_;
  calendar calendar_{"due"};
  fabric_in in_;
  fabric_out out_;
  std::array<std::deque<packet_ptr>, abi::traffic_classes> queues_;
  std::vector<std::uint32_t> credits_;               ///< per VC of leg 0, usable now
  std::vector<std::deque<future_credit>> pending_;   ///< per VC of leg 0, not usable yet
  std::vector<std::deque<arrival>> arrivals_;        ///< per VC
  sim_time link_free_;
  sim_time armed_try_{sim_time::never()};
  unsigned next_class_{};
  std::uint64_t packets_sent_{};
  std::uint64_t packets_received_{};
};

}  // namespace diecast::hw
