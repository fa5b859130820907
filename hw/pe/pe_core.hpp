// SPDX-License-Identifier: Apache-2.0
// The core of a PE: an SC_THREAD that runs firmware against the HAL, and its vector unit.
//
// The core's clock is half a cycle out of phase with the rest of the PE. Hardware acts on whole
// edges, firmware between them, so a register access never meets an event of the same instant.
#pragma once

#include <array>
#include <boost/container/deque.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <systemc>

#include "hw/base/pe_interfaces.hpp"
#include "hw/mem/tcm_if.hpp"
#include "hw/pe/core_memory.hpp"
#include "hw/pe/pe_faults.hpp"
#include "hw/regs/register_sockets.hpp"
#include "models/abi/hal.hpp"
#include "models/abi/launch.hpp"

namespace diecast::hw {

/// What a PE runs when launched.
using firmware = std::function<void(abi::hal&, const abi::launch_block&)>;

class pe_core : public sc_core::sc_module, public abi::hal, public launch_if, private tcm_client {
 public:
  pe_core(sc_core::sc_module_name name, const pe_setup& setup, firmware program, bool move_data);

  register_initiator registers{"registers"};
  /// The core's own registers, for the host.
  [[nodiscard]] register_file& own_registers() { return status_; }
  block_port<interrupt_if> interrupt;
  block_port<tcm_if> tcm;
  block_port<dma_if> dma;

  /// A launch by the backdoor (host.launch = ideal): same effect as a launch packet.
  void launch_block_arrived(const abi::launch_block& block);
  [[nodiscard]] events::core_state state() const { return state_; }
  /// Elements that the vector unit computed, by type; copies are none.
  [[nodiscard]] const std::array<std::uint64_t, numeric::dtypes>& vector_elements() const {
    return vector_elements_;
  }
  /// Cycles of instructions by the core's cycle counter, and the time they took.
  [[nodiscard]] std::uint64_t busy_cycles() const { return busy_cycles_; }
  [[nodiscard]] sim_time busy_time() const { return busy_time_; }
  /// Writes of firmware to registers and global memory, and whether the core has stopped for good.
  [[nodiscard]] defect_count deaths() const { return {writes_, dead_ ? 1U : 0U}; }
  [[nodiscard]] defect_count late_stores() const { return stores_->counted(); }
  /// The activities of the firmware, by task.
  [[nodiscard]] const abi::firmware_tasks& tasks() const { return tasks_; }
  /// What the firmware polls for at the moment.
  [[nodiscard]] const std::optional<abi::poll_request>& polling() const { return polling_; }
  /// Count of progress: changes of state, steps, vector operations and computations so far.
  [[nodiscard]] std::uint64_t moves() const { return moves_; }
  /// End of the timed work (a computation, the wait for a launch's common start) in flight.
  [[nodiscard]] sim_time busy_until() const { return busy_until_; }

  /// What the firmware waits for in global memory at the moment.
  [[nodiscard]] const std::optional<abi::signal_watch>& watching() const { return watched_; }
  /// Messages and barriers that activities of the firmware wait for at the moment.
  [[nodiscard]] const std::vector<abi::operation_note>& awaiting() const { return awaited_.list(); }
  [[nodiscard]] const core_memory& memory() const { return memory_; }
  [[nodiscard]] std::uint64_t counted(abi::firmware_count what) const {
    return counts_[static_cast<unsigned>(what)];
  }

  void launch(const packet_ptr& p) override;
  void access_done(std::uint32_t tag, std::span<const std::byte> data) override;

  pe_coord self() const override { return setup_.self; }
  std::uint64_t read_register(abi::register_offset reg) override;
  void write_register(abi::register_offset reg, std::uint64_t value) override;
  std::uint64_t errata() const override { return errata_; }
  [[nodiscard]] std::uint64_t dispatch_word(unsigned index) override { return tcm->dispatch_word(index); }
  void load(std::uint64_t tcm_offset, std::span<std::byte> out) override;
  void store(std::uint64_t tcm_offset, std::span<const std::byte> in) override;
  void vector(const abi::vector_command& command) override;
  void compute(std::uint64_t cycles) override {
    owed_cycles_ += cycles;
    owed_work_ += cycles;
  }
  void pause(std::uint64_t cycles) override {
    owed_cycles_ += cycles;
    owed_pause_ += cycles;
  }
  void wait_for_event() override;
  void wait_for_event_until(sim_time when) override;
  void poll_until(const abi::poll_request& wanted) override;
  void load_global(abi::address at, std::span<std::byte> out) override;
  void store_global(abi::address at, std::span<const std::byte> in) override;
  void dcci_line(abi::address at) override { memory_.dcci_line(at); }
  void dcci_all() override { memory_.dcci_all(); }
  void pipe_barrier() override {
    stores_->flush();
    memory_.pipe_barrier();
  }
  void load_uncached(abi::address at, std::span<std::byte> out) override;
  std::uint64_t add_at_memory(abi::address at, std::uint64_t value) override;
  void watch(const std::optional<abi::signal_watch>& wanted) override;
  void count(abi::firmware_count what, std::uint64_t n) override {
    counts_[static_cast<unsigned>(what)] += n;
  }
  sim_time now() const override;
  void mark_step(const abi::step_marker& step) override;
  void task(const abi::task_note& n) override { tasks_.hear(n); }
  void note(const abi::operation_note& n) override;

 private:
  /// Status and errata; firmware and host see the same values, and no access has a side effect.
  class status_registers : public register_file {
   public:
    explicit status_registers(pe_core& owner) : core_(owner) {}
    void write_register(abi::register_offset reg, std::uint64_t value) override {
      debug_write_register(reg, value);
    }
    std::uint64_t read_register(abi::register_offset reg) override { return debug_read_register(reg); }
    void debug_write_register(abi::register_offset reg, std::uint64_t value) override;
    std::uint64_t debug_read_register(abi::register_offset reg) override;

   private:
    pe_core& core_;
  };

  SC_HAS_PROCESS(pe_core);
  void run();
  void run_one(const abi::launch_block& block);
  void wait_owed();
  /// Called before every write to a register or to global memory, which a dead core does not execute.
  void count_write();
  void die_if_due();
  void report(events::core_work what, sim_time from, sim_time to);
  void report_wait(sim_time from, sim_time raised, const abi::ipcq_event_word& why);
  void end_wait(sim_time from);
  void wait_until(sim_time t);
  void wait_for_accesses(sim_time ahead, sim_time not_before);
  void set_state(events::core_state s);
  void access(std::uint64_t offset, std::byte* data, std::uint64_t bytes, bool write);
  void post_block(const abi::vector_command& c, std::uint64_t first, std::uint64_t count);
  void evaluate(const abi::vector_command& c);
  void meet_operands(const abi::vector_command& c);
  void tcm_done(std::uint64_t tag, sim_time finish) override;

  pe_setup setup_;
  clock_domain clock_;
  firmware program_;
  bool move_data_;
  core_health health_;
  std::unique_ptr<store_rule> stores_;
  clock_domain core_clock_;  ///< clock of the instructions; the rest of the PE keeps clock_
  std::uint64_t writes_{};   ///< register and global memory writes of firmware
  bool dead_{};
  std::uint64_t busy_cycles_{};
  sim_time busy_time_;
  sim_time phase_;
  std::uint64_t owed_cycles_{};  ///< firmware time not waited for yet
  std::uint64_t owed_work_{};    ///< owed cycles of computation
  std::uint64_t owed_pause_{};   ///< owed cycles of pauses between two polls
  boost::container::deque<abi::launch_block> launches_queue_;
  sc_core::sc_event launched_{"launched"};
  unsigned accesses_open_{};
  sim_time accesses_finish_;
  sim_time accesses_ahead_, accesses_not_before_;  ///< when the firmware continues
  sc_core::sc_event accesses_done_{"accesses_done"};
  events::core_state state_{events::core_state::idle};
  std::uint64_t errata_{};
  sim_time start_time_, end_time_;
  std::array<std::uint64_t, numeric::dtypes> vector_elements_{};
  std::optional<abi::poll_request> polling_;
  std::optional<abi::signal_watch> watched_;
  abi::awaited_operations awaited_;
  core_memory memory_;
  std::array<std::uint64_t, abi::firmware_counts> counts_{};
  abi::firmware_tasks tasks_;
  std::uint64_t moves_{};
  sim_time busy_until_;
  status_registers status_{*this};
};

}  // namespace diecast::hw
