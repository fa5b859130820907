// SPDX-License-Identifier: Apache-2.0
// The host's side of tensors in HBM (ccl.tensor_kind = hbm): where they lie, how large the chunks are that
// firmware brings into TCM, and the plan it finds there (sw/runtime/tensor_stager.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/abi/hal.hpp"
#include "models/comm/hbm_tensor.hpp"
#include "models/types/error.hpp"
#include "sw/collectives/base/kernel_table.hpp"

namespace diecast::sw {

/// Barriers have no tensors.
[[nodiscard]] bool lies_in_hbm(const kernel_entry& kernel, const argument_context& launch);

struct hbm_tensors {
  comm::hbm_tensor input, output;  ///< equal when in place
};
[[nodiscard]] hbm_tensors tensors_of(const kernel_entry& kernel, const argument_context& launch,
                                     std::uint32_t rank);

/// TCM of a member, from tcm_base upwards: the plan, the buffers, the kernel's scratch. No buffers, and no
/// pieces, where the kernel works on the tensors in HBM.
struct chunk_layout {
  std::uint64_t piece{};  ///< elements of each block in a chunk (comm::tensor_chunks)
  std::uint64_t buffers{};
  std::uint64_t plan{};
  std::uint64_t buffer{}, buffer_bytes{};  ///< the first, and each
  std::uint64_t output{};                  ///< offset of a chunk from the start of its buffer
  std::uint64_t scratch{}, scratch_bytes{};
  std::uint64_t end{};
};
/// Chunks of ccl.tensor_chunk_bytes, else the size that models/cost/staging thinks best, as far as three of
/// them fit below the receive rings (argument_context::tcm_room). The same on every member.
[[nodiscard]] chunk_layout lay_out_chunks(const kernel_entry& kernel, const argument_context& launch);

/// Appends why these tensors cannot be in HBM: ports or TCM too small.
/// Returns the shortage where fewer bytes would fit.
[[nodiscard]] std::optional<shortage> check_hbm_tensors(const kernel_entry& kernel,
                                                        const argument_context& launch,
                                                        std::vector<problem>& problems);

/// Writes the plan and the kernel's image to a member's TCM, by the backdoor.
void load_chunk_images(abi::host_hal& host, const kernel_entry& kernel, const argument_context& launch,
                       std::uint32_t rank);

}  // namespace diecast::sw
