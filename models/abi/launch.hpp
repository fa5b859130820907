// SPDX-License-Identifier: Apache-2.0
// The launch block: what the host hands to a PE to start a kernel. It travels as the payload of a
// launch packet, so it is a plain value of fixed size.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "models/abi/address.hpp"
#include "models/numeric/types.hpp"
#include "models/types/time.hpp"

namespace diecast::abi {

/// A kernel's parameters beyond the tensors, as they travel. Filled in host-side (sw/collectives):
/// coordinates a kernel needs arrive here, it never decodes a global rank.
struct kernel_parameters {
  /// The parameters of one kernel: a plain struct without padding.
  std::array<std::uint64_t, 13> words{};
  std::uint64_t ports{}, stripe_bytes{};  ///< layout of tensors in HBM that the kernel uses in place
  std::uint64_t copy{};  ///< offset in the scratch to which an input that must survive is copied

  template <class Own>
  void set(const Own& own) {
    static_assert(std::has_unique_object_representations_v<Own> && sizeof own <= sizeof words);
    std::memcpy(words.data(), &own, sizeof own);
  }
  template <class Own>
  [[nodiscard]] Own get() const {
    static_assert(std::has_unique_object_representations_v<Own> && sizeof(Own) <= sizeof words);
    std::array<std::byte, sizeof(Own)> bytes;
    std::memcpy(bytes.data(), words.data(), sizeof bytes);
    return std::bit_cast<Own>(bytes);
  }
};

/// Arguments of one kernel on one PE. Addresses are local TCM offsets; of a launch whose tensors lie in HBM
/// input and output are the physical addresses of the tensors, and `scratch` holds the description of their
/// chunks (sw/runtime/tensor_stager.hpp).
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
  kernel_parameters own;
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
