// SPDX-License-Identifier: Apache-2.0
// The network on chip of one cube: input-buffered routers with virtual channels and credits behind the
// fabric's sockets. The routers themselves are switch_core; this module gives them time, routes, terminals
// and observers. It wakes only when a packet can be granted.
//
// Terminals. With virtual cut-through a block's packets arrive directly in the first router's buffer, which
// holds whole packets. With wormhole flow control the routers' buffers may be smaller than a packet: every
// terminal then has a network interface that takes whole packets (as many as injection_buffer_flits; those of
// a network study without bound) and streams them into a free VC flit by flit as credits allow.
//
// A packet of several flits is announced to its terminal with its last one: until then packets of other
// classes may join and delay it (not in network studies, which have one class). Blocks use the times of
// tails.
//
// Order of evaluation: what is evaluated in a cycle was announced before it, so announcements wait in an
// inbox until time has moved on. Sources without credits may announce ahead, in the order of their heads:
// theirs wait until the head enters the interface.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <systemc>
#include <vector>

#include "hw/base/agenda.hpp"
#include "hw/base/fabric_socket.hpp"
#include "hw/base/fault_sink.hpp"
#include "hw/base/time.hpp"
#include "hw/noc/switch_core.hpp"
#include "hw/noc/tree_units.hpp"
#include "models/config/machine_config.hpp"
#include "models/events/events.hpp"
#include "models/fabric/router_grid.hpp"
#include "models/fabric/topology.hpp"
#include "models/timing/link.hpp"

namespace diecast::hw {

class cube_noc : public sc_core::sc_module, private fabric_owner, private switch_core::environment {
 public:
  struct counters {
    std::uint64_t packets{};      ///< entered this cube
    std::uint64_t packet_hops{};  ///< router-to-router links crossed by packets
    std::uint64_t flit_hops{};    ///< router-to-router links crossed by flits
    std::uint64_t wakeups{};      ///< evaluations of an output port
    std::uint64_t activations{};  ///< activations of the module by the kernel
  };
  using link_usage = switch_core::usage;

  /// Throws user_error with every problem of the noc block: an interface without a cycle, a buffer that
  /// cannot hold a packet.
  cube_noc(sc_core::sc_module_name name, const fabric::topology& topology,
           const config::machine_config& config, sip_id sip, cube_id cube, const events::hub& hub,
           fault_sink& faults);

  /// The socket of a terminal's block; terminals are numbered as in the cube's layout.
  [[nodiscard]] fabric_initiator_socket& terminal_socket(unsigned terminal) {
    return terminals_.at(terminal).socket;
  }

  [[nodiscard]] counters statistics() const;
  [[nodiscard]] const auto& vc_waits() const { return core_.vc_waits(); }
  /// Calls visit(link number of the topology, link_usage) for every link that starts in this NoC.
  template <class Visit>
  void visit_links(Visit visit) const {
    const std::vector<link_usage> in = injected();
    for (std::uint32_t t = 0; t < in.size(); ++t) visit(inject_link(t), in[t]);
    for (std::uint32_t o = 0; o < outputs_.size(); ++o) {
      if (outputs_[o].link != none) visit(outputs_[o].link, usage_of(o));
    }
  }
  /// Calls visit(link number of the topology, VC, flits) for the credits that the senders of this NoC's links
  /// have at the start. Blocks that send without bound have none.
  template <class Visit>
  void visit_credits(Visit visit) const {
    for (std::uint8_t vc = 0; vc < vcs_; ++vc) {
      for (std::uint32_t t = 0; has_credits_in() && t < injected_.size(); ++t) {
        visit(inject_link(t), vc, inject_capacity_[vc]);
      }
      for (std::uint32_t o = 0; o < outputs_.size(); ++o) {
        if (outputs_[o].link != none) visit(outputs_[o].link, vc, core_.initial_credits(o, vc));
      }
    }
  }
  /// Installs the routers' part of a tree. Precondition: noc.multicast.
  void install(const tree_program& program, packet_pool& pool) { trees_->install(program, pool); }
  /// Counters of the tree units; null without noc.multicast.
  [[nodiscard]] const tree_units::counters* tree_statistics() const {
    return trees_ ? &trees_->statistics() : nullptr;
  }

  /// True when no packet is inside and every credit has returned.
  [[nodiscard]] bool quiescent() const;
  /// Memory of routers and ports in bytes, packets in flight excluded.
  [[nodiscard]] std::size_t state_bytes() const;

 private:
  static constexpr std::uint32_t none = switch_core::none;
  static constexpr std::uint64_t never = switch_core::never;

  /// The place of an output of the core in the cube.
  struct output {
    std::uint32_t link{none};         ///< link of the topology; none: inside a network interface
    fabric_initiator* to_terminal{};  ///< interface of the terminal it leaves to; null: another router, a
                                      ///< unit or an interface
    bool to_unit{};                   ///< leads to a tree unit, which has an input port of the same number
    bool swallowed{};                 ///< consumed by a sink of a study, which returns credits flit by flit
  };

  // Construction.
  void check(const config::machine_config& config) const;
  [[nodiscard]] switch_core::parameters build(const config::machine_config& config);
  std::uint32_t add_port(switch_core::parameters& p, const config::machine_config& config,
                         std::uint16_t router);
  void add_interface(switch_core::parameters& p, const config::machine_config& config,
                     std::uint16_t terminal);
  void add_unit_port(switch_core::parameters& p, const config::machine_config& config, std::uint16_t router,
                     fabric::tree_port at);
  void join_routers(switch_core::parameters& p) const;
  [[nodiscard]] bool may_enter(std::uint16_t terminal, unsigned vc) const;
  void note_places();
  void build_sockets();

  // Interfaces to the terminals.
  void on_packet(unsigned terminal, packet_ptr&& p, const fabric_phase& phase) override;
  void on_credit(unsigned terminal, const fabric_phase& phase) override;
  void take_in(unsigned terminal, packet_ptr&& p, const fabric_phase& phase);
  /// Throws protocol_error: a source that announces ahead must do so in order.
  [[noreturn]] void refuse_out_of_order(unsigned terminal, sim_time known_from) const;
  void send_by_wire(unsigned terminal, packet_ptr p, const fabric_phase& phase, std::uint16_t exit);
  void deliver_wires(std::uint64_t cycle);
  void open_inbox(sim_time t);
  /// Calls `use` for packets announced ahead that have entered by now, but that the routers have not received
  /// yet.
  template <class Use>
  void for_each_entered(Use use) const {
    if (has_credits_in()) return;  // counted when they are announced
    for (std::size_t k = opened_; k < packet_inbox_.size() && packet_inbox_[k].known_from <= now(); ++k)
      use(packet_inbox_[k]);
  }
  /// By terminal.
  [[nodiscard]] std::vector<link_usage> injected() const;
  void enters(std::uint32_t terminal, std::uint8_t vc, std::uint32_t flits, std::uint64_t begin,
              std::uint64_t end);
  void serve_trees();
  [[nodiscard]] std::uint16_t exit_of(unsigned terminal, const packet& p, std::uint8_t vc) const;
  [[nodiscard]] std::uint16_t exit_by_leg(unsigned terminal, const packet& p, std::uint8_t vc) const;

  /// Output port (index in port_table_) of a router towards a side.
  [[nodiscard]] std::uint32_t side_port(std::size_t router, unsigned side) const {
    return port_table_[router * fabric::sides + side];
  }
  [[nodiscard]] std::uint32_t terminal_port(std::size_t terminal) const {
    return port_table_[terminals_begin_ + terminal];
  }

  // Around the core.
  [[nodiscard]] switch_core::hop route(std::uint16_t router, std::uint16_t exit,
                                       std::uint8_t vc) const override;
  [[nodiscard]] switch_core::hop straight_route(std::uint16_t router, std::uint16_t exit,
                                                std::uint8_t vc) const;
  [[nodiscard]] switch_core::hop other_route(std::uint16_t router, std::uint16_t exit, std::uint8_t vc) const;
  [[nodiscard]] switch_core::hop tree_route(std::uint16_t router, std::uint16_t exit, std::uint8_t vc) const;
  [[nodiscard]] switch_core::hop entry_hop(std::uint8_t vc) const;
  void eject(const switch_core::departure& d, packet_ptr&& p) override;
  void delay(std::uint32_t output, std::uint8_t vc, std::uint64_t last) override;
  void announce(const switch_core::departure& d, packet_ptr&& p);
  void announce_departed(std::uint64_t cycle);
  void return_credit(std::uint32_t input, std::uint8_t vc, std::uint32_t flits, std::uint64_t cycle) override;
  void occupied(std::uint32_t output, std::uint8_t vc, std::uint32_t flits, std::uint64_t begin,
                std::uint64_t end) override;
  void credits_changed(std::uint32_t output, std::uint8_t vc, std::int32_t flits, std::uint64_t first,
                       std::uint64_t last) override;

  void act();
  void serve();
  void arm(std::uint64_t cycle);
  [[nodiscard]] link_usage usage_of(std::uint32_t output) const;
  [[nodiscard]] std::uint32_t inject_link(std::uint32_t terminal) const;
  void publish(std::uint32_t link, std::uint8_t vc, std::uint32_t flits, std::uint64_t begin,
               std::uint64_t end) const;
  /// Whether senders into this NoC count credits.
  [[nodiscard]] bool has_credits_in() const { return !(study_ && wormhole_) || transactions_; }
  /// Whether a VC carries requests of a transaction study, whose target returns the credit of a request's
  /// last flit when it has served the request.
  [[nodiscard]] bool is_request(std::uint8_t vc) const {
    return transactions_ && topology_.class_of(vc) == abi::traffic_class::request;
  }
  /// Credits of a link spent (flits < 0) or usable again at `at`.
  void report_credits(std::uint32_t link, std::uint8_t vc, std::int32_t flits, sim_time at) const;
  /// To an input from outside the network.
  void send_credit(std::uint32_t terminal, std::uint8_t vc, std::uint32_t flits, std::uint64_t cycle);

  const fabric::topology& topology_;
  const fabric::cube_layout& layout_;
  const fabric::die_routes routes_;
  const events::hub& hub_;
  fault_sink& faults_;
  const sip_id sip_;
  const cube_id cube_;
  const timing::noc_timing timing_;
  const std::uint64_t credit_cycles_;
  const std::uint32_t vcs_;
  const bool wires_;
  const bool wormhole_;
  const bool study_;
  const bool transactions_;  ///< a study of requests and responses, with credits at the terminals
  const bool one_leg_;       ///< packets for this cube are always on the right leg
  /// Cycles of a router from input buffer to grant (head), and from grant to the next router's input buffer.
  const std::uint32_t head_delay_, latency_;
  const std::uint64_t exit_cycles_;  ///< cycles from grant to arrival at the interface
  template <class T>
  using by_vc = std::array<T, switch_core::max_vcs>;
  by_vc<std::uint32_t> capacity_{};            ///< flits of a router's input buffer
  by_vc<std::uint32_t> inject_capacity_{};     ///< flits of the buffer after an injecting terminal
  by_vc<std::uint32_t> interface_capacity_{};  ///< flits of the receive buffer at a terminal

  /// Ports by router and side (none without neighbor), then each interface's output, four times, then from
  /// terminals_begin_ on by terminal: input and output of its router. One table, because its index selects
  /// without a branch.
  std::vector<std::uint32_t> port_table_;
  std::size_t terminals_begin_{};
  std::vector<fabric::router_grid::place> places_;  ///< by router, then by interface (which has no place)
  std::vector<fabric::router_grid::place> exit_places_;  ///< by terminal
  const bool straight_;                                  ///< nothing wraps and there are no trees
  /// By VC, those that a packet may take after an interface and, where nothing wraps, after any output;
  /// outputs differ.
  by_vc<switch_core::hop> entry_hops_{};
  std::vector<std::uint32_t> entry_ports_;     ///< input of a terminal's packets
  std::vector<std::uint16_t> entry_terminal_;  ///< by input; UINT16_MAX: not from a terminal
  std::vector<output> outputs_;
  std::vector<link_usage> injected_;   ///< by terminal
  std::vector<link_usage> by_wire_;    ///< by output
  std::unique_ptr<tree_units> trees_;  ///< noc.multicast
  switch_core core_;

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
    sim_time known_from;
    switch_core::arrival where;
    packet_ptr p;
  };
  struct announced_credit {
    sim_time announced;
    std::uint64_t cycle;
    std::uint32_t out_port;
    std::uint32_t flits;
    std::uint8_t vc;
  };
  [[nodiscard]] std::uint64_t first_chance(const announced_packet& a) const;
  /// A packet in transfer to a terminal.
  struct leaving_packet {
    switch_core::departure d;
    packet_ptr p;
  };
  std::vector<leaving_packet> leaving_;
  std::vector<announced_packet> packet_inbox_;  ///< packets announced, in the order of announcement
  /// known_from of the last packet in packet_inbox_; later packets have later ones.
  sim_time last_known_from_;
  std::size_t opened_{};  ///< packets at the front of packet_inbox_ that the routers have received
  std::vector<announced_credit> credit_inbox_;
  std::vector<wire_arrival> wire_arrivals_;  ///< a heap, earliest in front
  std::uint64_t wire_sequence_{};

  alarm wake_{*this, [this] { act(); }};
  std::uint64_t armed_{never};
  std::uint64_t packets_{}, activations_{};
  std::deque<fabric_initiator> terminals_;
};

}  // namespace diecast::hw
