// SPDX-License-Identifier: Apache-2.0
// Arithmetic of the fabric's segments and links. fabric::idle_latency and hw/noc, hw/d2d call the
// same functions, so that formula and hardware agree to the femtosecond.
//
// A NoC crossing is cut-through: only its ends cost a packet's length, once. A link between dies or
// packages has another rate than the NoC, so its adapter stores the packet: the link starts when the
// tail has arrived, sends header and payload flits as bytes, and the receiver injects the packet as
// soon as flits streaming at one per cycle can no longer overtake the bytes.
//
// A UCIe link carries those bytes in frames, the flits of its own (68 B or 256 B; "frame" here, because
// "flit" is the NoC's). A frame cannot be used before its CRC has been checked, so its contents
// arrive with its last bit. Packets follow each other within a frame; the last frame before the
// link falls idle is padded.
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
  std::uint64_t link_cycles{};          ///< wire cycles within hop_cycles
  std::uint64_t ni_out_cycles{};        ///< last router's output to the terminal
  std::uint64_t routing_cycles{};       ///< route computation, one packet of a VC at a time
  std::uint64_t vc_alloc_cycles{};      ///< VC allocation, one packet of a VC at a time
  std::uint64_t switch_alloc_cycles{};  ///< switch allocation, pipelined

  /// The router's pipeline: input buffer to output.
  [[nodiscard]] std::uint64_t pipeline_cycles() const { return hop_cycles - link_cycles; }
  /// Cycles of a packet at the front of its VC before it requests the switch. The next packet starts these
  /// when the previous tail has left the VC.
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
  double gbytes_s{};                    ///< after flit format, 1e9 bytes/s
  sim_time latency;                     ///< last bit sent to last bit received
  clock_domain receiver;                ///< clock of the NoC the packet is injected into
  std::uint64_t frame_payload_bytes{};  ///< bytes of NoC flits in a frame; 0: a stream without frames
  std::uint64_t frame_wire_bytes{};     ///< wire bytes of a frame; 0 without frames

  /// How long `flits` occupy the link; the next packet may start then.
  [[nodiscard]] sim_time serialization(std::uint64_t flits) const {
    const double bytes = static_cast<double>(flit_bytes * flits);
    return nanoseconds(bytes / gbytes_s);
  }
  [[nodiscard]] bool framed() const { return frame_payload_bytes != 0; }
  /// Frames that the first `flits` of a stream take. Precondition: framed().
  [[nodiscard]] std::uint64_t frames(std::uint64_t flits) const {
    return (flits * flit_bytes + frame_payload_bytes - 1) / frame_payload_bytes;
  }
  /// Duration of `n` frames on the wire.
  [[nodiscard]] sim_time frame_time(std::uint64_t n) const {
    return nanoseconds(static_cast<double>(n * frame_payload_bytes) / gbytes_s);
  }
  /// From the start of a stream until what its first `flits` carry can be used, latency excluded.
  [[nodiscard]] sim_time usable(std::uint64_t flits) const {
    return framed() ? frame_time(frames(flits)) : serialization(flits);
  }
  /// When the first flit and the whole packet are at the receiving adapter, for an idle link started at
  /// `start` (not before the packet's tail has arrived at the sending adapter).
  [[nodiscard]] span arrival(sim_time start, std::uint32_t flits) const {
    return {start + usable(1) + latency, start + usable(flits) + latency};
  }
  /// Flits of a packet of `flits` that may arrive with its last frame.
  [[nodiscard]] std::uint32_t together(std::uint32_t flits) const {
    if (!framed()) return 1;
    const std::uint64_t most = (frame_payload_bytes + flit_bytes - 1) / flit_bytes;
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(flits, most));
  }
  /// First clock edge at which the head may be injected: flits then leave one per cycle and none
  /// before its bytes have arrived (with frames, none more than a cycle before its frame is complete).
  [[nodiscard]] sim_time injection(const span& at_receiver, std::uint32_t flits) const {
    const sim_time streaming = receiver.cycles(flits - together(flits));
    const sim_time catch_up{at_receiver.tail > streaming ? at_receiver.tail.fs - streaming.fs : 0};
    return receiver.edge_at_or_after(std::max(at_receiver.head, catch_up));
  }
  /// From the tail at the sending adapter to the injection of the head by the receiving one, link idle.
  [[nodiscard]] sim_time crossing(sim_time tail_at_sender, std::uint32_t flits) const {
    return injection(arrival(tail_at_sender, flits), flits);
  }
};

[[nodiscard]] clock_domain noc_clock(const config::machine_config& c);
[[nodiscard]] noc_timing noc_timing_of(const config::machine_config& c);
/// One UCIe side of a cube: all its modules together are one link. `u`: the settings of that link.
[[nodiscard]] link_timing ucie_timing_of(const config::machine_config& c, const config::ucie_block& u);
[[nodiscard]] link_timing sip_link_timing_of(const config::machine_config& c,
                                             const config::sip_link_block& s);

/// Bytes of NoC flits in a flit of the format, and its bytes on the wire (UCIe 1.1: 68 B flits carry 64 B
/// after a header of 2 B and before a CRC of 2 B; standard 256 B flits carry 236 B, 6 B are for data link
/// packets, 14 B header, CRC and reserved). Raw has none: {0, 0}.
struct frame_format {
  std::uint64_t payload_bytes{}, wire_bytes{};
};
[[nodiscard]] frame_format frame_of(config::flit_format f);

/// Payload bytes/s of one UCIe side after flit format, 1e9 bytes/s; and before it.
[[nodiscard]] double ucie_payload_gbytes_s(const config::ucie_block& u);
[[nodiscard]] double ucie_raw_gbytes_s(const config::ucie_block& u);

/// Given, or by rate: UCIe specifies 1e-15 up to 32 GT/s; above, 1e-12. 0 for raw flits, which have no CRC.
[[nodiscard]] double ucie_ber(const config::ucie_block& u);
/// Energy of a bit on the wire in pJ: given, or by package and rate.
[[nodiscard]] double ucie_pj_per_bit(const config::ucie_block& u);
/// Retry buffer in frames: given, or what is sent until the Ack of the first frame is back, raw rate x
/// twice the latency, rounded up.
[[nodiscard]] std::uint32_t ucie_retry_frames(const config::machine_config& c, const config::ucie_block& u);

/// Frames that a corrupted frame costs: itself and those sent until its Nak is back (go-back-N).
[[nodiscard]] std::uint64_t go_back_frames(const link_timing& t);
/// Probability that a frame of `bits` has an error.
[[nodiscard]] double frame_error_rate(double ber, std::uint64_t bits);
/// The least n that a Poisson variable of that mean exceeds with a probability below `tail`.
[[nodiscard]] std::uint64_t poisson_quantile(double mean, double tail);
/// Share of the payload rate that replay leaves of a saturated link. With p the probability that a frame is
/// corrupted, a frame is sent 1 / (1 - p) times on average; each time but the last costs w frames, the
/// last one costs one: 1 / (1 + w p / (1 - p)) = (1 - p) / (1 - p + w p).
[[nodiscard]] double replay_share(double p, std::uint64_t w);
/// Share of the wire that a retry buffer of `frames` allows: a frame leaves when the Ack of the one
/// `frames` before is back, so `frames` leave per round trip of twice the latency.
[[nodiscard]] double retry_share(const link_timing& t, std::uint32_t frames);
/// The longest wait of a packet of `flits` on an otherwise idle link for room in a retry buffer of `frames`,
/// when its first frames follow a frame in flight: each time it is full, a buffer delays a packet by a round
/// trip. Zero for one that covers the round trip.
[[nodiscard]] sim_time retry_wait(const link_timing& t, std::uint32_t frames, std::uint64_t flits);
/// The interval of packets of `flits` when each waits for the link credits of the previous one and the next
/// NoC takes it at once: across, freed, credits back, to the next clock edge.
[[nodiscard]] sim_time credit_round_trip(const link_timing& t, std::uint32_t flits);

}  // namespace diecast::timing
