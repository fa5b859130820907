// SPDX-License-Identifier: Apache-2.0
// Brings chunks of tensors from HBM into TCM and takes results back, by the compute port of the PE's DMA
// engine. Chunk k lies in buffer k modulo the buffers.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/abi/launch.hpp"
#include "sw/runtime/chunk_plan.hpp"
#include "sw/runtime/pe_runtime.hpp"

namespace diecast::sw {

class tensor_stager {
 public:
  using chunk = std::optional<std::uint64_t>;

  /// Reads the plan. Precondition: the launch's tensors lie in HBM.
  tensor_stager(pe_runtime& runtime, const abi::kernel_arguments& launch);

  [[nodiscard]] std::uint64_t chunks() const { return cut_.chunks(); }
  /// A chunk can be moved while another is worked on.
  [[nodiscard]] bool overlaps() const { return plan_.buffers > 1; }
  /// The arguments of a kernel that works on a chunk.
  [[nodiscard]] abi::kernel_arguments arguments_of(std::uint64_t chunk) const;

  /// Takes the result of one chunk out and brings another in, by turns where they do not share a buffer, so
  /// that both ways of the network interface are used at once. Returns when all of it is done; a task that
  /// other tasks can run beside.
  void move(chunk out, chunk in);

 private:
  struct copy {
    abi::address from{}, to{};
    std::uint64_t bytes{};
  };
  using copies = std::vector<copy>;

  [[nodiscard]] std::uint64_t buffer_of(std::uint64_t chunk) const {
    return plan_.buffer + chunk % plan_.buffers * plan_.buffer_bytes;
  }
  [[nodiscard]] copies copies_in(std::uint64_t chunk) const;
  [[nodiscard]] copies copies_out(std::uint64_t chunk) const;
  void run(const copies& all);

  pe_runtime& runtime_;
  abi::kernel_arguments launch_;
  chunk_plan plan_;
  comm::tensor_chunks cut_;
};

}  // namespace diecast::sw
