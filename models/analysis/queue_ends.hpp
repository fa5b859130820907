// SPDX-License-Identifier: Apache-2.0
// Which receive half hears which transmit half, from an install plan.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "models/comm/install_plan.hpp"

namespace diecast::analysis {

/// One queue pair of the pod.
struct queue_end {
  pe_coord pe;
  comm::direction qp{};
  auto operator<=>(const queue_end&) const = default;
};

class queue_ends {
 public:
  explicit queue_ends(const comm::install_plan& plan);
  /// Where messages sent here become visible; empty when the plan has no such transmit half.
  [[nodiscard]] std::optional<queue_end> receiver_of(queue_end sender) const;
  /// Who sends the messages that become visible here; empty when the plan has no such receive half.
  [[nodiscard]] std::optional<queue_end> sender_to(queue_end receiver) const;
  /// The queue pairs of a PE.
  [[nodiscard]] std::span<const queue_end> of(pe_coord pe) const;

 private:
  std::map<pe_coord, std::vector<queue_end>> pairs_;
  std::map<queue_end, queue_end> receivers_, senders_;
};

}  // namespace diecast::analysis
