// SPDX-License-Identifier: Apache-2.0
// Watches from outside what a barrier promises: no PE leaves before the last one has entered.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "models/events/events.hpp"
#include "models/types/ids.hpp"

namespace diecast::analysis {

/// Hears the steps that a barrier kernel marks around its calls. Wants events::steps.
class barrier_checker : public events::observer {
 public:
  static constexpr std::string_view enter = "enter barrier";
  static constexpr std::string_view left = "left barrier";

  barrier_checker(const machine_shape& shape, std::vector<pe_coord> members);

  using events::observer::on;
  void on(const events::step_entered& e) override;
  /// A new launch begins: barriers are numbered from 0 again.
  void next_launch() { barriers_.clear(); }

  /// PEs that left a barrier before every member had entered it.
  [[nodiscard]] std::uint64_t escapes() const { return escapes_; }
  /// Calls of all PEs that have come back.
  /// The first escape: who left when, and who had not come.
  [[nodiscard]] const std::string& first_escape() const { return first_escape_; }

 private:
  machine_shape shape_;
  std::vector<pe_coord> members_;
  struct one {
    std::map<pe_coord, sim_time> entered;
  };
  std::map<std::uint32_t, one> barriers_;  ///< by number within the launch
  std::uint64_t escapes_{};
  std::string first_escape_;
};

}  // namespace diecast::analysis
