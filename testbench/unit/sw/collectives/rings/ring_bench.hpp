// SPDX-License-Identifier: Apache-2.0
// PEs of one cube on a ring, each with code of its own, on the mock machine.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "sw/runtime/pe_context.hpp"
#include "unit/sw/collectives/base/collective_bench.hpp"

namespace diecast::test {

using sw::pe_context;

inline constexpr std::array orders{sw::schedule::round_robin, sw::schedule::random,
                                   sw::schedule::adversarial};
using words = std::vector<std::uint32_t>;

/// N PEs of one cube on a ring (E to the next, W to the one before), each with code of its own.
class ring_bench {
 public:
  ring_bench(
      std::uint32_t pes, std::uint64_t n_slots, const sw::mock_options& options = {},
      const std::string& pattern = "ring_1d", void (*adjust)(config::machine_config&) = nullptr,
      const std::function<void(comm::install_plan&)>& adjust_plan = [](comm::install_plan&) {})
      : config_(make_config(pes, n_slots, adjust)),
        members_(comm::map_ranks(config_.shape(), comm::rank_set::pe)),
        machine_(config_, make_plan(pattern, config_, members_, adjust_plan), options) {}

  [[nodiscard]] pe_coord pe(std::uint32_t rank) const { return members_.members.at(rank); }
  sw::mock_machine& machine() { return machine_; }

  /// Code of one PE; arguments: i32 sum, 2 KiB of scratch at 2048.
  void on(std::uint32_t rank, std::function<void(pe_context&)> code) {
    const sw::runtime_options options = machine_.firmware_options(pe(rank));
    programs_.push_back({pe(rank), [options, code = std::move(code)](abi::hal& hal) {
                           abi::kernel_arguments a;
                           a.type = numeric::dtype::i32;
                           a.scratch = 2048;
                           a.scratch_bytes = 2048;
                           pe_context context{hal, a, options};
                           code(context);
                           context.finish();
                         }});
  }
  /// Code below pe_context.
  void also(std::uint32_t rank, std::function<void(abi::hal&)> code) {
    programs_.push_back({pe(rank), std::move(code)});
  }
  sw::mock_outcome run() {
    const auto programs = std::exchange(programs_, {});
    return machine_.run(programs);
  }

  void put(std::uint32_t rank, std::uint64_t offset, const words& values) {
    machine_.write_tcm(pe(rank), offset, std::as_bytes(std::span{values}));
  }
  [[nodiscard]] words get(std::uint32_t rank, std::uint64_t offset, std::size_t count) const {
    words values(count);
    machine_.read_tcm(pe(rank), offset, std::as_writable_bytes(std::span{values}));
    return values;
  }

 private:
  static config::machine_config make_config(std::uint32_t pes, std::uint64_t n_slots,
                                            void (*adjust)(config::machine_config&)) {
    test::matrix_row row;
    row.shape = {1, 1, 1, pes};
    row.n_slots = n_slots;
    config::machine_config c = test::config_of(row);
    if (adjust != nullptr) adjust(c);
    return c;
  }

  static comm::install_plan make_plan(const std::string& pattern, const config::machine_config& c,
                                      const comm::group& members,
                                      const std::function<void(comm::install_plan&)>& adjust) {
    comm::install_plan plan = test::plan_for(pattern, c, members, 4096);
    adjust(plan);
    return plan;
  }

  config::machine_config config_;
  comm::group members_;
  sw::mock_machine machine_;
  std::vector<sw::mock_program> programs_;
};

inline void overwrite(pe_context& pe, std::uint64_t offset, std::uint32_t value) {
  const std::array<std::uint32_t, 4> garbage{value, value, value, value};
  pe.hal().store(offset, std::as_bytes(std::span{garbage}));
}

}  // namespace diecast::test
