// SPDX-License-Identifier: Apache-2.0
// The machine as firmware sees it. Kernels and the runtime touch nothing else; the SystemC PE and
// the mock machine both implement it. Every call charges the time its hardware takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "models/abi/address.hpp"
#include "models/abi/firmware_tasks.hpp"
#include "models/abi/launch.hpp"
#include "models/abi/registers.hpp"
#include "models/numeric/types.hpp"
#include "models/types/ids.hpp"
#include "models/types/immovable.hpp"
#include "models/types/time.hpp"

namespace diecast::abi {

/// One operation of the vector unit on operands in local TCM (byte offsets).
/// destination[i] = a[i] op b[i] for i < count; `copy` ignores b; `divide_by` ignores b and
/// divides by `scalar` (for avg), rounding once.
enum class vector_op : std::uint8_t { copy, sum, max, min, prod, divide_by };

/// The reduction a two-operand vector operation performs. Precondition: not copy or divide_by.
[[nodiscard]] constexpr numeric::reduction reduction_of(vector_op op) {
  switch (op) {
    case vector_op::max: return numeric::reduction::max;
    case vector_op::min: return numeric::reduction::min;
    case vector_op::prod: return numeric::reduction::prod;
    default: return numeric::reduction::sum;
  }
}
/// The vector operation of one reduction step; avg is a sum, divided once at the end.
[[nodiscard]] constexpr vector_op vector_op_of(numeric::reduction r) {
  switch (r) {
    case numeric::reduction::max: return vector_op::max;
    case numeric::reduction::min: return vector_op::min;
    case numeric::reduction::prod: return vector_op::prod;
    default: return vector_op::sum;
  }
}

struct vector_command {
  vector_op op{vector_op::copy};
  numeric::dtype type{numeric::dtype::f16};
  std::uint64_t destination{};
  std::uint64_t a{};
  std::uint64_t b{};
  std::uint64_t count{};  ///< elements
  std::uint32_t scalar{1};
  /// Element type of the last operand (b; a when there is none) where it is not `type`: converted as it is
  /// read, rounded once when `type` is the narrower. Among f16, bf16 and f32.
  std::optional<numeric::dtype> source{};

  [[nodiscard]] bool two_operands() const { return op != vector_op::copy && op != vector_op::divide_by; }
  /// Element type of each operand in memory.
  [[nodiscard]] numeric::dtype type_of_a() const { return two_operands() ? type : source.value_or(type); }
  [[nodiscard]] numeric::dtype type_of_b() const { return source.value_or(type); }
};

/// What the vector unit computes. read(offset, bytes) gets the bytes of an operand as they lie in memory.
[[nodiscard]] std::vector<std::byte> result_of(
    const vector_command& c, const std::function<void(std::uint64_t, std::span<std::byte>)>& read);

/// Comparisons of unsigned words.
enum class compare : std::uint8_t { eq, ne, lt, le, gt, ge };
[[nodiscard]] constexpr bool holds(compare how, std::uint64_t a, std::uint64_t b) {
  switch (how) {
    case compare::eq: return a == b;
    case compare::ne: return a != b;
    case compare::lt: return a < b;
    case compare::le: return a <= b;
    case compare::gt: return a > b;
    case compare::ge: return a >= b;
  }
  return false;
}
[[nodiscard]] const char* to_string(compare how);

/// Polling of a 64-bit word in local TCM that another block writes. `expected_writer` is only for reports of
/// hangs, which name it.
struct poll_request {
  std::uint64_t tcm_offset{};
  compare how{compare::eq};
  std::uint64_t value{};
  pe_coord expected_writer;
  std::uint64_t period_cycles{100};
};

/// What firmware waits for in global memory: a 64-bit word that `expected_writer` is to set. A note for
/// reports of hangs: the firmware polls by its own loads. Words are compared modulo 2^32.
struct signal_watch {
  address at{};
  compare how{compare::eq};
  std::uint64_t value{};
  bool or_next{};  ///< value + 1 (modulo 2^32) will do, too
  pe_coord expected_writer;
  /// A barrier of the ranks of a team: no two of its waits, on whatever PE, are more than one count apart.
  bool among_ranks{};

  [[nodiscard]] bool satisfied_by(std::uint64_t word) const {
    const auto seen = static_cast<std::uint32_t>(word);
    const auto wanted = static_cast<std::uint32_t>(value);
    return holds(how, seen, wanted) || (or_next && seen == wanted + 1U);
  }
};

/// What firmware counts of itself.
enum class firmware_count : std::uint8_t {
  signals_set,       ///< signals that rank barriers set
  flags_checked,     ///< waits of rank barriers that ended
  core_signals_set,  ///< signals that core barriers set
  core_flags_checked,
  polls,     ///< reads of a flag, unsuccessful ones included
  barriers,  ///< rank barriers this PE has left
  // How often firmware with a defect reached the defect's line, and how often that did harm.
  alias_chances,      ///< one-call sends that could have used an earlier send's buffer
  aliased,            ///< one-call sends that used the buffer of an earlier send
  corrupted_calls,    ///< calls through a bad entry of the dispatch table
  stale_looks,        ///< reads of a flag without dropping its cache line first
  unflushed_signals,  ///< signals stored and left in the cache
  exact_waits,        ///< waits for exactly one count, not for later ones
  open_rounds,        ///< rounds begun without a core barrier before them
  late_loads,         ///< loads of a team's counter after the entry core barrier
  open_entries,       ///< rank barriers entered without waiting for the other cores
  slots_by_rank,      ///< signals to the line numbered by the rank
  packed_signals,     ///< signals to a flag that shares its cache line with others
  reused_states,      ///< teams whose flags were not cleared
  unchecked_radices   ///< barriers with a radix below 2
};
inline constexpr unsigned firmware_counts = 19;

/// What the firmware is doing, for the timeline and the flight recorder; costs no time.
struct step_marker {
  std::string_view name;
  std::uint32_t index{};
};

/// Precondition violations (bad offset, unknown register, an access beyond a cache line) trap: the
/// implementation throws protocol_error naming PE or block, address and limit; the run ends as a fault (4).
class hal : public abstract_interface {
 public:
  [[nodiscard]] virtual pe_coord self() const = 0;

  /// This PE's own registers (models/abi/registers.hpp); costs pe.register_cycles.
  [[nodiscard]] virtual std::uint64_t read_register(register_offset reg) = 0;
  virtual void write_register(register_offset reg, std::uint64_t value) = 0;

  /// The word of CORE_ERRATA, wired to the core as straps: no access, no time.
  [[nodiscard]] virtual std::uint64_t errata() const = 0;

  /// Scalar access to local TCM through the core's port (offsets within this PE's TCM).
  virtual void load(std::uint64_t tcm_offset, std::span<std::byte> out) = 0;
  virtual void store(std::uint64_t tcm_offset, std::span<const std::byte> in) = 0;

  /// Address in an entry of the dispatch table (models/abi/dispatch_table.hpp), or at which the monitor's
  /// stub continues. An indirect call reads it: its time is part of the call.
  [[nodiscard]] virtual std::uint64_t dispatch_word(unsigned index) = 0;

  /// Runs on the vector unit; returns when the result is in TCM.
  virtual void vector(const vector_command& command) = 0;

  /// Straight-line firmware work.
  virtual void compute(std::uint64_t cycles) = 0;

  /// Pauses between two polls of a value that another block changes. Unlike compute() this is no progress, so
  /// that a run in which all PEs only poll is found to be a deadlock.
  virtual void pause(std::uint64_t cycles) = 0;

  /// Sleeps until an event is queued in ipcq_event; returns at once if one is already there.
  virtual void wait_for_event() = 0;

  /// wait_for_event() that returns when now() has reached `when` even without an event (the PE's timer).
  virtual void wait_for_event_until(sim_time when) = 0;

  /// Loads the word every period until the comparison holds.
  virtual void poll_until(const poll_request& wanted) = 0;

  // Cacheable accesses go through this PE's data cache: 64-byte lines, write-back, write-allocate, not
  // coherent with anybody. An access lies within one line.
  virtual void load_global(address at, std::span<std::byte> out) = 0;
  virtual void store_global(address at, std::span<const std::byte> in) = 0;
  /// Writes the line back if it is dirty and drops it. Returns before the memory has acknowledged; an
  /// access to the line waits for that.
  virtual void dcci_line(address at) = 0;
  virtual void dcci_all() = 0;
  /// Waits until the memories have acknowledged everything this PE has written.
  virtual void pipe_barrier() = 0;
  /// Bypasses the data cache and does not see its contents.
  virtual void load_uncached(address at, std::span<std::byte> out) = 0;
  /// Adds atomically to the 64-bit word at `at` (a multiple of 8), in the memory, bypassing the data cache.
  /// Returns the word's previous value.
  virtual std::uint64_t add_at_memory(address at, std::uint64_t value) = 0;
  /// From this call to watch({}) the firmware only polls this word, or words of later calls; costs no time.
  virtual void watch(const std::optional<signal_watch>& wanted) = 0;
  /// Costs no time.
  virtual void count(firmware_count what, std::uint64_t n) = 0;

  [[nodiscard]] virtual sim_time now() const = 0;
  virtual void mark_step(const step_marker& step) = 0;
  /// Notes which task of the firmware runs, so that steps and waits are known by task; costs no time.
  virtual void task(const task_note& n) = 0;
  /// Notes the state of an operation with other PEs that uses no queue pair; costs no time.
  virtual void note(const operation_note& n) = 0;
};

/// The machine as the host of one SIP sees it.
struct pe_launch {
  pe_coord pe;
  launch_block block;
};

struct pe_register_write {
  pe_coord pe;
  register_offset reg{};
  std::uint64_t value{};
};

class host_hal : public abstract_interface {
 public:
  [[nodiscard]] virtual sip_id self() const = 0;
  [[nodiscard]] virtual sim_time now() const = 0;

  /// Backdoor (debug transport, no time): any address of this SIP. Registers are written as
  /// 8-byte accesses to pe_registers.
  virtual void debug_write(address to, std::span<const std::byte> bytes) = 0;
  virtual void debug_read(address from, std::span<std::byte> bytes) = 0;
  void debug_write_register(pe_coord pe, register_offset reg, std::uint64_t value);

  /// Writes queue-pair registers of PEs of this SIP in packets over the fabric, through the IO CPU, in this
  /// order; returns when all are acknowledged.
  virtual void write_registers(std::span<const pe_register_write> writes) = 0;

  /// Sends the launches host -> IO CPU -> control CPUs -> PEs over the fabric.
  virtual void launch(std::span<const pe_launch> launches) = 0;

  /// Sleeps until `count` PEs of this SIP have reported the end of launch `launch_id`.
  virtual void wait_for_completions(std::uint32_t launch_id, std::uint32_t count) = 0;

  /// Sleeps until `when`.
  virtual void wait_until(sim_time when) = 0;
};

}  // namespace diecast::abi
