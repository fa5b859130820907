// SPDX-License-Identifier: Apache-2.0
// From a logical pattern (a flat list of PE-level edges) to the contents of every queue pair's
// registers, with the invariants of the plan proven.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/abi/address.hpp"
#include "models/abi/registers.hpp"
#include "models/config/machine_config.hpp"
#include "models/config/population.hpp"
#include "models/fabric/topology.hpp"
#include "models/numeric/types.hpp"
#include "models/types/error.hpp"
#include "models/types/ids.hpp"
#include "models/types/time.hpp"

namespace diecast::comm {

/// The carrier of an edge's messages: a queue pair at each end, or the tree in the network, where one
/// half serves all members at once.
enum class carrier : std::uint8_t { queue_pairs, multicast, reduction };

/// One edge of a pattern, seen from `from`.
struct edge {
  pe_coord from;
  direction dir{};
  pe_coord to;
  bool bidirectional{true};  ///< false: from transmits, to receives
  /// Direction at `to` that pairs with this one; only for unidirectional edges and custom patterns
  /// that give it. Otherwise it is found by pairing.
  std::int32_t reverse{-1};
  /// multicast: all such edges leave one PE, the root, in one direction, and arrive in that direction;
  /// reduction: all arrive at the root, which may be among the senders.
  carrier through{carrier::queue_pairs};
};

/// The place of a slot ring, and the contents of one or both halves of a queue pair.
struct queue_pair_install {
  pe_coord owner;
  direction dir{};
  bool tx{}, rx{};
  pe_coord peer;
  abi::address rx_base{};       ///< 0 when rx is false
  abi::address peer_rx_base{};  ///< 0 when tx is false
  abi::address peer_ipcq{};
  std::uint32_t n_slots{}, slot_bytes{};  ///< shape of the slot rings it reads and writes; equal at both ends
  carrier through{carrier::queue_pairs};
};

/// How routers combine contributions.
struct tree_arithmetic {
  numeric::dtype type{};  ///< element type of the packets
  numeric::reduction op{};
  bool in_f32{};  ///< f16 and bf16 are added in f32 and rounded when the sum leaves
};

/// The tree in the network that a plan needs, with the members' slot rings, which routers must know.
struct tree_install {
  struct member {
    pe_coord pe;
    abi::address ring{};  ///< slot ring for multicasts; 0: the member receives none
    bool contributes{};   ///< the member contributes to reductions
  };
  pe_coord root;
  std::vector<member> members;  ///< members in order of coordinates, the root included
  abi::address root_ring{};     ///< slot ring for reductions; 0: there are none
  std::uint32_t n_slots{}, slot_bytes{};
  tree_arithmetic arithmetic{};  ///< build_install_plan leaves it to its caller
};

/// Rings of unexpected messages and heaps of PEs that exchange tag-matched messages, all of them with each
/// other: from tcm_offset upwards a slot for each credit of each peer, itself included, then the heap.
struct message_install {
  std::vector<pe_coord> pes;
  std::uint64_t tcm_offset{};
  std::uint64_t slot_bytes{};
  std::uint64_t peer_credits{};
  std::uint64_t heap_bytes{};
  [[nodiscard]] std::uint64_t slots() const { return pes.size() * peer_credits; }
  [[nodiscard]] std::uint64_t bytes() const { return slots() * slot_bytes + heap_bytes; }
};
[[nodiscard]] message_install plan_messages(const config::machine_config& c, std::vector<pe_coord> pes,
                                            std::uint64_t tcm_offset);

struct install_plan {
  std::uint32_t n_slots{};                      ///< slots of every ring that build_install_plan places
  std::uint32_t slot_bytes{};                   ///< bytes of a slot of these rings
  std::vector<queue_pair_install> queue_pairs;  ///< ordered by owner, then direction
  std::optional<message_install> messages;
  std::optional<tree_install> tree;
};

/// TCM use of a PE: rings from the top of TCM downwards, tensors from the bottom up.
struct plan_options {
  config::buffer_kind rings{config::buffer_kind::tcm};
  std::uint32_t n_slots{};
  std::uint32_t slot_bytes{};
  std::uint32_t queue_pairs{};         ///< per PE
  std::uint64_t tcm_bytes{};           ///< per PE
  std::uint64_t tcm_reserved_bytes{};  ///< per PE, for tensors, scratch and programs
  std::uint64_t sram_bytes{};          ///< per cube
  std::uint64_t hbm_port_bytes{};      ///< per HBM port
  std::uint32_t hbm_ports{};           ///< per cube
  std::uint32_t pes_per_cube{};
  std::optional<config::memory_channels> channels{};  ///< none: every cube has all hbm_ports
};
[[nodiscard]] plan_options options_from(const config::machine_config& c, std::uint64_t tcm_reserved_bytes);

/// Pairs queue pairs (opposite directions preferred), places rings and proves the plan: every ring has one
/// writer, rings are disjoint over the pod and fit, queue pairs are below ipcq.queue_pairs. O(M log M).
/// Throws user_error with every violation.
///
/// A bidirectional edge pairs with a bidirectional edge back: the one `reverse` names, else the
/// opposite direction, else the lowest direction not yet paired; none left is an error. A one-way
/// edge makes a transmit half at `from` and a receive half at `to`, in direction `reverse` or, when
/// that is negative, in the opposite direction. The halves of one queue pair must have one peer.
/// Edges of a tree make one half per member: see `carrier`. There is one tree in a plan, with one root.
/// Rings lie top-down in direction order: in the PE's TCM, or the cube's SRAM, or the PE's home HBM
/// port (config::memory_channels; without channels PE p of P has port p * hbm_ports / P).
[[nodiscard]] install_plan build_install_plan(const std::vector<edge>& edges, const plan_options& options);

/// Proves a plan, independently of how it was made: every (owner, queue pair) once; rings disjoint over the
/// pod; both ends of a ring have its slots and slot size; every ring has exactly one writer, the writer is
/// the peer that the ring's credits go to, and two queue pairs that both send and receive write to each
/// other's rings; the halves of a tree are those of its routers, and no others. Addresses are not decoded.
/// Throws user_error naming both owners, with the paths of the PEs concerned where the shape is given.
void prove_install_plan(const install_plan& plan, const machine_shape* shape = nullptr);

/// One register to write, by the host's backdoor or over the fabric.
struct register_write {
  abi::register_offset reg{};
  std::uint64_t value{};
};
/// What installing one queue pair of the plan writes to its owner's registers, in order; enabling
/// comes last.
[[nodiscard]] std::vector<register_write> register_writes(const queue_pair_install& q);
/// Register writes for the tag-matching unit of one PE.
[[nodiscard]] std::vector<register_write> register_writes(const message_install& m, pe_coord pe);

/// The plan as a table, one queue pair a line, for --dump-install.
[[nodiscard]] std::string to_text(const install_plan& plan, const direction_namer& names = generic_names());

/// Start time of a launch: the path host -> IO CPU -> control CPU -> PE, its stations and its worst latency.
/// All PEs of a launch start at one instant, and none may get its packet after it.
[[nodiscard]] abi::address launch_mailbox(pe_coord pe);
[[nodiscard]] abi::node_address io_cpu_node(const fabric::topology& t, sip_id sip);
[[nodiscard]] abi::node_address control_cpu_node(const fabric::topology& t, sip_id sip, cube_id cube);

/// Flits of one launch packet.
[[nodiscard]] std::uint32_t launch_flits(const config::machine_config& config);
/// Throws user_error when no buffer of the NoC holds a launch packet.
void check_launch_packet(const config::machine_config& config);

/// Upper bound of the time from the hosts' launch calls, one per SIP at one instant, to the arrival of
/// the last participant's packet. `participants` of each SIP are in the order they are launched; order
/// between SIPs does not matter. 0 when host.launch is ideal or no PE takes part.
///
/// Along the path: host_cycles; the IO CPU's packets one after the other; idle latency to the cube; the
/// control CPU's packets one after the other; idle latency to the PE. Packets of one sender share a tree of
/// links; they do not delay each other if they leave no faster than its slowest link accepts them with
/// credits for one packet. Packets of two senders may delay each other by two packets' length at every link.
/// The fabric carries no other traffic: a launch begins after the previous one has completed.
[[nodiscard]] sim_time worst_dispatch(const fabric::topology& t, const config::machine_config& config,
                                      std::span<const pe_coord> participants);

// First step of an install plan: which direction at the peer each edge of a pattern pairs with.

/// One half of a queue pair: `owner` sends (tx) or receives in direction `dir`, and the other half
/// is the peer's direction `peer_dir`.
struct queue_pair_half {
  pe_coord owner;
  direction dir{};
  bool rx{};
  pe_coord peer;
  direction peer_dir{};
};

/// Every edge as its two halves, ordered by owner, direction, tx before rx. Appends to `problems`
/// self-loops, directions used twice, declared bidirectional edges without a reciprocal, and queue
/// pairs whose halves lead to different peers.
[[nodiscard]] std::vector<queue_pair_half> pair_directions(const std::vector<edge>& edges,
                                                           std::vector<problem>& problems);

}  // namespace diecast::comm
