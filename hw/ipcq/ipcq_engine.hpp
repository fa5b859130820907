// SPDX-License-Identifier: Apache-2.0
// The IPCQ engine of a PE: protocol::ipcq_core with the time its decisions take.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <systemc>
#include <vector>

#include "hw/base/pe_interfaces.hpp"
#include "hw/base/timed_queue.hpp"
#include "hw/regs/register_sockets.hpp"
#include "models/events/events.hpp"
#include "models/protocol/copy_port.hpp"
#include "models/protocol/ipcq_core.hpp"

namespace diecast::hw {

class ipcq_engine : public sc_core::sc_module,
                    public register_file,
                    public ipcq_if,
                    public interrupt_if,
                    public event_sink_if {
 public:
  ipcq_engine(sc_core::sc_module_name name, const pe_setup& setup);

  block_port<dma_if> dma;

  [[nodiscard]] const protocol::ipcq_core& core() const { return core_; }
  [[nodiscard]] events::instance_fingerprint fingerprint() const { return fingerprint_; }
  /// Time senders of this PE spent waiting for a free slot, over all queue pairs.
  [[nodiscard]] sim_time credit_stall() const;
  [[nodiscard]] sim_time empty_wait() const;
  [[nodiscard]] std::uint64_t messages_sent() const { return messages_sent_; }
  [[nodiscard]] std::uint64_t bytes_sent() const { return bytes_sent_; }
  struct statistics {
    std::uint64_t sends{}, bytes{};              ///< doorbells taken and their bytes
    std::uint64_t received{}, bytes_received{};  ///< messages that became visible
    sim_time credit_stall;  ///< time with a request for send space armed, a present wait included
    sim_time empty_wait;    ///< time with a request for a message armed, a present wait included
    /// Time the receive ring held that many visible, unreleased messages, from the first kernel's start.
    std::vector<sim_time> occupancy;
  };
  [[nodiscard]] statistics statistics_of(std::uint16_t qp) const;
  /// Count of progress: descriptors taken, sources read, tokens, credits and copies so far.
  [[nodiscard]] std::uint64_t moves() const { return moves_; }
  /// Credits of a queue pair that were lost, by gaps in credit sequence numbers.
  [[nodiscard]] std::uint64_t credits_skipped(std::uint16_t qp) const { return tracked_.at(qp).skipped; }
  [[nodiscard]] bool awaits_copy() const { return copies_.armed(); }
  /// Messages and credits that this engine has not forwarded or not matched yet.
  void visit_flights(const std::function<void(bool credit, const abi::ipcq_fields&)>& visit) const;

  void write_register(abi::register_offset reg, std::uint64_t value) override;
  std::uint64_t read_register(abi::register_offset reg) override;
  void debug_write_register(abi::register_offset reg, std::uint64_t value) override;
  std::uint64_t debug_read_register(abi::register_offset reg) override;

  void source_read(std::uint16_t qp) override;
  void message_arrived(const abi::ipcq_fields& token) override;
  void credit_arrived(const abi::ipcq_fields& credit) override;
  void copies_done(std::uint32_t count) override;
  void register_written(abi::register_offset reg, std::uint64_t value) override;
  void post_event(abi::ipcq_event_word event) override;

  sim_time pending_since() const override;
  abi::ipcq_event_word pending_event() const override { return core_.oldest_event(); }
  const sc_core::sc_event& raised() const override { return raised_; }
  void kernel_started(sim_time at) override;

 private:
  enum class work_kind : std::uint8_t {
    source_read,
    copies_done,
    register_write,
    credit,
    token,
    send_credit,
    send_message,
    event
  };
  static constexpr std::size_t work_kinds = static_cast<std::size_t>(work_kind::event) + 1;
  struct work {
    work_kind what{};
    std::uint32_t value{};  ///< queue pair or count
    abi::register_offset reg{};
    std::uint64_t content{};  ///< register content
    abi::ipcq_fields fields;
    protocol::send_request message;
    protocol::credit_request credit;
  };

  void act();
  void apply(const work& w);
  void later(work_kind what, std::uint64_t cycles, work w);
  void note_event();
  void write_copy_register(abi::register_offset reg, std::uint64_t value);
  void publish_state(std::uint16_t qp);
  void publish_message(events::message_phase phase, std::uint16_t qp, std::uint32_t sequence,
                       std::uint32_t bytes);
  void track_waits(std::uint16_t qp);
  void track_occupancy(std::uint16_t qp);

  /// Statistics and the instants they have been counted up to.
  struct tracked {
    statistics so_far;
    sim_time stalled_since{sim_time::never()}, empty_since{sim_time::never()};
    sim_time occupied_since;
    std::uint32_t occupied{};
    std::uint32_t credit{};  ///< sequence number of the last credit received
    std::uint64_t skipped{};
  };
  pe_setup setup_;
  clock_domain clock_;
  protocol::ipcq_core core_;
  timed_queue<work> work_{*this, [this] { act(); }};
  sc_core::sc_event raised_{"raised"};
  sim_time pending_since_{sim_time::never()};
  std::array<std::uint64_t, work_kinds> sequence_{};  ///< by kind of work
  protocol::copy_port copies_;
  events::instance_fingerprint fingerprint_;
  sim_time kernel_start_;
  bool ever_started_{};
  std::vector<tracked> tracked_;
  std::uint64_t moves_{};
  std::uint64_t messages_sent_{};
  std::uint64_t bytes_sent_{};
};

}  // namespace diecast::hw
