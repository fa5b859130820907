// SPDX-License-Identifier: Apache-2.0
// One PE of the timed mock machine: registers, vector unit and DMA port behind the HAL, at the cycle costs
// that hw/pe and hw/ipcq charge; firmware on a fiber. Without data no bytes are moved but those that firmware
// itself loads and stores.
//
// As in hw/pe the core works half a cycle after the edges on which the rest of the PE does.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <optional>

#include "models/abi/dispatch_table.hpp"
#include "models/abi/hal.hpp"
#include "models/config/machine_config.hpp"
#include "models/events/events.hpp"
#include "models/protocol/copy_port.hpp"
#include "models/protocol/ipcq_core.hpp"
#include "models/timing/transfer_engine.hpp"
#include "models/types/immovable.hpp"
#include "sw/mock_machine/memory_map.hpp"
#include "sw/runtime/coroutine.hpp"

namespace diecast::sw {

/// The machine's interface for a PE. `pe`: its index.
class timed_board : public abstract_interface {
 public:
  /// The PE's fiber is resumed at `when`.
  virtual void resume_at(std::uint32_t pe, sim_time when) = 0;
  virtual void send(std::uint32_t pe, const protocol::send_request& message) = 0;
  virtual void credit(std::uint32_t pe, const protocol::credit_request& credit) = 0;
  virtual void copy(std::uint32_t pe, const protocol::copy_request& copy) = 0;
  /// The vector unit moves `bytes` of operands and results from `from` on; vector_done informs the PE.
  virtual void vector(std::uint32_t pe, sim_time from, std::uint64_t bytes) = 0;
};

class timed_pe final : public abi::hal {
 public:
  struct setup {
    const config::machine_config& config;
    timed_board& board;
    timing::event_queue& events;
    memory_map& memory;
    coroutine& scheduler;  ///< the context that resumes PEs
    bool data{};           ///< vector operations compute
  };
  timed_pe(pe_coord self, std::uint32_t index, const setup& s);

  /// Firmware begins at `start`, an edge; `ended` is called at its end. Precondition: it does not run.
  void launch(sim_time start, std::function<void(abi::hal&)> firmware, std::function<void()> ended = {});
  /// Runs until it waits or ends; rethrows what its firmware threw.
  void resume();
  void token_arrived(const abi::ipcq_fields& token);
  void credit_arrived(const abi::ipcq_fields& credit);
  /// An event may have been queued at the engine, at this instant.
  void look_for_events();
  void copies_done(std::uint32_t more);
  void vector_done(sim_time at);

  [[nodiscard]] protocol::ipcq_core& core() { return core_; }
  [[nodiscard]] const protocol::ipcq_core& core() const { return core_; }
  [[nodiscard]] const abi::firmware_tasks& tasks() const { return tasks_; }
  [[nodiscard]] bool idle() const { return !running_; }
  [[nodiscard]] bool asleep() const { return asleep_; }
  [[nodiscard]] bool awaits_copy() const { return copies_.armed(); }
  [[nodiscard]] const std::optional<abi::poll_request>& polled() const { return polled_; }
  [[nodiscard]] sim_time ended() const { return ended_; }
  /// Computations and waits for a start that were begun last until then.
  [[nodiscard]] sim_time busy_until() const { return busy_until_; }
  /// Fingerprint of the tokens and credits received, with their times.
  [[nodiscard]] const events::instance_fingerprint& fingerprint() const { return fingerprint_; }
  void debug_write(abi::register_offset reg, std::uint64_t value) { core_.debug_write(reg, value); }
  [[nodiscard]] std::uint64_t debug_read(abi::register_offset reg) const;

  [[nodiscard]] pe_coord self() const override { return self_; }
  [[nodiscard]] std::uint64_t read_register(abi::register_offset reg) override;
  void write_register(abi::register_offset reg, std::uint64_t value) override;
  [[nodiscard]] std::uint64_t errata() const override { return 0; }
  [[nodiscard]] std::uint64_t dispatch_word(unsigned index) override { return table_.at(index); }
  [[nodiscard]] abi::dispatch_image& dispatch_table() { return table_; }
  void load(std::uint64_t tcm_offset, std::span<std::byte> out) override;
  void store(std::uint64_t tcm_offset, std::span<const std::byte> in) override;
  void vector(const abi::vector_command& command) override;
  void compute(std::uint64_t cycles) override {
    owed_ += cycles;
    busy_until_ = events_.now() + clock_.cycles(owed_);
  }
  void pause(std::uint64_t cycles) override { owed_ += cycles; }
  void wait_for_event() override { wait_for_event_until(sim_time::never()); }
  void wait_for_event_until(sim_time when) override;
  void poll_until(const abi::poll_request& wanted) override;
  void load_global(abi::address, std::span<std::byte>) override { no_memory_access(); }
  void store_global(abi::address, std::span<const std::byte>) override { no_memory_access(); }
  void dcci_line(abi::address) override { no_memory_access(); }
  void dcci_all() override { no_memory_access(); }
  void pipe_barrier() override {}
  void load_uncached(abi::address, std::span<std::byte>) override { no_memory_access(); }
  std::uint64_t add_at_memory(abi::address, std::uint64_t) override { no_memory_access(); }
  void watch(const std::optional<abi::signal_watch>&) override {}
  void count(abi::firmware_count, std::uint64_t) override {}
  [[nodiscard]] sim_time now() const override { return events_.now() + clock_.cycles(owed_); }
  void mark_step(const abi::step_marker& step) override { tasks_.mark(step.name, step.index); }
  void task(const abi::task_note& n) override { tasks_.hear(n); }
  void note(const abi::operation_note&) override {}

 private:
  void wait_owed();
  void wait_until(sim_time t);
  void yield() { scheduler_ = std::move(scheduler_).resume(); }
  void access(std::uint64_t bytes, bool write);
  [[nodiscard]] abi::address in_tcm(std::uint64_t offset, std::uint64_t bytes) const;
  [[noreturn]] void no_memory_access() const;

  pe_coord self_;
  std::uint32_t index_;
  const config::machine_config& config_;
  config::pe_block block_;
  timed_board& board_;
  timing::event_queue& events_;
  memory_map& memory_;
  coroutine& scheduler_;
  bool data_;
  clock_domain clock_;
  sim_time phase_;
  protocol::ipcq_core core_;
  protocol::copy_port copies_;
  abi::firmware_tasks tasks_;
  std::uint64_t owed_{};  ///< cycles of firmware not waited for yet
  bool running_{}, asleep_{};
  sim_time pending_since_{sim_time::never()};
  std::optional<sim_time> vector_end_;
  bool in_vector_{};
  std::optional<abi::poll_request> polled_;
  sim_time started_, ended_, busy_until_;
  events::instance_fingerprint fingerprint_;
  abi::dispatch_image table_{abi::loaded_table()};
  std::exception_ptr error_;
  coroutine fiber_;  ///< last: its stack refers to the rest
};

}  // namespace diecast::sw
