// SPDX-License-Identifier: Apache-2.0
// Any kernel on tensors in HBM.
#pragma once

#include <cstdint>

#include "models/abi/launch.hpp"
#include "models/comm/hbm_tensor.hpp"
#include "models/config/machine_config.hpp"
#include "sw/collectives/base/kernel_table.hpp"

namespace diecast::sw {
class pe_runtime;

/// Whether a launch has its tensors in HBM: an offset in TCM is no physical address.
[[nodiscard]] constexpr bool lies_in_hbm(const abi::kernel_arguments& launch) {
  return launch.input > abi::max_offset;
}

/// Runs the kernel by the plan of the launch: on one chunk of the tensors after the other, without a change
/// of the kernel, or on the tensors in HBM. Precondition: lies_in_hbm.
void run_on_hbm(const kernel_entry& kernel, pe_runtime& runtime, const abi::kernel_arguments& launch,
                config::accumulation mode);

// Where a launch's tensors lie, for kernels that take them in HBM as well as in TCM
// (kernel_entry::moves_slots).

/// One of the two tensors of a launch.
class tensor_place {
 public:
  /// `first`: kernel_arguments::input or output.
  tensor_place(const abi::kernel_arguments& launch, std::uint64_t first)
      : first_(first),
        in_hbm_(first > abi::max_offset),
        stripes_{first, launch.own.ports, launch.own.stripe_bytes} {}

  [[nodiscard]] bool in_hbm() const { return in_hbm_; }
  /// Address of byte `offset`: a TCM offset, or a physical address.
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
