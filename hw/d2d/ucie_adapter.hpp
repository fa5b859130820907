// SPDX-License-Identifier: Apache-2.0
// One side of a cube: the adapter between the NoC's port terminals and the UCIe link to the neighboring
// cube. All modules of the side form one link with one set of credits; packets keep their port.
#pragma once

#include <cstdint>
#include <deque>
#include <systemc>
#include <vector>

#include "hw/base/agenda.hpp"
#include "hw/base/fabric_socket.hpp"
#include "hw/base/fault_sink.hpp"
#include "hw/base/time.hpp"
#include "hw/d2d/link_receiver.hpp"
#include "hw/d2d/link_sender.hpp"
#include "hw/d2d/sip_message.hpp"
#include "models/config/machine_config.hpp"
#include "models/events/events.hpp"
#include "models/fabric/topology.hpp"

namespace diecast::hw {

// The common part of both kinds of link end: the sending and the receiving half, their alarms, and their
// reports to observers. ucie_adapter and sip_port add their sockets.

class link_end : public sc_core::sc_module,
                 protected fabric_owner,
                 protected link_sender::owner,
                 protected link_receiver::owner {
 public:
  [[nodiscard]] const link_sender& sender() const { return sender_; }
  [[nodiscard]] const link_receiver& receiver() const { return receiver_; }
  [[nodiscard]] const link_counters& statistics() const { return sender_.statistics(); }
  /// Number of the outgoing link in the topology.
  [[nodiscard]] std::uint32_t link() const { return link_; }
  [[nodiscard]] bool quiescent() const { return sender_.quiescent() && receiver_.quiescent(); }

 protected:
  /// `parameters`: of both directions. `where.name` is set to the instance's name. `link`: number of the
  /// outgoing link. An error in either half ends the simulation as a fault of this instance.
  link_end(sc_core::sc_module_name name, const fabric::topology& topology, const link_parameters& parameters,
           link_receiver::place where, std::uint32_t link, const events::hub& hub, fault_sink& faults);

  void packet_from_noc(std::uint8_t port, packet_ptr p, const fabric_phase& phase);
  void credit_from_noc(std::uint8_t port, const fabric_phase& phase);
  void packet_from_link(std::uint8_t port, packet_ptr p, std::uint8_t vc, const timing::span& arrival);
  void credit_from_link(std::uint8_t vc, std::uint32_t flits, sim_time usable);
  /// Reports a packet that starts on the link to observers.
  void report_sent(const packet& p, std::uint8_t vc, sim_time start, sim_time end) const;

 private:
  void act();

  const events::hub& hub_;
  fault_sink& faults_;
  const std::uint32_t link_;
  link_sender sender_;
  link_receiver receiver_;
  alarm wake_{*this, [this] { act(); }};
};

class ucie_adapter : public link_end {
 public:
  /// Precondition: the cube has a neighbor on that side. Throws user_error when the link's latency is
  /// below one NoC cycle or its buffer cannot hold a packet.
  ucie_adapter(sc_core::sc_module_name name, const fabric::topology& topology,
               const config::machine_config& config, sip_id sip, cube_id cube, fabric::side edge,
               const events::hub& hub, fault_sink& faults);

  /// The NoC terminals this adapter attaches to, by port.
  [[nodiscard]] const std::vector<fabric::terminal_index>& terminals() const { return terminals_; }
  [[nodiscard]] fabric_target_socket& noc_socket(unsigned port) { return ports_.at(port).socket; }
  [[nodiscard]] fabric_initiator_socket& link_out() { return link_out_.socket; }
  [[nodiscard]] fabric_target_socket& link_in() { return link_in_.socket; }

 private:
  ucie_adapter(sc_core::sc_module_name name, const fabric::topology& topology,
               const config::machine_config& config, sip_id sip, cube_id cube, fabric::side edge,
               const std::vector<fabric::terminal_index>& terminals, const events::hub& hub,
               fault_sink& faults);
  void on_packet(unsigned port, packet_ptr&& p, const fabric_phase& phase) override;
  void on_credit(unsigned port, const fabric_phase& phase) override;
  void transmit(packet_ptr p, std::uint8_t port, std::uint8_t vc, sim_time start,
                const timing::flit_line::transfer& t) override;
  void return_noc_credit(std::uint8_t port, std::uint8_t vc, std::uint32_t flits, sim_time usable) override;
  void inject(packet_ptr p, std::uint8_t port, std::uint8_t vc, sim_time head, sim_time tail) override;
  void return_link_credit(std::uint8_t vc, std::uint32_t flits, sim_time usable) override;

  const std::vector<fabric::terminal_index> terminals_;
  const unsigned link_port_;  ///< port number of the link's sockets; the ports come before it
  std::deque<fabric_target> ports_;
  fabric_initiator link_out_;
  fabric_target link_in_;
};

/// The end of a link between SIPs at its gateway cube: one NoC terminal, both directions. The ends
/// exchange plain values (sip_message.hpp); the receiving end makes a new packet from its own SIP's
/// pool.
class sip_port : public link_end, private sip_link_if {
 public:
  /// `terminal`: of kind sip_port in cube (sip, cube). Throws user_error when the link's latency is
  /// below one NoC cycle or its buffer cannot hold a packet.
  sip_port(sc_core::sc_module_name name, const fabric::topology& topology,
           const config::machine_config& config, sip_id sip, cube_id cube, fabric::terminal_index terminal,
           packet_pool& pool, const events::hub& hub, fault_sink& faults);

  [[nodiscard]] fabric_target_socket& noc_socket() { return noc_.socket; }
  /// Bind to the far end's `in`.
  sc_core::sc_port<sip_link_if> out{"out"};
  sc_core::sc_export<sip_link_if> in{"in"};

 private:
  void deliver(const sip_message& m) override;
  void on_packet(unsigned port, packet_ptr&& p, const fabric_phase& phase) override;
  void on_credit(unsigned port, const fabric_phase& phase) override;
  void transmit(packet_ptr p, std::uint8_t port, std::uint8_t vc, sim_time start,
                const timing::flit_line::transfer& t) override;
  void return_noc_credit(std::uint8_t port, std::uint8_t vc, std::uint32_t flits, sim_time usable) override;
  void inject(packet_ptr p, std::uint8_t port, std::uint8_t vc, sim_time head, sim_time tail) override;
  void return_link_credit(std::uint8_t vc, std::uint32_t flits, sim_time usable) override;
  void send(const sip_message& m);

  packet_pool& pool_;
  const bool as_bytes_;
  fabric_target noc_;
};

}  // namespace diecast::hw
