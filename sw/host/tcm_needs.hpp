// SPDX-License-Identifier: Apache-2.0
// TCM that a kernel needs on a PE for a launch, and a member's own parts of the vectors.
#pragma once

#include <cstdint>

#include "models/abi/launch.hpp"
#include "sw/kernels/kernel_table.hpp"

namespace diecast::sw {

/// Input and output are one vector.
[[nodiscard]] bool in_place(const kernel_entry& kernel, const argument_context& launch);

/// Input and output, whole lines each; `output` counts from the input.
struct tensor_room {
  std::uint64_t output{};
  std::uint64_t bytes{};
};
[[nodiscard]] tensor_room room_of(const kernel_entry& kernel, const argument_context& launch);

/// With sums in f32 a kernel works in place on an f32 vector in front of its own scratch; 0 otherwise.
[[nodiscard]] std::uint64_t wide_part(const kernel_entry& kernel, const argument_context& launch);
/// Scratch with all that: whole lines.
[[nodiscard]] std::uint64_t scratch_room(const kernel_entry& kernel, const argument_context& launch);

/// Where a member's contribution begins in the input vector, and its result in the output: in place,
/// gathering collectives take it from its own block, scattering ones leave it there. Bytes.
[[nodiscard]] std::uint64_t input_part(const kernel_entry& kernel, const argument_context& launch,
                                       std::uint32_t rank);
[[nodiscard]] std::uint64_t output_part(const kernel_entry& kernel, const argument_context& launch,
                                        std::uint32_t rank);

/// Elements of the vector before the first of a member's input, and of its output, where the tensor is one
/// block alone: not in place.
[[nodiscard]] std::uint64_t input_origin(const kernel_entry& kernel, const argument_context& launch,
                                         std::uint32_t rank);
[[nodiscard]] std::uint64_t output_origin(const kernel_entry& kernel, const argument_context& launch,
                                          std::uint32_t rank);

/// A member's arguments but for places and `extra`.
[[nodiscard]] abi::kernel_arguments common_arguments(const argument_context& launch, std::uint32_t rank);

}  // namespace diecast::sw
