// SPDX-License-Identifier: Apache-2.0
// Rules a PE can be built with instead of the right ones. The right ones are objects, too: nothing asks at
// run time whether a fault is configured.
#pragma once

#include <cstdint>

#include "models/config/comm_block.hpp"
#include "models/types/time.hpp"

namespace diecast::hw {

/// When the token of a message that has begun to arrive may be published.
class publication_rule {
 public:
  publication_rule() = default;
  publication_rule(const publication_rule&) = delete;
  publication_rule& operator=(const publication_rule&) = delete;
  virtual ~publication_rule() = default;
  /// How long its bytes stay in a write buffer while the token is published at once; empty (never()): the
  /// rule, the token waits until every byte is acknowledged written.
  [[nodiscard]] virtual sim_time early_by() { return sim_time::never(); }
};

/// The defect: messages number after..after+count-1 of this PE are announced before their data.
class early_publication : public publication_rule {
 public:
  explicit early_publication(const config::fault_setting& f) : fault_(f) {}
  [[nodiscard]] sim_time early_by() override {
    const std::uint64_t number = messages_++;
    const bool hit = number >= fault_.after && (fault_.count == 0 || number < fault_.after + fault_.count);
    return hit ? nanoseconds(fault_.delay_ns) : sim_time::never();
  }

 private:
  config::fault_setting fault_;
  std::uint64_t messages_{};
};

/// What a core is fit for.
struct core_health {
  std::uint64_t slowdown{1};                    ///< its clock is divided by this
  std::uint64_t dies_after_writes{UINT64_MAX};  ///< register writes of its firmware
  sim_time dies_at{};                           ///< not before
};

}  // namespace diecast::hw
