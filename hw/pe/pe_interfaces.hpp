// SPDX-License-Identifier: Apache-2.0
// The walls inside a PE. Blocks meet at these interfaces through ports; what one block hands to
// another takes effect at a later instant.
#pragma once

#include <systemc>

#include "hw/base/packet.hpp"
#include "models/protocol/copy_port.hpp"
#include "models/protocol/ipcq_core.hpp"

namespace diecast::hw {

using protocol::copy_request;

/// What the other blocks ask of the DMA engine.
class dma_if : public virtual sc_core::sc_interface {
 public:
  virtual void send_message(const protocol::send_request& message) = 0;
  virtual void send_credit(const protocol::credit_request& credit) = 0;
  virtual void start_copy(const copy_request& copy) = 0;
  /// Tells the host that launch `launch_id` has ended on this PE.
  virtual void send_launch_done(std::uint32_t launch_id) = 0;
};

/// What the DMA engine tells the IPCQ engine; both effects show match_cycles later.
class ipcq_if : public virtual sc_core::sc_interface {
 public:
  virtual void source_read(std::uint16_t qp) = 0;
  /// Every byte of the message is acknowledged written.
  virtual void message_arrived(const abi::ipcq_fields& token) = 0;
  virtual void credit_arrived(const abi::ipcq_fields& credit) = 0;
  virtual void copies_done(std::uint32_t count) = 0;
  /// A packet wrote a queue-pair register of this PE; takes effect one cycle later.
  virtual void register_written(abi::register_offset reg, std::uint64_t value) = 0;
};

/// What the DMA engine tells the core.
class launch_if : public virtual sc_core::sc_interface {
 public:
  virtual void launch(const packet_ptr& p) = 0;
};

/// The interrupt line from the event queue to the core.
class interrupt_if : public virtual sc_core::sc_interface {
 public:
  /// Instant since which an event has been queued; never() when none is.
  [[nodiscard]] virtual sim_time pending_since() const = 0;
  /// The oldest event; kind none when there is none. Reading ipcq_event pops it, this does not.
  [[nodiscard]] virtual abi::ipcq_event_word pending_event() const = 0;
  [[nodiscard]] virtual const sc_core::sc_event& raised() const = 0;
  /// The core starts a kernel: times in this PE's fingerprint count from here.
  virtual void kernel_started(sim_time at) = 0;
};

}  // namespace diecast::hw
