// SPDX-License-Identifier: Apache-2.0
// Between two sockets of the fabric: applies the faults of that place to packets in one direction. Packets in
// the other direction, and credits, pass through. It exists only where a fault is configured.
#pragma once

#include <cstdint>
#include <string>
#include <systemc>
#include <vector>

#include "hw/base/fabric_socket.hpp"
#include "hw/base/time.hpp"
#include "hw/base/timed_queue.hpp"
#include "hw/d2d/sip_message.hpp"
#include "models/protocol/link_faults.hpp"

namespace diecast::hw {

/// Setup of an interposer.
struct fault_place {
  std::vector<config::placed_fault> faults;
  std::string path;    ///< instance path; keys the random draws of this place
  std::string name;    ///< name of the link or block in messages
  sim_time flit_time;  ///< time of a flit on this link
  sim_time cycle;      ///< NoC clock: the least latency of an interface
};

class fault_interposer : public sc_core::sc_module, private fabric_owner {
 public:
  fault_interposer(sc_core::sc_module_name name, const fault_place& place, packet_pool& pool);

  fabric_target in;      ///< bind the sender to in.socket
  fabric_initiator out;  ///< bind out.socket to the receiver
  [[nodiscard]] std::vector<config::fault_tally> tallies() const { return faults_.tallies(); }
  [[nodiscard]] const std::string& place() const { return place_; }
  /// Calls visit(const packet&) for every packet that has arrived and not left.
  template <class Visit>
  void visit_held(Visit visit) const {
    for (const packet_ptr& p : held_) visit(*p);
  }

 private:
  struct passage {
    packet_ptr p;
    fabric_phase phase;
  };
  void on_packet(unsigned port, packet_ptr&& p, const fabric_phase& phase) override;
  void on_credit(unsigned port, const fabric_phase& phase) override;
  void deliver(const passage& what);
  void act();

  const std::string place_;
  protocol::link_faults faults_;
  packet_pool& pool_;
  const sim_time cycle_;
  timed_queue<passage> late_{*this, [this] { act(); }};
  std::uint64_t late_sequence_{};
  std::vector<packet_ptr> held_;
  std::vector<passage> copies_;        ///< duplicates that wait for room
  std::vector<std::uint32_t> spared_;  ///< by VC: credits taken from those that came back, for copies
};

// The interposer of a link between SIPs: the same faults on plain-value messages.

/// Stands at the sending end of one direction of a link, in the process that simulates that end's SIP. It
/// passes on the packets that leave and the credits that return for them.
class sip_link_fault : public sc_core::sc_module, private sip_link_if {
 public:
  /// `latency`: of the link.
  sip_link_fault(sc_core::sc_module_name name, const fault_place& place, sim_time latency);

  sc_core::sc_export<sip_link_if> in{"in"};              ///< binding point of the sender
  sc_core::sc_port<sip_link_if> out{"out"};              ///< the far end
  sc_core::sc_export<sip_link_if> arrivals{"arrivals"};  ///< binding point of the far end
  sc_core::sc_port<sip_link_if> sender{"sender"};        ///< receives the credits that arrive
  /// Name of the link in this direction.
  [[nodiscard]] const std::string& link() const { return link_; }
  [[nodiscard]] std::vector<config::fault_tally> tallies() const { return faults_.tallies(); }
  /// Calls visit(const sip_message&) for every packet that has arrived and not left. These are in no pool.
  template <class Visit>
  void visit(Visit visit) const {
    for (const sip_message& m : held_) visit(m);
    for (const waiting_copy& c : copies_) visit(c.m);
    late_.visit(visit);
  }

 private:
  struct waiting_copy {
    sim_time since;
    sip_message m;
  };
  class entrance : public sip_link_if {
   public:
    explicit entrance(sip_link_fault& owner) : owner_(owner) {}
    void deliver(const sip_message& m) override { owner_.arrive(m); }

   private:
    sip_link_fault& owner_;
  };
  void deliver(const sip_message& m) override;
  void arrive(const sip_message& m);
  void act();
  /// Flits of a returned credit that the sender gets: the rest pays for duplicates.
  [[nodiscard]] std::uint32_t room(const sip_message& credit);

  const std::string link_;
  protocol::link_faults faults_;
  const sim_time cycle_, latency_;
  timed_queue<sip_message> late_{*this, [this] { act(); }};
  std::uint64_t late_sequence_{};
  std::vector<sip_message> held_;
  std::vector<waiting_copy> copies_;   ///< duplicates that wait for room
  std::vector<std::uint32_t> spared_;  ///< by VC: credits taken from those that came back, for copies
  entrance entrance_{*this};
};

}  // namespace diecast::hw
