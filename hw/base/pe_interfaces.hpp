// SPDX-License-Identifier: Apache-2.0
// The interfaces inside a PE, to which blocks are bound by block_port. A call takes effect in the other
// block at a later instant.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <systemc>
#include <vector>

#include "hw/base/block_port.hpp"
#include "hw/base/fault_sink.hpp"
#include "hw/base/packet.hpp"
#include "models/abi/address.hpp"
#include "models/config/machine_config.hpp"
#include "models/events/events.hpp"
#include "models/fabric/topology.hpp"
#include "models/protocol/copy_port.hpp"
#include "models/protocol/ipcq_core.hpp"
#include "models/types/immovable.hpp"
#include "models/types/time.hpp"

namespace diecast::hw {

using protocol::copy_request;

/// A read, write or atomic of the core in global memory: one packet there and one back.
struct core_access {
  abi::packet_kind kind{abi::packet_kind::read_request};
  abi::address at{};
  std::uint32_t bytes{};
  std::vector<std::byte> data;  ///< data of a write, or operand of an atomic
  std::uint32_t tag{};          ///< returned with the answer
};

/// Requests of the other blocks to the DMA engine.
class dma_if : public abstract_interface {
 public:
  virtual void send_message(const protocol::send_request& message) = 0;
  virtual void send_credit(const protocol::credit_request& credit) = 0;
  virtual void start_copy(const copy_request& copy) = 0;
  virtual void start_access(core_access access) = 0;
  /// Reports to the host that launch `launch_id` has ended on this PE.
  virtual void send_launch_done(std::uint32_t launch_id) = 0;
};

/// Reports of the DMA engine to the IPCQ engine; tokens and credits take effect match_cycles later.
class ipcq_if : public abstract_interface {
 public:
  virtual void source_read(std::uint16_t qp) = 0;
  /// Every byte of the message is acknowledged written.
  virtual void message_arrived(const abi::ipcq_fields& token) = 0;
  virtual void credit_arrived(const abi::ipcq_fields& credit) = 0;
  virtual void copies_done(std::uint32_t count) = 0;
  /// A packet wrote a queue-pair register of this PE; takes effect one cycle later.
  virtual void register_written(abi::register_offset reg, std::uint64_t value) = 0;
};

/// Value of `vc` for a packet that did not come over the network.
inline constexpr std::uint8_t no_buffer = UINT8_MAX;
using abi::core_access_bit;
using abi::tag_read_bit;

/// Reports of the DMA engine, which owns the PE's network interface, to the tag-matching unit.
class message_if : public abstract_interface {
 public:
  /// Part of a message; its buffer is held until packet_out_if::release_packet.
  virtual void packet_arrived(const packet_ptr& p, std::uint8_t vc) = 0;
  /// A read_response to one of the unit's reads. Its buffer has been released.
  virtual void read_answered(const packet_ptr& p) = 0;
  /// A packet of class message has entered the network.
  virtual void packet_left() = 0;
};

/// Requests of the tag-matching unit to the network interface.
class packet_out_if : public abstract_interface {
 public:
  /// The packet leaves at least a cycle later.
  virtual void send_packet(packet_ptr p) = 0;
  virtual void release_packet(std::uint8_t vc, std::uint32_t flits) = 0;
};

/// The PE's event queue, for the blocks beside the IPCQ engine; the event shows a cycle later.
class event_sink_if : public abstract_interface {
 public:
  virtual void post_event(abi::ipcq_event_word event) = 0;
};

/// Reports of the DMA engine to the core.
class launch_if : public abstract_interface {
 public:
  virtual void launch(const packet_ptr& p) = 0;
  /// The answer to a start_access; `data` is what a read or atomic returns.
  virtual void access_done(std::uint32_t tag, std::span<const std::byte> data) = 0;
};

/// The interrupt line from the event queue to the core.
class interrupt_if : public abstract_interface {
 public:
  /// Instant since which an event has been queued; never() when none is.
  [[nodiscard]] virtual sim_time pending_since() const = 0;
  /// The oldest event; kind none when there is none. Reading ipcq_event pops it, this does not.
  [[nodiscard]] virtual abi::ipcq_event_word pending_event() const = 0;
  [[nodiscard]] virtual const sc_core::sc_event& raised() const = 0;
  /// The core starts a kernel: times in this PE's fingerprint count from here.
  virtual void kernel_started(sim_time at) = 0;
};

// Setup of the blocks of a PE.

/// Setup of all blocks.
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
/// Packets that a block holds before the network: one being read while one waits hides
/// the TCM's latency.
inline constexpr std::uint32_t packets_read_ahead = 2;

/// Setup of the blocks that send packets.
struct packet_setup {
  const fabric::topology& topology;
  packet_pool& pool;
  bool move_data{true};  ///< false: packets carry no bytes, accesses cost time alone
};

/// Whether a decoded address, in a region that every PE has, belongs to `pe`.
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
