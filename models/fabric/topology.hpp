// SPDX-License-Identifier: Apache-2.0
// The physical graph of the pod, made from the config: routers, terminals, links, routes and their
// virtual channels. Netlists are built from it; NoC modules get routes from it.
//
// Directions: east is x + 1, north is y + 1, for routers in a cube and for cubes in a SIP.
// Within a cube: XY; on a torus or ring the shorter direction round (router_grid.hpp). Between cubes of a
// SIP: X first, then Y, leaving by the port nearest to the router the packet starts or entered from (so a
// straight crossing keeps its row or column; a crossbar spreads cubes over its ports by their numbers).
// Between SIPs: the pod topology's own next hop, through the gateway cube that holds its port: X first, then
// Y on rings, meshes and tori (the shorter direction round, ties go positive), the shortest path (lowest link
// index first) on lists and wherever a SIP link is missing. In a SIP with a UCIe link missing cubes are
// routed by table (topology_impl.hpp). A ring or torus dimension of two SIPs has one pair of links, not two:
// the shorter direction round would never use half of a second pair.
//
// Legs: one VC set per leg keeps the dependency graph free of cycles. The leg of a packet is a
// property of the cube it is in: 0 in its source cube; 1 + 2c in a cube it passes through and
// 2 + 2c in its destination cube or in the gateway it leaves the SIP by, c = SIP links crossed.
// Where that takes more than max_vcs VCs, rings, meshes and tori count otherwise: dimension order
// needs new VC sets only after the source SIP, after each dateline (the links that close a dimension)
// and for the last SIP, so c = 0 in the source SIP, 2 + D in the last one and 1 + D - datelines ahead
// between them, D = most datelines on any route. (There a packet's leg goes back from even to odd at SIP
// links it crosses within one c; find_dependency_cycle shows that this makes no cycle.)
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/abi/wire.hpp"
#include "models/config/machine_config.hpp"
#include "models/config/population.hpp"
#include "models/types/ids.hpp"
#include "models/types/immovable.hpp"
#include "models/types/time.hpp"

namespace diecast::fabric {

class router_grid;
struct vc_rule;

using leg = std::uint8_t;
using router_index = std::uint16_t;    ///< within a cube, row-major: y * columns + x
using terminal_index = std::uint16_t;  ///< within a cube

enum class side : std::uint8_t { north, east, south, west };
inline constexpr unsigned sides = 4;
/// VCs of a link; topologies that need more are refused.
inline constexpr unsigned max_vcs = 64;
[[nodiscard]] constexpr side opposite(side s) {
  return static_cast<side>((static_cast<unsigned>(s) + 2) % sides);
}
[[nodiscard]] const char* to_string(side s);

enum class terminal_kind : std::uint8_t { pe, hbm, sram, control_cpu, ucie_port, io_cpu, sip_port, traffic };
[[nodiscard]] const char* to_string(terminal_kind k);

/// Where a block is attached to a router. Terminal order is the same in every cube (PEs, HBM
/// ports, SRAM, control CPU, then UCIe ports of sides that have a neighbor); io_cpu and sip_port
/// follow on the cubes that have them. A network study has traffic terminals and nothing else.
struct terminal {
  terminal_kind kind{};
  std::uint32_t index{};  ///< PE, HBM port, port within its side, node, or the SIP link leaving here
  side edge{};            ///< ucie_port and sip_port: the outer edge it leads over
  router_index router{};
  std::string name;  ///< "pe3", "hbm0", "ucie_e.port2", "sip_port_e", "sip_port_p2"
  /// Whether packets that leave here continue to another cube or SIP.
  [[nodiscard]] bool leads_on() const {
    return kind == terminal_kind::ucie_port || kind == terminal_kind::sip_port;
  }
};

/// Places of routers. A ring keeps the columns and rows of its config: they determine the places of blocks,
/// not how routers are joined (topology::has_side). A crossbar is one router.
struct cube_layout {
  std::uint32_t columns{};
  std::uint32_t rows{};
  std::vector<terminal> terminals;
  [[nodiscard]] std::uint32_t routers() const { return columns * rows; }
};

/// A directed connection between SIPs, from one gateway's port to another's. Links come in pairs on the same
/// two ports: index ^ 1 is the reverse direction.
struct sip_link {
  std::uint32_t index{};
  abi::node_address from;  ///< sip_port terminal it leaves by
  abi::node_address to;    ///< sip_port terminal it arrives at
  std::string name;        ///< "pod.sip0.e-sip1.w"
};

enum class link_kind : std::uint8_t { mesh, inject, eject, ucie, sip };

/// A directed link of the pod for statistics, waveforms, cuts and the dependency check.
struct link {
  link_kind kind{};
  std::uint16_t sip{}, cube{};  ///< where it starts
  std::uint16_t from{};         ///< router (mesh, eject), terminal (inject), side (ucie), sip link (sip)
  std::uint16_t port{};         ///< side (mesh, ucie), router (inject), terminal (eject, sip)
  double gbytes_s{};            ///< raw rate, 1e9 bytes/s; 0: disabled by an override
  std::string name;             ///< "pod.sip0.cube_1_2.router_0_3.east"
};

/// How a packet entered a cube.
enum class entry : std::uint8_t { injected, from_cube, from_sip };

/// Decision made once per cube a packet enters.
struct cube_step {
  terminal_index exit{};  ///< terminal of this cube the packet leaves by
  leg next{};             ///< the packet's leg in this cube
};

/// One link of a traced route, with the leg and the dateline set of the buffer at its far end.
struct route_hop {
  std::uint32_t link{};
  leg at{};
  std::uint8_t set{};
};

/// VCs `first` to `first + count - 1` of a link.
struct vc_set {
  std::uint8_t first{};
  std::uint8_t count{};
  bool operator==(const vc_set&) const = default;
};

/// The next hop from a router: the output, and the VCs a packet may take at its far end.
struct hop {
  unsigned side{sides};  ///< `sides`: out of the cube, by the packet's exit terminal
  vc_set vcs;
};

/// Use of a topology.
enum class purpose : std::uint8_t {
  machine,           ///< a pod, as the config says
  network_study,     ///< routers of one cube with traffic terminals: no PEs, no memories, one traffic class
  transaction_study  ///< a network_study with two traffic classes: requests, which keep their VC, and
                     ///< responses
};

class topology : immovable {
 public:
  /// Throws user_error with every problem (zero counts, more cubes than the address map holds,
  /// terminals that do not fit, unreachable SIPs).
  ///
  /// A network study takes the noc block alone: one cube, a terminal "nodeN" on every router (a crossbar:
  /// columns x rows of them on its one router), numbered like the routers, and the VCs of one class,
  /// study_class. The limits of the address map do not apply to it.
  /// `network` of noc.networks, of which a machine has the first.
  explicit topology(const config::machine_config& config, purpose what = purpose::machine,
                    unsigned network = 0);
  ~topology();

  [[nodiscard]] const machine_shape& shape() const;
  [[nodiscard]] const cube_layout& layout(sip_id sip, cube_id cube) const;
  /// The cube next to `cube` on that side, if any.
  [[nodiscard]] std::optional<cube_id> neighbor(cube_id cube, side s) const;
  [[nodiscard]] std::span<const sip_link> sip_links() const;
  [[nodiscard]] cube_id io_cube(sip_id sip) const;  ///< holds io_cpu
  /// Settings of the link on that side of a cube, overrides applied.
  [[nodiscard]] const config::ucie_block& ucie(sip_id sip, cube_id cube, side s) const;
  /// What a router-to-router hop takes in a die, where that of the machine is `usual` (noc.hop_cycles).
  [[nodiscard]] std::uint64_t hop_cycles(sip_id sip, cube_id cube, std::uint64_t usual) const;
  /// hop_cycles of the slowest die.
  [[nodiscard]] std::uint64_t most_hop_cycles(std::uint64_t usual) const;
  /// Which PEs there are. Those left out keep their terminals, where nothing is attached.
  [[nodiscard]] const config::population& population() const;
  /// Which memory channels there are. Those left out keep their terminals, where nothing is attached.
  [[nodiscard]] const config::memory_channels& channels() const;
  /// Settings of a SIP link by its index, overrides applied.
  [[nodiscard]] const config::sip_link_block& sip_link_settings(std::uint32_t index) const;

  // VCs: [class][leg][dateline set][number]. Links without wrap-around routes have one dateline set.
  // VCs of a set are what noc.vcs gives a flow to keep (per_flow) or a packet to choose from (dynamic; in a
  // machine not in classes comm and sideband, whose receivers count on the order of a flow).
  static constexpr abi::traffic_class study_class = abi::traffic_class::comm;
  [[nodiscard]] unsigned legs() const { return plan_.legs; }
  [[nodiscard]] unsigned dateline_sets() const { return plan_.sets; }
  [[nodiscard]] unsigned vcs_per_set() const { return plan_.per_set; }
  /// Traffic classes that have VCs: all, or study_class alone.
  [[nodiscard]] unsigned classes() const { return plan_.classes; }
  /// VCs of a class over all legs, dateline sets and numbers.
  [[nodiscard]] unsigned vcs_of_class() const { return plan_.legs * vcs_of_leg(); }
  [[nodiscard]] unsigned vcs() const { return tree_vc_base() + plan_.tree_flows; }
  /// With noc.multicast the VCs of trees follow those of the classes, one per tree_flow. They belong to class
  /// comm and have no leg: a tree is acyclic by itself.
  [[nodiscard]] bool has_trees() const { return plan_.tree_flows > 0; }
  [[nodiscard]] unsigned tree_vc_base() const { return plan_.classes * vcs_of_class(); }
  [[nodiscard]] bool is_tree_vc(std::uint8_t vc) const { return vc >= tree_vc_base(); }
  /// Precondition: has_trees().
  [[nodiscard]] std::uint8_t tree_vc(abi::tree_flow f) const {
    return static_cast<std::uint8_t>(tree_vc_base() + static_cast<unsigned>(f));
  }
  /// Precondition: c is one of classes().
  [[nodiscard]] std::uint8_t vc(abi::traffic_class c, leg l, unsigned number = 0, unsigned set = 0) const {
    const unsigned group = (static_cast<unsigned>(c) - plan_.first_class) * plan_.legs + l;
    return static_cast<std::uint8_t>((group * plan_.sets + set) * plan_.per_set + number);
  }
  [[nodiscard]] leg leg_of(std::uint8_t vc) const { return static_cast<leg>(vc / vcs_of_leg() % plan_.legs); }
  [[nodiscard]] unsigned dateline_set_of(std::uint8_t vc) const { return vc / plan_.per_set % plan_.sets; }
  [[nodiscard]] abi::traffic_class class_of(std::uint8_t vc) const {
    if (is_tree_vc(vc)) return abi::traffic_class::comm;
    return static_cast<abi::traffic_class>(plan_.first_class + vc / vcs_of_class());
  }
  /// Whether packets of a class choose their VCs, with noc.vc_policy dynamic, hop by hop; else flows keep
  /// theirs.
  [[nodiscard]] bool any_vc(abi::traffic_class c) const { return plan_.chooses[static_cast<std::size_t>(c)]; }
  /// VCs that a packet of a flow may be injected into, at a terminal of its source or at the far end of a
  /// link between dies or packages: all of the leg where packets choose, else the VC that belongs to the
  /// flow.
  [[nodiscard]] vc_set injection_vcs(abi::traffic_class c, leg l, const abi::node_address& source,
                                     const abi::node_address& destination) const {
    // On one-way links the dateline set shows the wrap links that a packet has crossed: none yet.
    const unsigned vcs_to_enter = plan_.sets > 2 ? plan_.per_set : vcs_of_leg();
    if (any_vc(c)) return {vc(c, l), static_cast<std::uint8_t>(vcs_to_enter)};
    return {vc(c, l, flow_vc(source, destination)), 1};
  }

  /// The terminal that answers at an address. Throws std::out_of_range naming the address when
  /// nothing does, as at those of PEs and channels that are left out.
  [[nodiscard]] abi::node_address locate(abi::address a) const;

  /// Where a packet for `destination` that enters cube (sip, cube) at `router` leaves it, and on
  /// which leg it travels there. `before` is its leg on the previous cube (0 when injected).
  /// Cost: two table look-ups and a comparison. `before` is the leg on the packet's incoming link; a caller
  /// that knows the packet's leg here needs exit() only.
  [[nodiscard]] cube_step enter(sip_id sip, cube_id cube, router_index router, entry how, leg before,
                                const abi::node_address& destination) const;

  /// The terminal by which a packet for `destination` at `router` leaves the cube; enter() without legs.
  [[nodiscard]] terminal_index exit(sip_id sip, cube_id cube, router_index router,
                                    const abi::node_address& destination) const;

  /// The next hop of a packet that waits at `router` in VC `vc` and leaves the cube by `exit`. Its class and
  /// leg stay. One VC, of the number the packet has; where packets choose, all of its class and leg, on a
  /// link that packets go round on those of the dateline set it is in there. die_routes has these for
  /// a NoC, which needs one for every packet and hop.
  [[nodiscard]] hop next_hop(sip_id sip, cube_id cube, router_index router, terminal_index exit,
                             std::uint8_t vc) const;
  /// Output of `router` towards `exit`: a side, or `sides` when the terminal is on this router.
  [[nodiscard]] unsigned next_side(sip_id sip, cube_id cube, router_index router, terminal_index exit) const;
  /// How the routers of a cube are joined, and which VCs next_hop() gives.
  [[nodiscard]] const router_grid& grid() const;
  [[nodiscard]] vc_rule rule() const;
  /// Whether `router` has a neighbor on that side, perhaps by a wrap link.
  [[nodiscard]] bool has_side(router_index router, side s) const;
  /// Router-to-router links of a cube, each direction counted.
  [[nodiscard]] std::uint32_t mesh_links() const;
  /// Router-to-router links on the route from one router of a cube to another.
  [[nodiscard]] std::uint32_t distance(router_index from, router_index to) const;
  /// The router next to `router` on a side that has one.
  [[nodiscard]] router_index next_router(router_index router, side s) const;
  /// The terminal at the other end of a UCIe port or SIP port. Throws std::logic_error for others.
  [[nodiscard]] abi::node_address far_end(const abi::node_address& exit) const;

  /// SIP link a packet in SIP `at` bound for SIP `to` leaves by. Precondition: they differ.
  [[nodiscard]] std::uint32_t sip_route(sip_id at, sip_id to) const;

  /// Where IPCQ rings live: decides whether class comm waits on class request.
  [[nodiscard]] config::buffer_kind ring_buffers() const;

  /// All links, indexed by the numbers used in events and statistics.
  [[nodiscard]] std::span<const link> links() const;
  [[nodiscard]] std::uint32_t mesh_link(sip_id, cube_id, router_index, side) const;
  [[nodiscard]] std::uint32_t inject_link(sip_id, cube_id, terminal_index) const;
  [[nodiscard]] std::uint32_t eject_link(sip_id, cube_id, terminal_index) const;
  [[nodiscard]] std::uint32_t ucie_link(sip_id, cube_id, side) const;
  [[nodiscard]] std::uint32_t sip_link_id(std::uint32_t sip_link_index) const;

  /// The whole route of one packet, from injection to ejection.
  /// The link into a terminal that leads on (ucie_port, sip_port) is followed by the ucie or sip link,
  /// whose far-end buffer keeps the leg the packet had in the cube it left.
  [[nodiscard]] std::vector<route_hop> trace(abi::node_address from, abi::node_address to) const;

 private:
  struct impl;
  struct vc_plan {
    unsigned first_class{};
    unsigned classes{abi::traffic_classes};
    unsigned legs{1};
    unsigned sets{1};
    unsigned per_set{1};
    std::array<bool, abi::traffic_classes> chooses{};  ///< any_vc()
    unsigned tree_flows{};                             ///< VCs of trees in the network
  };
  [[nodiscard]] unsigned vcs_of_leg() const { return plan_.sets * plan_.per_set; }
  [[nodiscard]] unsigned flow_vc(const abi::node_address& source, const abi::node_address& destination) const;
  std::unique_ptr<impl> impl_;
  vc_plan plan_;
};

/// A cycle in the dependency graph over (link, VC) and message classes, in order; empty when
/// there is none. Built from every route the topology can take.
[[nodiscard]] std::vector<std::string> find_dependency_cycle(const topology& t);

/// Time from the first flit leaving the source's terminal to the last flit arriving at the
/// destination's, on an idle fabric. Mirrors hw/noc, hw/d2d to the femtosecond (tested).
[[nodiscard]] sim_time idle_latency(const topology& t, const config::machine_config& config,
                                    abi::node_address from, abi::node_address to, abi::traffic_class c,
                                    std::uint32_t flits);

/// Buffer sizes that follow from other keys when given as auto.
[[nodiscard]] std::uint32_t vc_buffer_flits(const config::machine_config& c);
[[nodiscard]] std::uint32_t sideband_buffer_flits(const config::machine_config& c);
[[nodiscard]] std::uint32_t ucie_buffer_flits(const config::machine_config& c, const config::ucie_block& u);
[[nodiscard]] std::uint32_t sip_link_buffer_flits(const config::machine_config& c,
                                                  const config::sip_link_block& s);
/// One row of the balance table that --check-config prints.
struct balance_row {
  std::string what;
  double gbytes_s{};
  std::string detail;
  std::string warning;  ///< empty when balanced
};
[[nodiscard]] std::vector<balance_row> balance(const topology& t, const config::machine_config& c);

// Dependencies between buffers of the fabric, and cycles in their graph.

/// A packet that holds node `holds` may wait for node `wants`.
struct dependency {
  std::uint32_t holds{};
  std::uint32_t wants{};
  auto operator<=>(const dependency&) const = default;
};

/// Number of the buffers of a dateline set and leg at the far end of a link.
[[nodiscard]] std::uint32_t dependency_node(const topology& t, std::uint32_t link, leg l, unsigned set);

/// Dependencies between the buffers at the far ends of links, over all routes between blocks; each once,
/// in ascending order. Injection by a block and ejection to a block are left out: nothing in
/// the fabric waits for the one, and the other sinks as the class table promises.
[[nodiscard]] std::vector<dependency> route_dependencies(const topology& t);

/// The nodes of one cycle in order, each wanting the next and the last the first; empty when there is
/// none. Which cycle is found depends on the order of the edges alone. Linear in nodes and edges.
[[nodiscard]] std::vector<std::uint32_t> find_cycle(const std::vector<dependency>& edges, std::size_t nodes);

// Buffers at the ends of a NoC crossing, in flits per VC. They hold whole packets until the block
// behind them takes them, so they are deeper than a router's.

[[nodiscard]] inline std::uint32_t max_packet_flits(const config::machine_config& c) {
  return abi::flits_of(static_cast<std::uint32_t>(c.noc.max_packet_bytes),
                       static_cast<std::uint32_t>(c.noc.flit_bytes));
}

/// Buffer of a bulk class after the network interface a packet enters by. Announcements at an interface are
/// of whole packets, so where a wormhole's router buffers do not hold one, this one holds two: one leaves
/// while the other comes in.
[[nodiscard]] inline std::uint32_t injection_buffer_flits(const config::machine_config& c) {
  const std::uint32_t router = vc_buffer_flits(c);
  const bool wormhole = c.noc.flow == config::noc_flow::wormhole;
  return wormhole ? std::max(router, 2 * max_packet_flits(c)) : router;
}

/// Receive buffer of a block or an adapter at a NoC terminal. A packet stays until its tail is there
/// and the block has taken it, another may wait for its turn on a die-to-die link, and credits are a
/// network interface and a return away: three packets and that loop keep a link busy.
[[nodiscard]] inline std::uint32_t receive_buffer_flits(const config::machine_config& c) {
  const auto loop = static_cast<std::uint32_t>(c.noc.ni_out_cycles + c.noc.credit_cycles);
  return std::max(vc_buffer_flits(c), 3 * max_packet_flits(c) + loop);
}

/// Receive buffer for class sideband, whose packets are one flit long.
[[nodiscard]] inline std::uint32_t receive_sideband_flits(const config::machine_config& c) {
  const auto loop = static_cast<std::uint32_t>(c.noc.ni_out_cycles + c.noc.credit_cycles);
  return std::max(sideband_buffer_flits(c), 3 + 2 * loop);
}

}  // namespace diecast::fabric
