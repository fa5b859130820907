// SPDX-License-Identifier: Apache-2.0
// Inside of pe_context, for its own sources alone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "sw/runtime/pe_context.hpp"
#include "sw/runtime/pe_runtime.hpp"
#include "sw/runtime/queue_driver.hpp"
#include "sw/runtime/stream.hpp"
#include "sw/runtime/task_scheduler.hpp"

namespace diecast::sw {

struct stream_pipeline;

/// Pieces of a long message: every slot full except the last.
struct slot_cut {
  std::uint64_t bytes;
  std::uint64_t payload;  ///< bytes per full slot
  std::uint64_t done{0};

  [[nodiscard]] bool more() const { return done < bytes; }
  [[nodiscard]] std::uint32_t piece() const {
    return static_cast<std::uint32_t>(std::min(payload, bytes - done));
  }
};

struct pe_context::impl {
  impl(pe_runtime& shared, const abi::kernel_arguments& arguments, direction_map queue_pairs)
      : runtime(shared),
        hal(shared.hal()),
        args(arguments),
        options(shared.options()),
        tasks(shared.tasks()),
        driver(shared.driver()),
        map(std::move(queue_pairs)),
        errata(hal.errata()) {}
  impl(std::unique_ptr<pe_runtime> own, const abi::kernel_arguments& arguments) : impl(*own, arguments, {}) {
    own_runtime = std::move(own);
  }

  // pe_context.cpp
  [[nodiscard]] comm::direction queue_pair(comm::direction dir) const;
  queue_state& queue(comm::direction dir) { return driver.queue(queue_pair(dir)); }
  void wait_for_before();
  /// For all calls except stream, which alone can share queue pairs with the end of the previous kernel: they
  /// wait for that end.
  queue_state& tx(comm::direction dir);
  queue_state& rx(comm::direction dir);
  void charge() { runtime.charge_call(); }

  // pe_context.cpp
  queue_state& receiver(comm::direction dir);
  void check_not_promised(comm::direction dir) const;
  std::uint32_t receive(queue_state& q, std::uint64_t offset);
  std::uint32_t wait_receive(const ticket& t);

  // pe_context_slots.cpp: calls named uncharged are part of a larger runtime call
  [[nodiscard]] slot_cut cut(const queue_state& q, std::uint64_t bytes) const;
  /// Sends a piece of an exchange: from its place, or through a page.
  void put_exchanged(queue_state& q, std::uint64_t offset, std::uint32_t bytes, bool keep = false);
  [[nodiscard]] bool uses_pages() const;
  /// The page of the sent (0) or received (1) half. With the defect sendrecv_alias both halves get the same
  /// page.
  [[nodiscard]] std::uint64_t page(unsigned half) const;
  void fetch_through_page(queue_state& q, std::uint64_t offset, std::uint32_t bytes);
  /// Checksum of bytes about to be sent; 0 without comm.checksum = end_to_end.
  [[nodiscard]] std::uint32_t check_of(std::uint64_t offset, std::uint64_t bytes);
  /// Checks the bytes of the oldest message against its sender's checksum.
  void compare_check(const queue_state& q, std::uint64_t offset, std::uint64_t bytes);
  void put(queue_state& q, std::uint64_t offset, std::uint32_t bytes, bool keep = false);
  void put_uncharged(queue_state& q, std::uint64_t offset, std::uint32_t bytes, bool keep = false);
  void check_length(const queue_state& q, std::uint32_t bytes);
  void take(queue_state& q, std::uint64_t offset, std::uint32_t bytes, arrival how);
  void take_uncharged(queue_state& q, std::uint64_t offset, std::uint32_t bytes, arrival how);
  /// Takes the message out without returning the credit, which the caller does: it may forward the slot's
  /// bytes first.
  void take_out(queue_state& q, std::uint64_t offset, std::uint32_t bytes, arrival how);

  // pe_context_stream.cpp
  [[nodiscard]] bool may_hold(const pe_context::pipeline& l);
  /// Copies the oldest slot of the queue pair that is not held, by the DMA or at once.
  std::optional<std::uint32_t> begin_copy(held_slots& held, queue_state& q, std::uint64_t offset,
                                          std::uint32_t bytes);
  /// Copies by the DMA, which may still be copying when the call returns.
  void copy_beside(held_slots& held, std::uint64_t destination, std::uint64_t source, std::uint64_t bytes);
  /// Marks the ranges of a stream as steps of this name.
  static std::function<void(std::uint32_t)> steps_named(pe_context& pe, std::string_view name);
  void run_stream(pe_context& pe, const std::vector<pipeline>& pipelines,
                  const std::function<void(std::uint32_t)>& begins, held_slots& held, bool is_last);
  void begin_tail(const std::vector<stream_pipeline>& pipelines);

  // pe_context_slots.cpp: local work
  [[nodiscard]] std::uint64_t element() const { return numeric::size_of(args.type); }
  [[nodiscard]] bool is_local(abi::address at) const;
  void vector_copy(std::uint64_t destination, std::uint64_t source, std::uint64_t bytes);
  void vector_reduce(std::uint64_t destination, std::uint64_t source, std::uint64_t bytes);
  void fetch(abi::address slot, std::uint64_t destination, std::uint32_t bytes);
  /// Fetches the oldest message to staging and keeps it there while `use` runs with its TCM offset.
  void in_staging(const queue_state& q, std::uint32_t message_bytes,
                  const std::function<void(std::uint64_t)>& use);
  void fetch_and_reduce(const queue_state& q, std::uint64_t destination, std::uint32_t bytes);

  // pe_context_slots.cpp: sums in f32
  /// Type and bytes of elements in messages; other than in memory with f32_acc.
  [[nodiscard]] numeric::dtype wire() const { return wire_type.value_or(args.type); }
  [[nodiscard]] std::uint32_t on_wire(std::uint32_t bytes) const {
    return static_cast<std::uint32_t>(bytes / element() * numeric::size_of(wire()));
  }
  /// Sends the piece rounded; with `keep` it is kept rounded too.
  void put_rounded(queue_state& q, std::uint64_t offset, std::uint32_t bytes, bool keep);
  void widen_slot(const queue_state& q, std::uint64_t offset, std::uint32_t bytes, arrival how);

  /// Receives of one queue pair that recv_async has requested; numbered from 0.
  struct posted_receives {
    std::uint32_t requested{};
    std::deque<std::uint64_t> open;               ///< destinations, oldest first
    std::map<std::uint32_t, std::uint32_t> done;  ///< bytes, by number; until their wait takes them
    bool receiving{};                             ///< a task handles the oldest of `open`
  };

  std::unique_ptr<pe_runtime> own_runtime;  ///< runtime of a kernel alone on its PE
  pe_runtime& runtime;
  abi::hal& hal;
  abi::kernel_arguments args;
  const runtime_options& options;
  task_scheduler& tasks;
  queue_driver& driver;
  direction_map map;
  const kernel_tail* before{};  ///< tail of the kernel before, where kernels follow each other
  kernel_tail* tail{};          ///< tail of this kernel; null: none
  std::uint64_t errata;         ///< known defects of this firmware, models/abi/errata.hpp
  bool pages_alias{};           ///< the last one-call send was one that the defect sendrecv_alias met
  bool staging_busy{};
  abi::kernel_arguments narrow_args;  ///< arguments before widen()
  std::optional<numeric::dtype> wire_type;
  std::uint64_t outbox_at{};
  std::uint64_t next_outbox{};
  std::map<comm::direction, posted_receives> posted;
  std::uint32_t open_left_copies{};  ///< left_copies used by calls of stream since their last finish()
};

}  // namespace diecast::sw
