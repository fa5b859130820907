// SPDX-License-Identifier: Apache-2.0
// One collective on the mock machine, data and verification included: the row of a test matrix.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "models/comm/patterns.hpp"
#include "models/config/machine_config.hpp"
#include "models/random/test_data.hpp"
#include "sw/collectives/base/kernel_table.hpp"
#include "sw/mock_machine/mock_machine.hpp"

namespace diecast::test {

/// What matrices go through; rows take an element by their number.
namespace turns {
inline constexpr std::array orders{sw::schedule::round_robin, sw::schedule::random,
                                   sw::schedule::adversarial};
inline constexpr std::array types{numeric::dtype::f16, numeric::dtype::bf16, numeric::dtype::f32,
                                  numeric::dtype::i32};
inline constexpr std::array ops{numeric::reduction::sum, numeric::reduction::max, numeric::reduction::min,
                                numeric::reduction::prod, numeric::reduction::avg};
}  // namespace turns

struct matrix_row {
  std::string algorithm;
  machine_shape shape;
  comm::rank_set ranks{comm::rank_set::pe};
  std::uint64_t count{};
  numeric::dtype type{numeric::dtype::f32};
  numeric::reduction op{numeric::reduction::sum};
  std::uint64_t n_slots{2};
  std::uint64_t slot_bytes{64};
  sw::schedule order{sw::schedule::round_robin};
  std::uint64_t seed{1};
  bool in_place{true};
  bool poll{false};
  config::buffer_kind rings{config::buffer_kind::tcm};
  config::root_place root{config::root_place::center};
  config::inter_sip between_sips{config::inter_sip::ring_1d};
  config::auto_count chunks{};
  config::accumulation accumulate{config::accumulation::elem};
  unsigned launches{1};  ///< one after the other on the same machine
  random::data_pattern data{random::data_pattern::random};
  std::vector<config::instance_override> overrides{};
  config::tensor_kind tensors{config::tensor_kind::tcm};
  config::auto_count chunk_bytes{};  ///< bytes of a chunk of tensors in HBM
  std::uint64_t stripe_bytes{64};
  bool rounded{};  ///< too many ranks for exact data: results are held to the bound of the kernel's sums
};
[[nodiscard]] std::string to_string(const matrix_row& row);

[[nodiscard]] config::machine_config config_of(const matrix_row& row);
/// The kernel of that name; fails the test when there is none.
[[nodiscard]] sw::kernel_entry kernel_named(const std::string& name,
                                            const std::string& collective = "all_reduce");
/// Builds the named pattern over the group and plans it.
[[nodiscard]] comm::install_plan plan_for(const std::string& pattern, const config::machine_config& config,
                                          const comm::group& members, std::uint64_t reserved_bytes,
                                          std::uint32_t root = 0);
/// For a launch, with the arithmetic of its tree where it has one.
[[nodiscard]] comm::install_plan plan_for(const sw::kernel_entry& kernel, const sw::argument_context& launch);

/// Runs the row and verifies every rank's result, that inputs survive when not in place, and that no
/// message, credit or request is left in any engine. Returns what is wrong; empty when all is right.
[[nodiscard]] std::string run_row(const matrix_row& row);

/// Loads the kernel's images, where it has any, and runs it on every member.
[[nodiscard]] sw::mock_outcome run_with_images(sw::mock_machine& machine, const sw::kernel_entry& kernel,
                                               const sw::argument_context& launch,
                                               std::span<const abi::kernel_arguments> arguments);

/// What is not at rest in the machine's engines; empty when nothing.
[[nodiscard]] std::string unrest(const sw::mock_machine& machine, const config::population& there);
/// ", overrides of pod.sip0.cube_0_0.pe1 ..."; empty when there are none.
[[nodiscard]] std::string to_string(const std::vector<config::instance_override>& overrides);

}  // namespace diecast::test
