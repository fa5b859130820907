// SPDX-License-Identifier: Apache-2.0
// One PE of the mock machine: registers, vector unit and DMA port behind the HAL, firmware on a
// fiber.
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <set>

#include "models/abi/dispatch_table.hpp"
#include "models/abi/hal.hpp"
#include "models/analysis/barrier_checker.hpp"
#include "models/protocol/data_cache.hpp"
#include "models/protocol/ipcq_core.hpp"
#include "models/protocol/tag_core.hpp"
#include "sw/mock_machine/agenda.hpp"
#include "sw/runtime/coroutine.hpp"

namespace diecast::sw {

/// State that all PEs of a machine share.
struct mock_board {
  memory_map& memory;
  agenda& work;
  coroutine& scheduler;  ///< the context that resumes PEs
  bool interrupts{};     ///< yield at register accesses
  std::uint64_t tcm_bytes{};
  std::uint64_t& clock;
  std::uint64_t& changes;  ///< number of changes that a polling PE may see
  std::uint64_t cache_sets{}, cache_ways{};
  const std::function<void(pe_coord, const abi::step_marker&)>& on_step;     ///< may be empty
  const std::function<void(pe_coord, const abi::operation_note&)>& on_note;  ///< may be empty
  analysis::line_history& lines;                                             ///< records only PEs with errata
};

class mock_pe final : public abi::hal {
 public:
  enum class state : std::uint8_t { idle, ready, asleep };

  mock_pe(pe_coord self, std::uint32_t index, protocol::ipcq_core core, protocol::tag_core tag_unit,
          const mock_board& board);

  /// The next resume() runs `firmware`. Precondition: idle.
  void start(std::size_t stack_bytes, std::function<void(abi::hal&)> firmware);
  /// Runs until the PE yields, sleeps or ends; rethrows an exception of its firmware.
  void resume();
  void copy_done();

  [[nodiscard]] protocol::ipcq_core& core() { return core_; }
  [[nodiscard]] const protocol::ipcq_core& core() const { return core_; }
  [[nodiscard]] protocol::tag_core& tag_unit() { return tag_unit_; }
  /// The step its firmware marked last.
  [[nodiscard]] const abi::firmware_tasks& tasks() const { return tasks_; }
  [[nodiscard]] state status() const { return state_; }
  void wake() { state_ = state::ready; }
  /// Whether the PE has polled for an event twice in a row without success and has only waited since.
  [[nodiscard]] bool polling() const { return empty_polls_ >= 2; }

  /// The poll of its firmware, if it polls.
  [[nodiscard]] const std::optional<abi::poll_request>& polled() const { return polled_; }
  /// The word in global memory that its firmware waits for, if any.
  [[nodiscard]] const std::optional<abi::signal_watch>& watched() const { return watched_; }
  /// Whether the PE has polled that word without success since the last change.
  [[nodiscard]] bool polled_unchanged() const;
  [[nodiscard]] const protocol::data_cache& cache() const { return cache_; }
  [[nodiscard]] std::uint64_t counted(abi::firmware_count what) const {
    return counts_[static_cast<unsigned>(what)];
  }
  /// Registers as the host's backdoor reaches them.
  void debug_write(abi::register_offset reg, std::uint64_t value);
  [[nodiscard]] std::uint64_t debug_read(abi::register_offset reg) const;
  /// Whether the PE polls a word that now holds the awaited value.
  [[nodiscard]] bool poll_holds() const;

  [[nodiscard]] pe_coord self() const override { return self_; }
  [[nodiscard]] std::uint64_t read_register(abi::register_offset reg) override;
  void write_register(abi::register_offset reg, std::uint64_t value) override;
  [[nodiscard]] std::uint64_t errata() const override { return errata_; }
  [[nodiscard]] std::uint64_t dispatch_word(unsigned index) override { return abi::loaded_table().at(index); }
  void load(std::uint64_t tcm_offset, std::span<std::byte> out) override;
  void store(std::uint64_t tcm_offset, std::span<const std::byte> in) override;
  void vector(const abi::vector_command& command) override;
  void compute(std::uint64_t) override { empty_polls_ = 0; }
  void pause(std::uint64_t cycles) override;
  void wait_for_event() override;
  /// Nothing takes time here: when the scheduler resumes the PE without an event, the clock is set to `when`.
  void wait_for_event_until(sim_time when) override;
  void poll_until(const abi::poll_request& wanted) override;
  void load_global(abi::address at, std::span<std::byte> out) override;
  void store_global(abi::address at, std::span<const std::byte> in) override;
  void dcci_line(abi::address at) override;
  void dcci_all() override;
  void pipe_barrier() override;
  void load_uncached(abi::address at, std::span<std::byte> out) override;
  std::uint64_t add_at_memory(abi::address at, std::uint64_t value) override;
  void watch(const std::optional<abi::signal_watch>& wanted) override;
  void count(abi::firmware_count what, std::uint64_t n) override {
    counts_[static_cast<unsigned>(what)] += n;
  }
  [[nodiscard]] sim_time now() const override { return femtoseconds(board_.clock); }
  void mark_step(const abi::step_marker& step) override {
    empty_polls_ = 0;
    tasks_.mark(step.name, step.index);
    if (board_.on_step) board_.on_step(self_, step);
  }
  void task(const abi::task_note& n) override { tasks_.hear(n); }
  void note(const abi::operation_note& n) override {
    abi::operation_note noted = n;
    noted.task = tasks_.running();
    awaited_.hear(noted);
    if (board_.on_note) board_.on_note(self_, n);
  }
  /// Messages and barriers that activities of its firmware wait for.
  [[nodiscard]] const std::vector<abi::operation_note>& awaiting() const { return awaited_.list(); }

 private:
  void yield();
  void interruption();
  template <class Access>
  auto trapped(Access access) const;
  void write_to_block(abi::register_offset reg, std::uint64_t value);
  [[nodiscard]] abi::address in_tcm(std::uint64_t offset, std::uint64_t bytes) const;
  void check_global(const char* what, abi::address at, std::uint64_t bytes) const;
  void make_present(abi::address at);
  void publish(events::memory_phase phase, abi::address at, std::span<const std::byte> bytes) const;
  void write_back(const protocol::data_cache::line& line);
  [[noreturn]] void no_such_register(abi::register_offset reg) const;

  pe_coord self_;
  std::uint32_t index_;
  protocol::ipcq_core core_;
  protocol::tag_core tag_unit_;
  abi::firmware_tasks tasks_;
  abi::awaited_operations awaited_;
  mock_board board_;
  state state_{state::idle};
  unsigned empty_polls_{};
  std::optional<abi::poll_request> polled_;
  std::exception_ptr error_;

  protocol::copy_port copies_;
  std::uint64_t errata_{};
  std::uint64_t started_at_{}, ended_at_{};  ///< begin and end of the last kernel, by the machine's clock
  protocol::data_cache cache_;
  std::optional<abi::signal_watch> watched_;
  std::uint64_t seen_changes_{};
  std::size_t looks_{};             ///< polls of watched words since seen_changes_
  std::set<abi::address> words_{};  ///< the words that were polled
  std::array<std::uint64_t, abi::firmware_counts> counts_{};

  coroutine fiber_;  ///< last: its stack refers to the rest
};

}  // namespace diecast::sw
