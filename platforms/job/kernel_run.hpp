// SPDX-License-Identifier: Apache-2.0
// Jobs whose members run one kernel together, launch after launch.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/abi/hal.hpp"
#include "platforms/run/prepare.hpp"

namespace diecast::platforms {

struct kernel_run : prepared_run {
  using prepared_run::prepared_run;

  [[nodiscard]] std::unique_ptr<host_side> hosts(std::optional<std::uint32_t> only, std::uint64_t sips,
                                                 start_agreement& agreement,
                                                 std::function<void()> on_round) const override;
  [[nodiscard]] const kernel_launch* launch() const override { return &*launched_; }
  void describe(run_outcome& o) const override;
  [[nodiscard]] std::string direction_name(pe_coord /*pe*/, comm::direction d) const override {
    return comm::direction_name(pattern_, d);
  }
  /// What the host of a SIP does before the first launch, beside loading images. `arguments`: by rank.
  virtual void set_up(abi::host_hal& /*host*/, std::span<const abi::kernel_arguments> /*arguments*/) const {}

 protected:
  /// For known members, with `count` elements each.
  void launch_with(sw::kernel_entry kernel, std::uint64_t count);
  /// The kernel's pattern as install plan, then complete().
  void wire(const app::registries& tables);
  /// An install plan of these queue pairs with the slot rings of this config, then complete().
  void wire(const std::vector<comm::edge>& edges, const config::machine_config& rings);

  std::optional<kernel_launch> launched_;
  comm::pattern_entry pattern_;  ///< none for a program

 private:
  /// Fields of the bound, computed once, before the processes of the run are forked.
  mutable std::optional<run_outcome> bounded_;
};

}  // namespace diecast::platforms
