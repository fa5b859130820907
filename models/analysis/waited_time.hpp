// SPDX-License-Identifier: Apache-2.0
// How long each core waited, by cause, over a whole run.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>

#include "models/events/events.hpp"

namespace diecast::analysis {

inline constexpr std::size_t wait_causes = static_cast<std::size_t>(events::wait_cause::error) + 1;

/// Sums of one core. A core waits for one thing at a time: the sums never overlap.
struct core_waits {
  std::array<sim_time, wait_causes> by_cause{};  ///< waits that have ended, by events::wait_cause
  sim_time poll;                                 ///< firmware's pauses between two polls
  std::optional<sim_time> asleep_since;          ///< start of a wait that has not ended
};

class waited_time final : public events::observer {
 public:
  static constexpr unsigned interests = events::core_states | events::work;

  using events::observer::on;
  void on(const events::core_state_changed& e) override;
  void on(const events::core_waited& e) override;
  void on(const events::core_worked& e) override;

  /// Zeros for a core without events.
  [[nodiscard]] core_waits of(pe_coord pe) const;

 private:
  std::map<pe_coord, core_waits> cores_;
};

}  // namespace diecast::analysis
