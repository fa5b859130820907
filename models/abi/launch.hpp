// SPDX-License-Identifier: Apache-2.0
// The launch block: what the host hands to a PE to start a kernel. It travels as the payload of a
// launch packet, so it is a plain value of fixed size.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "models/abi/address.hpp"
#include "models/numeric/types.hpp"
#include "models/types/time.hpp"

namespace diecast::abi {

inline constexpr unsigned kernel_argument_words = 16;

/// Arguments of one kernel on one PE. Addresses are local TCM offsets; of a launch whose tensors lie in HBM
/// input and output are the physical addresses of the tensors, and at `scratch` lies how they are worked on
/// (sw/runtime/chunk_plan.hpp). The meaning of `extra` is the kernel's own, filled in host-side (sw/kernels):
/// coordinates a kernel needs arrive here, it never decodes a global rank.
struct kernel_arguments {
  std::uint64_t input{};    ///< this rank's contribution
  std::uint64_t output{};   ///< this rank's result; equals input when in place
  std::uint64_t scratch{};  ///< TCM offset of scratch_bytes for the kernel
  std::uint64_t scratch_bytes{};
  std::uint64_t count{};  ///< elements of the vector
  numeric::dtype type{numeric::dtype::f16};
  numeric::reduction op{numeric::reduction::sum};
  std::uint32_t rank{};   ///< position within the group
  std::uint32_t ranks{};  ///< size of the group
  std::array<std::int64_t, kernel_argument_words> extra{};
};

struct launch_block {
  std::uint32_t kernel{};     ///< index into the kernel table both sides were built with
  std::uint32_t launch_id{};  ///< counts launches; returned in launch_done
  sim_time target_start;      ///< all PEs of a launch start at this instant
  kernel_arguments arguments;
};

/// The block as the payload of a launch packet, and back. decode throws std::invalid_argument when
/// the bytes are not exactly one block.
[[nodiscard]] std::vector<std::byte> encode_launch(const launch_block& block);
[[nodiscard]] launch_block decode_launch(std::span<const std::byte> bytes);

}  // namespace diecast::abi
