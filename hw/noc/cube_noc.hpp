// SPDX-License-Identifier: Apache-2.0
// The network on chip of one cube: input-buffered routers with virtual channels and credits, virtual
// cut-through at packet granularity or wormhole. One module owns the ports of all its routers in contiguous
// arrays and one calendar of due outputs; it wakes when a packet can be granted and at no other time.
//
// A packet at the head of its VC requests the output its route takes. It is granted when its pipeline
// time is over, the class is free on the input and on the output (timing::shared_link: one flit per
// cycle each, classes interleave), and the VC at the far end has room for all of it. An output grants at
// most one packet per cycle, round robin over inputs and, within an input, over VCs. Its flits then
// stream one per cycle, or as fast as they come.
//
// As a wormhole a packet needs room for one flit. What there is room for moves on as a chunk, the rest
// follows when credits return, and the VC at the far end belongs to the packet until its tail has passed.
// Chunks that follow each other without a gap merge, so a packet that is not held up stays one chunk.
//
// Order of evaluation: outputs due at a cycle are evaluated in ascending port number (router, side,
// terminal). What they see was announced before that cycle, so announcements wait in an inbox until time
// has moved on; what they cause lies after it.
//
// Credits of a packet go upstream as one batch, usable credit_cycles after its first flit has left: the
// buffer empties one flit per cycle and fills at the same pace, so flit n of the next packet finds the
// place of flit n empty (timing::batch_usable). A packet that leaves more slowly returns them later.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <systemc>
#include <vector>

#include "hw/base/fabric_socket.hpp"
#include "hw/base/time.hpp"
#include "hw/noc/port_wheel.hpp"
#include "models/config/machine_config.hpp"
#include "models/events/events.hpp"
#include "models/fabric/topology.hpp"
#include "models/timing/link.hpp"
#include "models/timing/shared_link.hpp"

namespace diecast::hw {

class cube_noc : public sc_core::sc_module, private fabric_receiver, private credit_receiver {
 public:
  struct counters {
    std::uint64_t packets{};      ///< entered this cube
    std::uint64_t packet_hops{};  ///< router-to-router links crossed by packets
    std::uint64_t flit_hops{};    ///< and by their flits
    std::uint64_t wakeups{};      ///< evaluations of an output port
    std::uint64_t activations{};  ///< of the module by the kernel
  };
  struct link_usage {
    std::uint64_t packets{};
    std::uint64_t flits{};                ///< cycles the link was busy
    std::uint64_t credit_stall_cycles{};  ///< a packet could have started but for credits
  };

  /// Throws user_error with every problem of the noc block: a wall without a cycle, a buffer that
  /// cannot hold a packet.
  cube_noc(sc_core::sc_module_name name, const fabric::topology& topology,
           const config::machine_config& config, sip_id sip, cube_id cube, const events::hub& hub);

  /// Where blocks send to and receive from; numbered as the terminals of the cube's layout.
  [[nodiscard]] fabric_target_socket& in(unsigned terminal) { return ins_.at(terminal).socket; }
  [[nodiscard]] fabric_initiator_socket& out(unsigned terminal) { return outs_.at(terminal).socket; }

  [[nodiscard]] const counters& statistics() const { return counters_; }
  /// Calls visit(link number of the topology, link_usage) for every link that starts in this NoC.
  template <class Visit>
  void visit_links(Visit visit) const {
    for (std::uint32_t t = 0; t < injected_.size(); ++t) visit(inject_link(t), injected_[t]);
    for (const out_port& o : out_ports_) visit(link_of(o), o.usage);
  }
  /// True when no packet is inside and every credit is home.
  [[nodiscard]] bool quiescent() const;
  /// Memory of routers and ports in bytes, packets in flight excluded.
  [[nodiscard]] std::size_t state_bytes() const;

 private:
  SC_HAS_PROCESS(cube_noc);
  static constexpr std::uint32_t none = UINT32_MAX;
  static constexpr std::uint64_t never = UINT64_MAX;

  /// A packet (or a chunk of one) in an input buffer, linked into the queue of its VC.
  struct slot {
    std::uint64_t ready;       ///< cycle in which the head may leave the router
    std::uint64_t tail_ready;  ///< the same for the last flit
    packet_ptr p;
    std::uint32_t flits;
    std::uint32_t next;  ///< in the VC's queue, or in the free list
    std::uint32_t in_port;
    std::uint16_t exit;  ///< terminal it leaves the cube by
    std::uint8_t vc;
    std::uint8_t traffic_class : 7;
    bool tail : 1;  ///< holds the packet's last flit
  };
  struct in_vc {
    std::uint32_t first{none};
    std::uint32_t last{none};
    std::uint32_t next_requester{none};  ///< in the list of the output that `first` requests
    std::uint32_t flits{};               ///< in the buffer, for the check of its bounds
  };
  struct returning_credit {
    std::uint64_t cycle;
    std::uint32_t flits;
    std::uint32_t next;
  };
  struct out_vc {
    std::uint32_t credits{};
    std::uint32_t first{none};  ///< credits on their way, in order of time
    std::uint32_t last{none};
    std::uint32_t owner{none};  ///< input VC whose packet is passing in chunks
  };
  struct in_port {
    timing::shared_link link;
    std::uint32_t upstream{none};  ///< output port that feeds it; none: a terminal
    std::uint32_t claim{none};     ///< VC whose turn it is, see evaluate()
    std::uint16_t router{};
    std::uint16_t terminal{};
    std::uint8_t last_vc{};
  };
  struct out_port {
    timing::shared_link link;
    std::uint64_t scheduled{never};
    std::uint64_t starved{};         ///< bit per VC: a requester waits for a credit nobody has sent yet
    std::uint32_t downstream{none};  ///< input port it feeds; none: a terminal
    std::uint32_t requesters{none};  ///< list of VCs whose head wants this output
    std::uint32_t last_in_port{};
    std::uint16_t router{};
    std::uint16_t terminal{};
    fabric::side edge{};
    link_usage usage;
  };

  // Construction.
  void check(const config::machine_config& config) const;
  void build_ports();
  void build_sockets();

  // Walls.
  void on_packet(unsigned terminal, packet_ptr p, const fabric_phase& phase) override;
  void on_credit(unsigned terminal, const fabric_phase& phase) override;
  void send_by_wire(unsigned terminal, packet_ptr p, const fabric_phase& phase, std::uint16_t exit);
  void deliver_wires();
  void open_inbox();
  [[nodiscard]] std::uint16_t exit_of(unsigned terminal, const packet& p, std::uint8_t vc) const;

  // The switch.
  void act();
  void evaluate(std::uint32_t o);
  [[nodiscard]] std::uint32_t* choose(std::uint32_t o);
  [[nodiscard]] bool output_ready(const out_port& out, std::uint32_t o, const slot& s);
  [[nodiscard]] bool claimed_by_other(const in_port& in, const slot& s);
  void grant(std::uint32_t o, std::uint32_t* link_to_requester);
  [[nodiscard]] std::uint32_t split(std::uint32_t slot_index, std::uint32_t flits);
  [[nodiscard]] bool merge(const in_vc& queue, std::uint32_t slot_index);
  void move_on(std::uint32_t slot_index, std::uint32_t o, std::uint64_t end);
  void eject(std::uint32_t slot_index, const out_port& out, std::uint64_t end);
  void return_credits(const in_port& in, const slot& s, std::uint64_t end);
  void enqueue(std::uint32_t slot_index, std::uint64_t from);
  void request(std::uint32_t iv, std::uint64_t from);
  [[nodiscard]] std::uint64_t next_chance(std::uint32_t o, const slot& s, std::uint64_t from);
  [[nodiscard]] std::uint32_t output_of(std::uint16_t router, std::uint16_t exit) const;

  // Credits.
  void add_credit(std::uint32_t o, std::uint8_t vc, std::uint32_t flits, std::uint64_t cycle);
  [[nodiscard]] bool starved(std::uint32_t o, std::uint8_t vc) const {
    return (out_ports_[o].starved >> vc & 1) != 0;
  }
  void insert_in_order(out_vc& ov, std::uint32_t credit);
  void take_credits(out_vc& ov);
  [[nodiscard]] std::uint64_t credit_cycle(const out_vc& ov, std::uint32_t flits) const;

  void schedule(std::uint32_t o, std::uint64_t cycle);
  void arm(std::uint64_t cycle);
  [[nodiscard]] std::uint32_t vc_index(std::uint32_t port, std::uint8_t vc) const { return port * vcs_ + vc; }
  [[nodiscard]] std::uint64_t current_cycle() const { return now().fs / timing_.clock.period.fs; }
  /// Flits that must have room before the packet may start.
  [[nodiscard]] std::uint32_t room_needed(const slot& s) const { return wormhole_ ? 1 : s.flits; }
  [[nodiscard]] bool owned_by_other(const out_vc& ov, const slot& s) const {
    return ov.owner != none && ov.owner != vc_index(s.in_port, s.vc);
  }
  [[nodiscard]] std::uint32_t take_slot();
  void free_slot(std::uint32_t index);
  [[nodiscard]] std::uint32_t link_of(const out_port& o) const;
  [[nodiscard]] std::uint32_t inject_link(std::uint32_t terminal) const;
  void publish(std::uint32_t link, const slot& s, std::uint64_t head, std::uint64_t end) const;

  const fabric::topology& topology_;
  const fabric::cube_layout& layout_;
  const events::hub& hub_;
  const sip_id sip_;
  const cube_id cube_;
  const timing::noc_timing timing_;
  const std::uint64_t credit_cycles_;
  const std::uint32_t vcs_;
  const bool wires_;
  const bool wormhole_;
  std::array<std::uint8_t, 64> class_of_vc_{};
  std::array<std::uint32_t, 64> capacity_{};         ///< of a router's input buffer, flits per VC
  std::array<std::uint32_t, 64> inject_capacity_{};  ///< of the buffer behind a terminal's way in
  std::array<std::uint32_t, 64> wall_capacity_{};    ///< of the receive buffer behind a terminal

  std::vector<std::array<std::uint32_t, fabric::sides>> side_ports_;  ///< by router; none at the border
  std::vector<std::uint32_t> terminal_ports_;
  std::vector<in_port> in_ports_;
  std::vector<out_port> out_ports_;
  std::vector<in_vc> in_vcs_;    ///< [input port][VC]
  std::vector<out_vc> out_vcs_;  ///< [output port][VC]
  std::vector<slot> slots_;
  std::uint32_t free_slots_{none};
  std::uint32_t used_slots_{};
  std::vector<returning_credit> returning_;
  std::uint32_t free_returning_{none};
  std::vector<link_usage> injected_;  ///< by terminal

  struct wire_arrival {
    std::uint64_t cycle;
    std::uint16_t exit;
    std::uint16_t entry;
    std::uint64_t sequence;
    packet_ptr p;
    std::uint8_t vc;
    std::uint32_t flits;
    static bool later(const wire_arrival& a, const wire_arrival& b);
  };
  struct announced_packet {
    sim_time announced;
    std::uint32_t slot;
  };
  struct announced_credit {
    sim_time announced;
    std::uint64_t cycle;
    std::uint32_t out_port;
    std::uint32_t flits;
    std::uint8_t vc;
  };
  std::vector<announced_packet> packet_inbox_;
  std::vector<announced_credit> credit_inbox_;
  std::vector<wire_arrival> wire_arrivals_;  ///< a heap, earliest in front
  std::uint64_t wire_sequence_{};

  port_wheel wheel_;
  sc_core::sc_event wake_{"wake"};
  std::uint64_t armed_{never};
  std::uint64_t cycle_{};  ///< the one being evaluated
  std::deque<fabric_in> ins_;
  std::deque<fabric_out> outs_;
  counters counters_;
};

}  // namespace diecast::hw
