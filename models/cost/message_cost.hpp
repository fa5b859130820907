// SPDX-License-Identifier: Apache-2.0
// Cost of one message: the firmware around it, the engines at both ends, the fabric between them. The
// terms are the blocks' own cycle counts (hw/ipcq, hw/pe, sw/runtime), so that bounds and formulas describe
// this machine.
#pragma once

#include <cstdint>

#include "models/comm/patterns.hpp"
#include "models/config/machine_config.hpp"
#include "models/fabric/topology.hpp"
#include "models/numeric/types.hpp"
#include "models/types/ids.hpp"
#include "models/types/time.hpp"

namespace diecast::cost {

// Payload rates of links: the NoC's header flits and packets, UCIe's frames, the ports that feed a
// die's edge. All computations of times of tensors on links use these functions.

[[nodiscard]] inline double d(std::uint64_t n) { return static_cast<double>(n); }

class wire_rates {
 public:
  explicit wire_rates(const config::machine_config& c);

  /// Bytes on a wire per byte of payload, at best: full packets of whole flits, none longer than a slot.
  [[nodiscard]] double wire_bytes_per_byte() const { return factor_; }
  /// Bytes on a wire per byte of a DMA copy, whose packets have the largest size.
  [[nodiscard]] double copy_bytes_per_byte() const { return copy_factor_; }
  /// Raw rate of a link between routers, and of a terminal's link to its router; 1e9 bytes/s.
  [[nodiscard]] double noc_gbytes_s() const { return noc_; }
  /// NoC flit rate of one side of a cube per direction: that of its UCIe link, or of the ports that feed it.
  [[nodiscard]] double ucie_gbytes_s(const fabric::topology& t, sip_id sip, cube_id cube,
                                     fabric::side s) const;
  /// NoC flit rate of a SIP link by its index: its own rate or that of the NoC port behind it, whichever is
  /// less.
  [[nodiscard]] double sip_link_gbytes_s(const fabric::topology& t, std::uint32_t index) const;
  /// The TCM of one PE.
  [[nodiscard]] double tcm_gbytes_s() const { return tcm_; }
  /// Operand rate of one PE's vector unit.
  [[nodiscard]] double vector_gbytes_s() const { return vector_; }

 private:
  const config::machine_config& config_;
  double factor_{1};
  double copy_factor_{1};
  double noc_{};
  double tcm_{};
  double vector_{};
};

/// Costs at the two ends of a message, without the fabric between the terminals.
struct endpoint_costs {
  sim_time send;       ///< firmware: the runtime call and its two registers, up to the doorbell
  sim_time departure;  ///< doorbell to the first packet at the network interface: engine, DMA, TCM read
  sim_time source;     ///< the part of the source that the TCM read takes
  sim_time arrival;    ///< last packet at the receiver's terminal to the token visible: TCM write, match
  sim_time wake;       ///< interrupt and the read of the event register
  sim_time call;       ///< firmware: the runtime call that takes the message
  sim_time release;    ///< firmware: the tail register
  sim_time drain;      ///< firmware: the last read of the event register before a kernel ends
  sim_time vector;     ///< a vector command of one element, from start to result
  sim_time issue;      ///< between two descriptors of the DMA
};
[[nodiscard]] endpoint_costs endpoint_costs_of(const config::machine_config& c);

/// Bytes of an element of the longest type: parts of n ranks differ by less than this.
inline constexpr std::uint64_t longest_element = numeric::size_of(numeric::dtype::f32);

/// Cost of any number of messages without the time of their bytes: nothing leaves before the first doorbell,
/// and the last message has to be received.
struct transfer_ends {
  sim_time consume;  ///< the cheapest use of a message: a vector command, or a DMA that sends it on
  sim_time last;     ///< firmware: after that
  sim_time startup;  ///< both ends together, and one NoC crossing of a flit
};
[[nodiscard]] transfer_ends ends_of_transfer(const config::machine_config& c);

/// The terminal of a PE.
[[nodiscard]] abi::node_address terminal_of(const fabric::topology& t, pe_coord pe);

/// Flits of a message of at most one packet.
[[nodiscard]] std::uint32_t message_flits(const config::machine_config& c, std::uint64_t bytes);

/// Whether messages between SIPs go through host memory instead of over SIP links.
[[nodiscard]] bool is_staged(const config::machine_config& c);

/// Rate at which a SIP moves staged messages to or from host memory, 1e9 bytes/s: the host's rate, or that of
/// the I/O CPU's NoC port.
[[nodiscard]] double staging_gbytes_s(const config::machine_config& c);

/// A packet's time from the I/O CPU of one SIP to that of another, through idle host memory.
[[nodiscard]] sim_time staging_idle(const config::machine_config& c, std::uint32_t flits);

/// A message of one packet on an idle machine, terminal to terminal: over the fabric, or through host memory
/// where comm.path says so.
[[nodiscard]] sim_time message_idle(const fabric::topology& t, const config::machine_config& c, pe_coord from,
                                    pe_coord to, std::uint32_t flits);

// Latency terms of lower_bound.
//
// Two facts are used. A byte must get from each rank to the farthest other. And one rank's byte reaches all
// others (or a byte of each of them reaches one rank) no faster than over the best tree of messages, where a
// rank that has the byte sends a message every `gap` and each takes `hop` (the optimal broadcast of Karp,
// Sahay, Santos and Schauser, SPAA 1993, with LogP's parameters taken from this machine).

/// Time until `ranks` have the data when the first has it at 0. Preconditions: hop > 0, gap > 0.
[[nodiscard]] sim_time best_tree(std::uint64_t ranks, sim_time hop, sim_time gap);

struct far_pair {
  /// The least time of one element on an idle fabric, terminal to terminal: in one message, or in several via
  /// other ranks, which where links differ may be faster; the work of those ranks is left out.
  sim_time idle;
  pe_coord from, to;
};
/// The pair with the longest path: exact up to 64 ranks, up to 256 the longest found by going to the farthest
/// rank from the last one found, four times. With more: nearest_idle() and some pair, a bound for all.
[[nodiscard]] far_pair farthest_pair(const fabric::topology& t, const config::machine_config& c,
                                     const comm::group& g);
/// The farthest partner of one rank, in the direction to it (`inbound`) or away from it; beyond 256 ranks as
/// above. Preconditions: `rank` is one of at least two.
[[nodiscard]] far_pair farthest_from(const fabric::topology& t, const config::machine_config& c,
                                     const comm::group& g, pe_coord rank, bool inbound);

/// A lower bound of the idle latency between any two ranks: exact within cubes, between cubes the least a
/// link adds.
[[nodiscard]] sim_time nearest_idle(const fabric::topology& t, const config::machine_config& c,
                                    const comm::group& g);

}  // namespace diecast::cost
