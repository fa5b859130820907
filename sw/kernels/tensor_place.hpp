// SPDX-License-Identifier: Apache-2.0
// Where a launch's tensors lie, for kernels that take them in HBM as well as in TCM
// (kernel_entry::moves_slots).
#pragma once

#include <cstdint>

#include "models/abi/launch.hpp"
#include "models/comm/hbm_tensor.hpp"

namespace diecast::sw {

/// Words of kernel_arguments::extra that such a kernel leaves to the firmware that runs it on HBM: those
/// before extra_copy, the last.
inline constexpr std::size_t extra_ports = abi::kernel_argument_words - 3;
inline constexpr std::size_t extra_stripe = abi::kernel_argument_words - 2;

/// One of the two tensors of a launch.
class tensor_place {
 public:
  /// `first`: kernel_arguments::input or output.
  tensor_place(const abi::kernel_arguments& launch, std::uint64_t first)
      : first_(first),
        in_hbm_(first > abi::max_offset),
        stripes_{first, static_cast<std::uint64_t>(launch.extra[extra_ports]),
                 static_cast<std::uint64_t>(launch.extra[extra_stripe])} {}

  [[nodiscard]] bool in_hbm() const { return in_hbm_; }
  /// Of byte `offset`: in TCM, or physical.
  [[nodiscard]] std::uint64_t at(std::uint64_t offset) const {
    return in_hbm_ ? stripes_.address_of(offset) : first_ + offset;
  }
  /// In HBM.
  [[nodiscard]] std::uint64_t stripe_bytes() const { return stripes_.stripe_bytes; }

 private:
  std::uint64_t first_;
  bool in_hbm_;
  comm::hbm_tensor stripes_;
};

}  // namespace diecast::sw
