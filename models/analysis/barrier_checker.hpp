// SPDX-License-Identifier: Apache-2.0
// Watches from outside what a barrier promises: no PE leaves before the last one has entered.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "models/events/events.hpp"
#include "models/types/ids.hpp"

namespace diecast::analysis {

/// Hears the steps that firmware marks around its barriers: "enter barrier" and "left barrier". Where a
/// launch has several barriers, a blank and the barrier's name follow. Wants events::steps.
class barrier_checker : public events::observer {
 public:
  static constexpr std::string_view enter = "enter barrier";
  static constexpr std::string_view left = "left barrier";

  /// Of consecutive calls of one barrier, over its members.
  struct verdict {
    std::uint64_t entered{};
    std::uint64_t left{};
    std::uint64_t escapes{};  ///< of `left`, before every member had entered
  };

  explicit barrier_checker(const machine_shape& shape) : shape_(shape) {}

  /// Before the run: a barrier and who takes part. Marks of a barrier that nobody has announced throw
  /// std::logic_error.
  void expect(const std::string& name, std::vector<pe_coord> members);

  using events::observer::on;
  void on(const events::step_entered& e) override;
  /// A new launch begins: calls are numbered from 0 again.
  void next_launch();

  /// PEs that left a barrier before every member had entered it.
  [[nodiscard]] std::uint64_t escapes() const { return escapes_; }
  /// The first escape: who left when, and who had not come.
  [[nodiscard]] const std::string& first_escape() const { return first_escape_; }
  /// Calls `first` to `first + count - 1` of the launch. Precondition: expect(name, ...).
  [[nodiscard]] verdict of(const std::string& name, std::uint32_t first, std::uint32_t count) const;

 private:
  struct call {
    std::map<pe_coord, sim_time> when_entered{};  ///< emptied when the last member has left
    verdict seen{};
  };
  struct barrier {
    std::vector<pe_coord> members;
    std::map<std::uint32_t, call> calls;  ///< by number within the launch
  };

  [[nodiscard]] barrier& named(std::string_view rest);
  void entered(barrier& b, const events::step_entered& e);
  void has_left(std::string_view name, barrier& b, const events::step_entered& e);

  machine_shape shape_;
  std::map<std::string, barrier, std::less<>> barriers_;
  std::uint64_t escapes_{};
  std::string first_escape_;
};

}  // namespace diecast::analysis
