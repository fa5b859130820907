// SPDX-License-Identifier: Apache-2.0
// The end of a link between SIPs at its gateway cube: one NoC terminal, both directions. The ends
// exchange plain values (sip_message.hpp); the receiving end makes the packet anew from its own SIP's
// pool.
#pragma once

#include <systemc>

#include "hw/base/fabric_socket.hpp"
#include "hw/base/time.hpp"
#include "hw/d2d/link_receiver.hpp"
#include "hw/d2d/link_sender.hpp"
#include "hw/d2d/sip_message.hpp"
#include "models/config/machine_config.hpp"
#include "models/events/events.hpp"
#include "models/fabric/topology.hpp"

namespace diecast::hw {

class sip_port : public sc_core::sc_module,
                 private sip_link_if,
                 private fabric_receiver,
                 private credit_receiver,
                 private link_sender::owner,
                 private link_receiver::owner {
 public:
  /// `terminal`: of kind sip_port in cube (sip, cube). Throws user_error when the link's latency is
  /// below one NoC cycle or its buffer cannot hold a packet.
  sip_port(sc_core::sc_module_name name, const fabric::topology& topology,
           const config::machine_config& config, sip_id sip, cube_id cube, fabric::terminal_index terminal,
           packet_pool& pool, const events::hub& hub);

  [[nodiscard]] fabric_target_socket& from_noc() { return noc_in_.socket; }
  [[nodiscard]] fabric_initiator_socket& to_noc() { return noc_out_.socket; }
  /// Bind to the far end's `in`.
  sc_core::sc_port<sip_link_if> out{"out"};
  sc_core::sc_export<sip_link_if> in{"in"};

  [[nodiscard]] const link_sender& sender() const { return sender_; }
  [[nodiscard]] const link_receiver& receiver() const { return receiver_; }
  [[nodiscard]] const link_counters& statistics() const { return sender_.statistics(); }
  /// Number of the outgoing link in the topology.
  [[nodiscard]] std::uint32_t link() const { return link_; }
  [[nodiscard]] bool quiescent() const { return sender_.quiescent() && receiver_.quiescent(); }

 private:
  SC_HAS_PROCESS(sip_port);
  void deliver(const sip_message& m) override;
  void on_packet(unsigned port, packet_ptr p, const fabric_phase& phase) override;
  void on_credit(unsigned port, const fabric_phase& phase) override;
  void transmit(packet_ptr p, std::uint8_t lane, std::uint8_t vc, sim_time start,
                const timing::flit_line::transfer& t) override;
  void return_noc_credit(std::uint8_t lane, std::uint8_t vc, std::uint32_t flits, sim_time usable) override;
  void inject(packet_ptr p, std::uint8_t lane, std::uint8_t vc, sim_time head, sim_time tail) override;
  void return_link_credit(std::uint8_t vc, std::uint32_t flits, sim_time usable) override;
  void send(const sip_message& m);
  /// Link credits spent (flits < 0) or usable again at `at`.
  void tell_credits(std::uint8_t vc, std::int32_t flits, sim_time at) const;
  void act();
  void wake_at(sim_time t);

  const events::hub& hub_;
  packet_pool& pool_;
  const bool as_bytes_;
  const std::uint32_t link_;
  link_sender sender_;
  link_receiver receiver_;
  fabric_in noc_in_;
  fabric_out noc_out_;
  sc_core::sc_event wake_{"wake"};
  sim_time armed_{sim_time::never()};
};

}  // namespace diecast::hw
