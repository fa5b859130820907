// SPDX-License-Identifier: Apache-2.0
// Jobs in which every PE runs the ops of its streams, in one launch.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "platforms/run/prepare.hpp"
#include "sw/workload/program.hpp"
#include "sw/workload/workload.hpp"

namespace diecast::platforms {

struct stream_run : prepared_run {
  using prepared_run::prepared_run;

  [[nodiscard]] std::unique_ptr<host_side> hosts(std::optional<std::uint32_t> only, std::uint64_t sips,
                                                 start_agreement& agreement,
                                                 std::function<void()> on_round) const override;
  [[nodiscard]] std::string direction_name(pe_coord pe, comm::direction d) const override {
    return workload->direction_name(pe, d);
  }

  comm::workload file;  ///< workload file from which `workload` is made
  std::unique_ptr<sw::workload_program> workload;

 protected:
  /// Plans the streams of `file`.
  void load_streams(const app::registries& tables);
};

}  // namespace diecast::platforms
