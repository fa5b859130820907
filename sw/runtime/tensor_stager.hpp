// SPDX-License-Identifier: Apache-2.0
// Tensors in HBM, brought into TCM chunk by chunk.
//
// Plan by which firmware runs a kernel on tensors in HBM, in chunks or in place. The host copies this struct
// to kernel_arguments::scratch of the launch.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "models/abi/address.hpp"
#include "models/abi/launch.hpp"
#include "models/comm/hbm_tensor.hpp"
#include "sw/runtime/pe_runtime.hpp"

namespace diecast::sw {

/// Arguments of a kernel for a chunk, as far as they differ from the launch's.
struct chunk_arguments {
  std::uint64_t count{};    ///< elements
  std::uint64_t input{};    ///< offset from the start of a buffer
  std::uint64_t output{};   ///< offset from the start of a buffer
  std::uint64_t scratch{};  ///< TCM offset
  std::uint64_t scratch_bytes{};
  abi::kernel_parameters own;
};

struct chunk_plan {
  std::uint64_t what{};             ///< comm::collective
  std::uint64_t piece{};            ///< elements of each block in a chunk but the last
  std::uint64_t read{}, written{};  ///< comm::block_set
  std::uint64_t ports{}, stripe_bytes{};
  std::uint64_t copy_bytes{};    ///< longest copy of the DMA
  std::uint64_t buffers{};       ///< chunks that TCM holds at a time; 0: the kernel works on HBM
  std::uint64_t buffer{};        ///< TCM offset of the first
  std::uint64_t buffer_bytes{};  ///< bytes of each buffer
  std::uint64_t chunk_output{};  ///< offset of a chunk's output in its buffer; the input is first
  /// Elements of the whole vector before the first of the tensor: a tensor may be one block alone.
  std::uint64_t input_origin{}, output_origin{};
  chunk_arguments full, last;  ///< arguments of all chunks but the last, and of the last
};

// In which order copies between tensors in HBM and chunks in TCM are started.

/// A copy of the DMA between a tensor in HBM and a chunk of it in TCM.
struct staged_copy {
  abi::address from{}, to{};
  std::uint64_t bytes{};
  std::uint64_t port{};  ///< index among the ports of its tensor
};

/// Orders copies out and in alternately, over `ports`: all of one port after those of another, results from
/// port 0 on, inputs from half of the ports on. A port that alternates reads and writes loses time at each
/// change. Copies in one direction alone stay as they are: one port is slower than the network interface.
void keep_ports_apart(std::vector<staged_copy>& out, std::vector<staged_copy>& in, std::uint64_t ports);

// Brings chunks of tensors from HBM into TCM and takes results back, by the compute port of the PE's DMA
// engine, while firmware does something else. Chunk k lies in buffer k modulo the buffers.

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

  /// Starts copying the result of one chunk out and another chunk in, alternately, so that both directions of
  /// the network interface are used at once. First waits until the buffer of `in` is free. Every chunk once
  /// in each direction, in order.
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
  [[nodiscard]] copies copies_of(const std::vector<comm::staged_piece>& pieces, bool out, abi::address tensor,
                                 std::uint64_t origin, std::uint64_t buffer) const;
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
