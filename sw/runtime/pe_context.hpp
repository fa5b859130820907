// SPDX-License-Identifier: Apache-2.0
// What a kernel sees of its PE: queues, vector work, copies, tasks. Everything is built on the HAL.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "models/abi/dispatch_table.hpp"
#include "models/abi/hal.hpp"
#include "models/abi/launch.hpp"
#include "models/comm/install_plan.hpp"
#include "models/types/immovable.hpp"
#include "sw/runtime/options.hpp"

namespace diecast::sw {
class held_slots;
class kernel_tail;

/// Bytes of local TCM.
struct tcm_range {
  std::uint64_t at{};
  std::uint64_t bytes{};
};

/// A received slot. Its bytes are at a physical address: the local TCM when it lies in
/// [tcm_base, ...), else SRAM or HBM, from where fetch() copies it.
struct slot_view {
  abi::address at{};
  std::uint32_t bytes{};
};

/// Handle of an asynchronous operation.
struct ticket {
  comm::direction dir{};
  std::uint32_t sequence{};
  bool receive{};
};

class pe_runtime;

/// Queue pair of each of a kernel's directions, by direction; comm::no_direction where it has none. Empty:
/// every direction is the queue pair of its number.
using direction_map = std::vector<comm::direction>;

/// Sections, in this order: messages of at most one slot; longer messages; pipelines; local work; sums in
/// f32; tasks. Pipelines are in pe_context_stream.cpp; local work, sums in f32, and what longer messages
/// and pipelines do with one slot are in pe_context_slots.cpp; the others in pe_context.cpp.
///
/// A call that moves or waits for one message charges runtime_options::call_cycles; exchange, stream,
/// send_all and recv_all charge it per slot. Everything else costs what the HAL charges.
/// Sources are guarded: a call of this class that writes TCM first waits for every send that has
/// not read the bytes it overwrites. Only stores past this class need wait().
/// Throws firmware_trap when the engine refuses a request or a queue pair is not installed.
class pe_context : immovable {
 public:
  /// A kernel alone on its PE.
  pe_context(abi::hal& hal, const abi::kernel_arguments& arguments, const runtime_options& options);
  /// One of several kernels that share a PE, on queue pairs of its own. `runtime` must outlive it.
  pe_context(pe_runtime& runtime, const abi::kernel_arguments& arguments, direction_map queue_pairs);
  /// One of several kernels that follow each other over the same queue pairs, each in a task of its own. Its
  /// calls of stream use the queue pairs that the previous kernel has left (`before`; null: there is none);
  /// its other messages wait until that kernel has ended. In `own` it records the queue pairs that its
  /// last_stream has left. The caller ends the tails, in order. Both must outlive it.
  pe_context(pe_runtime& runtime, const abi::kernel_arguments& arguments, const kernel_tail* before,
             kernel_tail& own);
  ~pe_context();

  [[nodiscard]] const abi::kernel_arguments& args() const;
  [[nodiscard]] abi::hal& hal();
  /// See pe_runtime.
  void enter(abi::entry_point e);
  [[nodiscard]] std::uint32_t slot_bytes(comm::direction dir);  ///< read once per direction, cached
  [[nodiscard]] std::uint32_t n_slots(comm::direction dir);

  // --- messages of at most one slot ---
  /// Returns when the source may be reused.
  void send(comm::direction dir, std::uint64_t tcm_offset, std::uint32_t bytes);
  /// Returns when the engine has taken the descriptor.
  ticket isend(comm::direction dir, std::uint64_t tcm_offset, std::uint32_t bytes);
  /// Returns when an isend's source may be reused, or a recv_async's message is at its `tcm_offset`
  /// and its credit has been sent. Returns the bytes received; 0 for a send.
  std::uint32_t wait(const ticket& t);
  /// Waits for the oldest message; its slot stays occupied until release.
  [[nodiscard]] slot_view recv(comm::direction dir);
  /// Returns the credit of the oldest received slot.
  void release(comm::direction dir);
  /// Copies the bytes of a received slot, wherever it lies, to `tcm_offset`.
  void fetch(const slot_view& slot, std::uint64_t tcm_offset);
  /// Waits for the oldest message, copies it to `tcm_offset`, returns the credit. Returns bytes.
  std::uint32_t recv(comm::direction dir, std::uint64_t tcm_offset);
  /// Requests the oldest message that no earlier receive takes, to be copied to `tcm_offset`. Returns at
  /// once; wait() does the rest, in the order of the requests whatever the order of the waits. Until all
  /// requests of a direction are waited for, it takes no other receive; a kernel ends with none open.
  [[nodiscard]] ticket recv_async(comm::direction dir, std::uint64_t tcm_offset);
  /// Waits until one of `dirs` holds a message and returns that direction (lowest index first).
  [[nodiscard]] comm::direction recv_any(const std::vector<comm::direction>& dirs);

  // --- longer messages, cut into slots ---
  /// What happens to each received slot: copied, or reduced into the destination. complete, in a stream only:
  /// reduced to the final sum, with finish_average before it is forwarded.
  enum class arrival : std::uint8_t { copy, reduce, complete };
  /// Sends one range while receiving another, slot by slot, send before receive, so that a cycle of
  /// exchanges is free of deadlock for n_slots >= 1. Either may be empty (then its direction is not touched).
  /// The two ranges do not overlap, or they are equal; then every slot is sent before the message that
  /// overwrites it is taken. Sizes are multiples of the element size, and no element is cut: a slot carries
  /// floor(slot_bytes / element) elements. Both ends must agree on the sizes: the length of a message
  /// is compared (and traps) only where the driver reads the status register anyway.
  void exchange(comm::direction send_dir, const tcm_range& sent, comm::direction recv_dir,
                const tcm_range& received, arrival how);
  /// One-sided long forms, for chains and trees (never around a cycle).
  void send_all(comm::direction dir, const tcm_range& range);
  void recv_all(comm::direction dir, const tcm_range& range, arrival how);
  /// Sends one range to, or reduces equally long messages from, several directions, interleaved slot by slot
  /// in the order given, so that every element meets its operands in that order whatever the timing.
  /// `before`, unless empty, is called before each slot of each direction.
  void send_all(const std::vector<comm::direction>& dirs, const tcm_range& range,
                const std::function<void(comm::direction)>& before = {});
  void reduce_all(const std::vector<comm::direction>& dirs, const tcm_range& range,
                  const std::function<void(comm::direction)>& before = {});

  /// A node of a chain or tree: receives a range from every direction of `in`, slot by slot and in that
  /// order, and sends each complete slot to every direction of `out`. With `how` copy, `in` has at most one
  /// direction. Each slot is one runtime call. Both empty, or 0 bytes: nothing happens.
  void relay(const std::vector<comm::direction>& in, const std::vector<comm::direction>& out,
             const tcm_range& range, arrival how);

  // --- pipelines of ranges that are sent on while they arrive ---
  /// A stage whose arrival a range waits for.
  struct awaited {
    std::int32_t stage{-1};     ///< index in `received` of a pipeline; -1: waits for nothing
    std::int32_t pipeline{-1};  ///< number of that pipeline in the call; -1: the range's own pipeline
    std::uint64_t at{};  ///< offset in the stage where the range begins; from its end on: waits for all
  };
  /// A range of memory in a stream: where it arrives, and how. Its place is an offset in TCM, or a physical
  /// address of HBM (runtime_options::address_of), to which the DMA copies slots; slots are not reduced
  /// there.
  struct stage {
    std::uint64_t offset{};
    std::uint64_t bytes{};
    arrival how{arrival::copy};
    /// This range on another pipeline, whose bytes are taken before those of this pipeline: contributions to
    /// a sum are added in one order, whenever they come.
    awaited after{};
  };
  /// Limits when the slots of a range leave by the bytes that a pipeline has received: the first after `from`
  /// bytes, the others spread evenly over the next `over` bytes. For sends that would otherwise load links
  /// that other flows need. The pipeline must receive these bytes independently of the sends that it limits.
  struct pace {
    std::int32_t pipeline{-1};  ///< number of the pipeline in the call; -1: no limit
    std::uint64_t from{}, over{};
  };
  /// A range that a pipeline sends when the stages that it waits for have arrived. It may lie in HBM, from
  /// where the DMA reads it.
  struct outgoing {
    std::uint64_t offset{};
    std::uint64_t bytes{};
    std::array<awaited, 3> after{};
    pace not_before{};
  };
  /// Sends the ranges `sent` one after the other, each to all of `send`; receives the ranges `received` one
  /// after the other, each from every one of `recv`, adding contributions to a sum in the order of `recv`.
  /// A range that waits for a stage is sent slot by slot as that stage arrives (from all of its `recv`);
  /// the two are the same range, or the stage's goes beyond it (awaited::at).
  struct pipeline {
    std::vector<comm::direction> send;
    std::vector<outgoing> sent;
    std::vector<comm::direction> recv;
    std::vector<stage> received;
    /// The DMA copies slots while the core continues, and they are forwarded from the slots themselves when
    /// the next PE has space. Only effective where slots are in TCM and as wide as the vector, in a pipeline
    /// that copies from one direction and whose stages wait for no other pipeline (stage::after).
    bool overlaps{};

    /// Makes this pipeline receive a stage and forward it: adds it to both lists.
    void pass(const stage& s);
  };
  /// Copies that calls of stream leave to the DMA. One task uses it and finishes it before the kernel ends.
  class left_copies : immovable {
   public:
    explicit left_copies(pe_context& pe);
    ~left_copies();
    /// A copy between places, by the DMA; one runtime call.
    void copy(std::uint64_t destination, std::uint64_t source, std::uint64_t bytes);
    /// Waits until all that calls of stream have left is copied.
    void finish();

   private:
    friend class pe_context;
    pe_context& pe_;
    std::unique_ptr<held_slots> held_;
    bool open_{};
  };
  /// Runs pipelines to their end, alternating slot by slot. A pipeline does what rounds of exchanges do where
  /// each round sends what the previous one received, but without waiting for a round to end. Free of
  /// deadlock around cycles for n_slots >= 1, when every PE's lists follow the same order. Charges
  /// runtime_options::call_cycles once per slot that is sent, received, or received and sent on. Ranges may
  /// be empty. No stage may overwrite what an earlier range has not sent yet, unless causes outside this
  /// PE keep its data from coming before (a sum to which this PE contributes the overwritten part).
  void stream(const std::vector<pipeline>& pipelines, std::string_view step_name);
  /// stream() that calls `begins` with a range's number in `sent` before a pipeline sends the first slot of
  /// it, once for all pipelines.
  void stream(const std::vector<pipeline>& pipelines, const std::function<void(std::uint32_t)>& begins);
  /// stream() after which the kernel neither sends nor receives; during and after it the kernel does not use
  /// its scratch. Where kernels follow each other, the next one may begin, and may use a side of a queue pair
  /// as soon as this stream's messages have passed it.
  void last_stream(const std::vector<pipeline>& pipelines, std::string_view step_name);
  /// stream() that may return while slots of overlapping pipelines are still copied. Their credits go back in
  /// later calls with `left` that move something, and in its finish(); until then no other code receives from
  /// these queue pairs. Reads the DMA's count once while copies are in flight.
  void stream(const std::vector<pipeline>& pipelines, std::string_view step_name, left_copies& left);
  /// Reads how many sends of a direction have been read from their source. Known ones need no access at the
  /// kernel's end.
  void look_at_sources(comm::direction dir);

  // --- local work ---
  /// destination[i] = destination[i] op source[i], op and type from args().
  void reduce(std::uint64_t destination, std::uint64_t source, std::uint64_t bytes);
  void copy(std::uint64_t destination, std::uint64_t source, std::uint64_t bytes);
  /// For avg: divides a range of the final sum by the ranks, once. No effect for other reductions.
  void finish_average(const tcm_range& range);

  // --- sums in f32 (ccl.accumulation) ---
  /// Makes the kernel's vector f32: copies the input, widened, to scratch, where args() then has input and
  /// output. With f32_acc messages carry the narrow type: what is sent is rounded, what comes is widened;
  /// with f32_wire they carry f32. Precondition: wide_bytes() of scratch; no message is in flight.
  void widen();
  /// Rounds the vector to the output that args() had before.
  void narrow();
  /// Elements that one message of a long one carries.
  [[nodiscard]] std::uint64_t message_elements(comm::direction dir);

  // --- cooperative tasks ---
  /// Names what the kernel does from here on, for reports; takes no time.
  void step(std::string_view name, std::uint32_t index = 0);
  /// Runs the tasks to completion, interleaved at every wait. A task may run tasks of its own.
  void run_tasks(const std::vector<std::function<void()>>& tasks);
  /// Blocks the calling task until `ready()` holds; `ready` must depend only on what tasks of this
  /// PE do (flags in firmware memory) and change nothing. Other tasks run during the wait.
  void wait_until(const std::function<bool()>& ready);
  /// Suspends the calling task until the PE's clock has reached `when`. Other tasks run until then.
  void sleep_until(sim_time when);

  /// Traps when the kernel has left a recv_async or left_copies open; takes no time. For callers that run
  /// further kernels before finish().
  void check_ended() const;
  /// End of the kernel: check_ended(), then waits until every source of its queue pairs has been read.
  /// run_kernel calls it.
  void finish();

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace diecast::sw
