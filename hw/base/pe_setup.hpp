// SPDX-License-Identifier: Apache-2.0
// What the blocks of a PE are built with.
#pragma once

#include "hw/base/fault_sink.hpp"
#include "hw/base/packet.hpp"
#include "models/abi/address.hpp"
#include "models/config/machine_config.hpp"
#include "models/events/events.hpp"
#include "models/fabric/topology.hpp"
#include "models/types/time.hpp"

namespace diecast::hw {

/// All of them.
struct pe_setup {
  const config::machine_config& config;
  const events::hub& events;
  fault_sink& faults;
  pe_coord self;
};

/// Firmware acts half a cycle after an edge of the PE's clock, so that it never meets an event of the same
/// instant.
[[nodiscard]] inline sim_time core_phase(const config::machine_config& c) {
  return {clock_domain::from_ghz(c.noc.clock_ghz).period.fs / 2};
}
/// Packets that a block holds on their way to the network: one being read while one waits hides
/// the TCM's latency.
inline constexpr std::uint32_t packets_read_ahead = 2;

/// Setup of the blocks that send packets.
struct packet_setup {
  const fabric::topology& topology;
  packet_pool& pool;
  bool move_data{true};  ///< false: packets carry no bytes, accesses cost time alone
};

/// Whether a place in a region that PEs have is that of `pe`.
[[nodiscard]] inline bool is_of(pe_coord pe, const abi::location& where) {
  return where.sip == pe.sip && where.cube == pe.cube && where.unit == pe.pe.value;
}

/// Whether an address is in the TCM of `pe`.
[[nodiscard]] inline bool in_tcm_of(pe_coord pe, abi::address a) {
  const auto where = abi::decode(a);
  return where && where->kind == abi::region::tcm && is_of(pe, *where);
}

/// A packet to the block that answers at `target`.
[[nodiscard]] inline packet_ptr make_packet(const packet_setup& setup, abi::packet_kind kind,
                                            abi::address target) {
  packet_ptr p = setup.pool.make();
  p->header.kind = kind;
  p->header.target = target;
  p->header.destination = setup.topology.locate(target);
  return p;
}

}  // namespace diecast::hw
