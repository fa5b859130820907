// SPDX-License-Identifier: Apache-2.0
// The entries of the built-in kernels; each is defined in the file of its algorithm.
#pragma once

#include "sw/kernels/kernel_table.hpp"

namespace diecast::sw {

[[nodiscard]] kernel_entry ring_1d_entry();
[[nodiscard]] kernel_entry ring_1d_unidir_entry();
[[nodiscard]] kernel_entry ring_full_tile_entry();
[[nodiscard]] kernel_entry intercube_entry();

/// Bytes of one rank's vector.
[[nodiscard]] std::uint64_t vector_bytes(const argument_context& c);
/// Position of a rank on comm::ring_order of its group.
[[nodiscard]] std::uint32_t ring_position(const argument_context& c, std::uint32_t rank);

}  // namespace diecast::sw
