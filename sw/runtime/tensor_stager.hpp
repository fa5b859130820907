// SPDX-License-Identifier: Apache-2.0
// Brings chunks of tensors from HBM into TCM and takes results back, by the compute port of the PE's DMA
// engine, while firmware does something else. Chunk k lies in buffer k modulo the buffers.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "models/abi/launch.hpp"
#include "sw/runtime/chunk_plan.hpp"
#include "sw/runtime/pe_runtime.hpp"
#include "sw/runtime/staged_copies.hpp"

namespace diecast::sw {

/// The plan that the host has written there.
[[nodiscard]] chunk_plan read_plan(abi::hal& hal, std::uint64_t tcm_offset);

class tensor_stager {
 public:
  using chunk_number = std::optional<std::uint64_t>;

  /// Precondition: the launch's tensors lie in HBM; `plan` is its own, of chunks.
  tensor_stager(pe_runtime& runtime, const abi::kernel_arguments& launch, const chunk_plan& plan);

  [[nodiscard]] std::uint64_t chunks() const { return cut_.chunks(); }
  /// A chunk can come in while another is worked on.
  [[nodiscard]] bool overlaps() const { return plan_.buffers > 1; }

  /// Starts to take the result of one chunk out and to bring another in, a copy of each by turns, so that
  /// both ways of the network interface are used at once. First waits until the buffer of `in` is free. Every
  /// chunk once in each direction, in order.
  void start(chunk_number out, chunk_number in);
  /// Waits until a chunk has come in. Returns the arguments of a kernel that works on it.
  [[nodiscard]] abi::kernel_arguments arrived(std::uint64_t chunk);
  /// Waits until all results are in HBM.
  void finish();

 private:
  using copies = std::vector<staged_copy>;
  using job = std::optional<std::uint32_t>;  ///< the last copy of a chunk; empty when it needs none

  [[nodiscard]] std::uint64_t buffer_of(std::uint64_t chunk) const {
    return plan_.buffer + chunk % plan_.buffers * plan_.buffer_bytes;
  }
  [[nodiscard]] copies copies_in(std::uint64_t chunk) const;
  [[nodiscard]] copies copies_out(std::uint64_t chunk) const;
  void free_buffer(std::uint64_t chunk);
  /// Each list in order; the shorter one spread evenly over the longer.
  void start_by_turns(const copies& out, const copies& in);
  void wait(const job& j);

  pe_runtime& runtime_;
  abi::kernel_arguments launch_;
  chunk_plan plan_;
  comm::tensor_chunks cut_;
  std::deque<job> loads_;   ///< chunks that arrived() has not been called for, oldest first
  std::deque<job> stores_;  ///< chunks whose buffer has not been taken again, oldest first
};

}  // namespace diecast::sw
