// SPDX-License-Identifier: Apache-2.0
// What noc.multicast and noc.reduce add to the routers of a cube: at each router a unit on ports of its own,
// one for each side and terminal. Packets of a tree leave a router's crossbar into its unit, by the port of
// the side they came from, and enter it again by the ports of the sides they leave by, so that copies leave
// in parallel. Plain C++; cube_noc moves what comes out into the switches.
//
//   down     a packet stays until every copy has entered the crossbar: the room it takes in the unit is that
//            of one buffer per port, and is returned when the last copy has left
//   credits  a tail of each child is kept; when the least of them moves, a credit goes to the parent
//   up       contributions wait per child, in buffers that hold all that members may send (a ring); when each
//            child has sent its part of a packet they are combined, child by child in the order of the tree
//
// A unit processes a packet when its transfer into the unit begins, and knows then when its head and tail
// arrive (ADR 5): what the unit sends begins after the head of the last part, and ends after its tail. A
// packet counts as arrived at its grant: allocation and traversal of the switch are charged once, on the way
// out of the unit.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hw/base/packet.hpp"
#include "hw/noc/switch_core.hpp"
#include "models/comm/install_plan.hpp"
#include "models/config/machine_config.hpp"
#include "models/fabric/collective_tree.hpp"
#include "models/protocol/queue_pair.hpp"

namespace diecast::hw {

/// The tree and the slot rings of its members, which routers get.
struct tree_program {
  const fabric::collective_tree& tree;
  const comm::tree_install& rings;
};

class tree_units {
 public:
  struct counters {
    std::uint64_t packets{};             ///< taken in by units
    std::uint64_t copies{};              ///< copies beyond the first of each packet down
    std::uint64_t credits_combined{};    ///< credits merged into others
    std::uint64_t combinations{};        ///< additions of two contributions of one packet
    std::uint64_t elements{};            ///< elements combined
    std::uint64_t bytes{};               ///< bytes of packets taken in, header flits included
    std::uint64_t most_waiting_bytes{};  ///< most of contributions in a port's buffer
  };
  /// Exits of packets to a unit are numbered from here on.
  static constexpr std::uint16_t first_exit = 0x8000;

  tree_units(const fabric::topology& topology, const config::machine_config& config, sip_id sip, cube_id cube,
             std::string name);

  /// A port of the unit of a router, which is port `number` of the switches. Throws user_error when a cube
  /// has more of them than exits can name.
  void add_port(fabric::router_index router, fabric::tree_port port, std::uint32_t number);
  /// Exit that leads into the unit of a router by the port of that side or terminal.
  [[nodiscard]] std::uint16_t exit_into(fabric::router_index router, fabric::tree_port port) const;
  /// Output of a packet to a unit at `router`: the unit's port, or at other routers the side that leads
  /// there.
  struct exit_port {
    bool here{};
    std::uint32_t port{};  ///< port of the switches
    fabric::side side{};
  };
  [[nodiscard]] exit_port exit_port_of(fabric::router_index router, std::uint16_t exit) const;

  /// Takes the part of the tree in this cube. Throws protocol_error when one is installed already.
  void install(const tree_program& program, packet_pool& pool);

  /// A packet enters a unit: its flits come from cycle `first` to `last`.
  void take(const switch_core::departure& d, packet_ptr p);
  /// `flits` that a unit sent have left its port; the room is usable from `cycle` on.
  void left(std::uint32_t port, std::uint8_t vc, std::uint32_t flits, std::uint64_t cycle);

  struct sent {
    switch_core::arrival where;
    packet_ptr p;
  };
  struct returned {
    std::uint32_t port;
    std::uint8_t vc;
    std::uint32_t flits;
    std::uint64_t cycle;
  };
  /// Packets that units send into the switches, and room that they return, since the last call.
  [[nodiscard]] std::vector<sent> take_sent() { return std::exchange(sent_, {}); }
  [[nodiscard]] std::vector<returned> take_returned() { return std::exchange(returned_, {}); }

  [[nodiscard]] const counters& statistics() const { return counters_; }
  /// Whether no packet waits in the units.
  [[nodiscard]] bool idle() const;

 private:
  static constexpr std::uint32_t none = UINT32_MAX;

  struct unit_port {
    fabric::router_index router{};
    fabric::tree_port at;
    std::uint32_t number{};
  };
  struct waiting {
    packet_ptr p;
    std::uint64_t head, tail;
  };
  /// A child branch of a router, and the state of its credits and contributions.
  struct child {
    std::uint32_t unit{};           ///< index of the port to the child
    std::optional<pe_coord> leaf;   ///< a member at the port
    abi::address ring{};            ///< slot ring of that member
    bool receives{};                ///< multicasts go to this child
    bool contributes{};             ///< the child sends contributions to reductions
    std::uint32_t tail{};           ///< tail of the last credit received
    std::uint64_t credits{};        ///< credits received so far
    std::deque<std::uint64_t> out;  ///< packets whose copy has not left, by number
    std::deque<waiting> parts;      ///< contributions
    std::uint64_t waiting_bytes{};
  };
  /// A packet from the root of which copies are in the unit.
  struct held {
    std::uint32_t flits{};
    std::uint32_t copies{};
    std::uint64_t usable{};
  };
  struct node {
    std::uint32_t parent{};  ///< index of the port to the parent
    bool root{};
    std::vector<child> children;
    std::uint64_t credits_sent{};
    std::uint32_t tail_sent{};
    std::uint64_t first_held{};  ///< number of held.front()
    std::deque<held> held_packets;
    std::uint64_t busy_until{};  ///< cycle until which the adder is busy
  };
  /// Roles of a port: the node it is the parent of, and the node and child it leads down to.
  struct role {
    std::uint32_t node{none};
    std::uint32_t child{none};
  };

  [[nodiscard]] std::uint32_t index_of(fabric::router_index router, fabric::tree_port port) const;
  void add_node(const fabric::tree_node& n, const tree_program& program);
  [[nodiscard]] child make_child(const fabric::tree_node& n, const fabric::tree_port& port,
                                 const tree_program& program) const;
  [[nodiscard]] node& node_of(std::uint32_t unit, bool as_parent, const packet& p);

  void copy_down(std::uint32_t unit, const switch_core::departure& d, const packet_ptr& p);
  void combine_credit(std::uint32_t unit, const switch_core::departure& d, packet_ptr p);
  void contribute(std::uint32_t unit, const switch_core::departure& d, packet_ptr p);
  void combine(node& n);
  [[nodiscard]] packet_ptr sum_of(node& n);
  void address_leaf(packet& p, const child& c) const;
  void address_root(packet& p) const;
  void address_to(packet& p, pe_coord pe, abi::address match) const;
  void send(std::uint32_t unit, abi::tree_flow flow, packet_ptr p, std::uint64_t head, std::uint64_t tail);

  const fabric::topology& topology_;
  const sip_id sip_;
  const cube_id cube_;
  const std::string name_;
  const std::uint64_t fork_cycles_, combine_cycles_, bytes_per_cycle_, buffer_bytes_, credit_cycles_;
  const std::uint32_t flit_bytes_;

  std::vector<unit_port> ports_;
  std::vector<std::uint32_t> unit_of_;  ///< by port of the switches: index of its unit, or none
  std::map<std::pair<fabric::router_index, fabric::tree_port>, std::uint32_t> by_place_;
  std::vector<role> parents_, children_;  ///< by index of a port: its role
  std::vector<node> nodes_;
  std::optional<comm::tree_install> rings_;
  protocol::sequence_space space_;
  packet_pool* pool_{};
  std::vector<sent> sent_;
  std::vector<returned> returned_;
  counters counters_;
};

}  // namespace diecast::hw
