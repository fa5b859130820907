// SPDX-License-Identifier: Apache-2.0
// Arithmetic of the fabric's segments and links. fabric::idle_latency and hw/noc, hw/d2d call the
// same functions, so that formula and hardware agree to the femtosecond.
//
// A NoC crossing is cut-through: only its ends cost a packet's length, once. A link between dies or
// packages has another rate than the NoC, so its adapter stores the packet: the link starts when the
// tail has arrived, sends header and payload flits as bytes, and the receiver injects the packet as
// soon as flits streaming at one per cycle can no longer overtake the bytes.
#pragma once

#include <algorithm>
#include <cstdint>

#include "models/config/machine_config.hpp"
#include "models/types/time.hpp"

namespace diecast::timing {

/// Head and tail of a packet at one place: when its first and its last flit are there.
struct span {
  sim_time head;
  sim_time tail;
  bool operator==(const span&) const = default;
};

/// Idle crossing of one cube's NoC, in cycles of noc.clock_ghz.
struct noc_timing {
  clock_domain clock;
  std::uint64_t ni_in_cycles{};         ///< terminal to first router's input buffer
  std::uint64_t hop_cycles{};           ///< input buffer to next router's input buffer
  std::uint64_t link_cycles{};          ///< of hop_cycles, the wire
  std::uint64_t ni_out_cycles{};        ///< last router's output to the terminal
  std::uint64_t routing_cycles{};       ///< of the pipeline: route computation, a packet of a VC at a time
  std::uint64_t vc_alloc_cycles{};      ///< of the pipeline: VC allocation, likewise
  std::uint64_t switch_alloc_cycles{};  ///< of the pipeline: switch allocation, pipelined

  /// The router's pipeline: input buffer to output.
  [[nodiscard]] std::uint64_t pipeline_cycles() const { return hop_cycles - link_cycles; }
  /// What a packet spends at the front of its VC before it asks for the switch. The packet behind it
  /// starts on this when the tail before it has left the VC.
  [[nodiscard]] std::uint64_t front_cycles() const { return routing_cycles + vc_alloc_cycles; }
  /// From winning the switch to the output.
  [[nodiscard]] std::uint64_t traversal_cycles() const {
    return pipeline_cycles() - front_cycles() - switch_alloc_cycles;
  }
  /// From the head leaving the source terminal to the head arriving at the exit terminal, over
  /// `mesh_links` router-to-router links.
  [[nodiscard]] std::uint64_t head_cycles(std::uint64_t mesh_links) const {
    return ni_in_cycles + mesh_links * hop_cycles + pipeline_cycles() + ni_out_cycles;
  }
  /// A packet whose head leaves its terminal at `start`, at the terminal where it leaves the cube.
  [[nodiscard]] span crossing(sim_time start, std::uint64_t mesh_links, std::uint32_t flits) const {
    const sim_time head = start + clock.cycles(head_cycles(mesh_links));
    return {head, head + clock.cycles(flits - 1)};
  }
};

/// A serial link between two adapters. Every flit costs `flit_bytes`, the header flit too.
struct link_timing {
  std::uint64_t flit_bytes{};
  double gbytes_s{};      ///< after flit format, 1e9 bytes/s
  sim_time latency;       ///< last bit sent to last bit received
  clock_domain receiver;  ///< clock of the NoC the packet is injected into

  /// How long `flits` occupy the link; the next packet may start then.
  [[nodiscard]] sim_time serialization(std::uint32_t flits) const {
    const double bytes = static_cast<double>(flit_bytes * flits);
    return nanoseconds(bytes / gbytes_s);
  }
  /// When the first flit and the whole packet are at the receiving adapter, for a link started at
  /// `start` (not before the packet's tail has arrived at the sending adapter).
  [[nodiscard]] span arrival(sim_time start, std::uint32_t flits) const {
    return {start + serialization(1) + latency, start + serialization(flits) + latency};
  }
  /// First clock edge at which the head may be injected: flits then leave one per cycle and none
  /// before its bytes have arrived.
  [[nodiscard]] sim_time injection(const span& at_receiver, std::uint32_t flits) const {
    const sim_time streaming = receiver.cycles(flits - 1);
    const sim_time catch_up{at_receiver.tail > streaming ? at_receiver.tail.fs - streaming.fs : 0};
    return receiver.edge_at_or_after(std::max(at_receiver.head, catch_up));
  }
  /// From the tail at the sending adapter to the head injected behind the receiving one, link idle.
  [[nodiscard]] sim_time crossing(sim_time tail_at_sender, std::uint32_t flits) const {
    return injection(arrival(tail_at_sender, flits), flits);
  }
};

[[nodiscard]] clock_domain noc_clock(const config::machine_config& c);
[[nodiscard]] noc_timing noc_timing_of(const config::machine_config& c);
/// One UCIe side of a cube: all its modules together are one link.
[[nodiscard]] link_timing ucie_timing_of(const config::machine_config& c);
[[nodiscard]] link_timing sip_link_timing_of(const config::machine_config& c);

}  // namespace diecast::timing
