// SPDX-License-Identifier: Apache-2.0
// One launch of any collective on the mock machine, verified for every rank.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/comm/collective.hpp"
#include "models/comm/patterns.hpp"
#include "models/config/machine_config.hpp"
#include "sw/collectives/base/kernel_table.hpp"
#include "sw/mock_machine/mock_machine.hpp"

namespace diecast::test {

struct move_row {
  std::string collective, algorithm;
  machine_shape shape;
  comm::rank_set ranks{comm::rank_set::pe};
  std::uint32_t root{};
  std::uint64_t count{};
  numeric::dtype type{numeric::dtype::f32};
  numeric::reduction op{numeric::reduction::sum};
  std::uint64_t n_slots{2};
  std::uint64_t slot_bytes{64};
  sw::schedule order{sw::schedule::round_robin};
  std::uint64_t seed{1};
  bool in_place{true};
  config::buffer_kind rings{config::buffer_kind::tcm};
  unsigned launches{1};
  std::vector<config::instance_override> overrides{};
  config::tensor_kind tensors{config::tensor_kind::tcm};
  config::auto_count chunk_bytes{};  ///< bytes of a chunk of tensors in HBM
  std::uint64_t stripe_bytes{64};
  bool where_they_lie{};  ///< a run that takes tensors in HBM in chunks is wrong
  config::accumulation accumulate{config::accumulation::elem};
  std::uint64_t tcm_kib{config::pe_block{}.tcm_kib};
};
[[nodiscard]] std::string to_string(const move_row& row);

/// Verifies every rank's output, that inputs survive when not in place, and that nothing is left in any
/// engine. Returns what is wrong; empty when all is right.
[[nodiscard]] std::string run_move(const move_row& row);

}  // namespace diecast::test
