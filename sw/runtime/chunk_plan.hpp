// SPDX-License-Identifier: Apache-2.0
// What firmware must know to run a kernel on tensors in HBM, in chunks or where they lie. The host writes it,
// as it lies in memory here, to kernel_arguments::scratch of the launch.
#pragma once

#include <array>
#include <cstdint>

#include "models/abi/launch.hpp"
#include "models/comm/hbm_tensor.hpp"
#include "models/comm/tensor_chunks.hpp"

namespace diecast::sw {

/// What a kernel's arguments are for a chunk, where they differ from the launch's.
struct chunk_arguments {
  std::uint64_t count{};    ///< elements
  std::uint64_t input{};    ///< from the start of a buffer
  std::uint64_t output{};   ///< from the start of a buffer
  std::uint64_t scratch{};  ///< TCM offset
  std::uint64_t scratch_bytes{};
  std::array<std::int64_t, abi::kernel_argument_words> extra{};
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
  std::uint64_t chunk_output{};  ///< where the output of a chunk begins in its buffer; the input is first
  /// Elements of the whole vector before the first of the tensor: a tensor may be one block alone.
  std::uint64_t input_origin{}, output_origin{};
  chunk_arguments full, last;  ///< arguments of all chunks but the last, and of the last
};

}  // namespace diecast::sw
