// SPDX-License-Identifier: Apache-2.0
// The common part of both kinds of link end: the sending and the receiving half, their alarms, and their
// reports to observers. ucie_adapter and sip_port add their sockets.
#pragma once

#include <cstdint>
#include <systemc>

#include "hw/base/agenda.hpp"
#include "hw/base/fabric_socket.hpp"
#include "hw/base/fault_sink.hpp"
#include "hw/base/time.hpp"
#include "hw/d2d/link_receiver.hpp"
#include "hw/d2d/link_sender.hpp"
#include "models/events/events.hpp"
#include "models/fabric/topology.hpp"

namespace diecast::hw {

class link_end : public sc_core::sc_module,
                 protected fabric_receiver,
                 protected credit_receiver,
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
  /// Both directions of a link have the same `parameters`. `where.name` is the instance's. `link`: number of
  /// the outgoing one. What goes wrong in either half ends the simulation as a fault of this instance.
  link_end(sc_core::sc_module_name name, const fabric::topology& topology, const link_parameters& parameters,
           link_receiver::place where, std::uint32_t link, const events::hub& hub, fault_sink& faults);

  void packet_from_noc(std::uint8_t lane, packet_ptr p, const fabric_phase& phase);
  void credit_from_noc(std::uint8_t lane, const fabric_phase& phase);
  void packet_from_link(std::uint8_t lane, packet_ptr p, std::uint8_t vc, const timing::span& arrival);
  void credit_from_link(std::uint8_t vc, std::uint32_t flits, sim_time usable);
  /// Reports a packet that starts on the link to observers.
  void tell_sent(const packet& p, std::uint8_t vc, sim_time start, sim_time end) const;

 private:
  void act();

  const events::hub& hub_;
  fault_sink& faults_;
  const std::uint32_t link_;
  link_sender sender_;
  link_receiver receiver_;
  alarm wake_{*this, [this] { act(); }};
};

}  // namespace diecast::hw
