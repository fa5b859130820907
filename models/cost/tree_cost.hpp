// SPDX-License-Identifier: Apache-2.0
// What collectives on the tree in the network are expected to take (noc.multicast, noc.reduce).
#pragma once

#include <cstdint>

#include "models/cost/algorithm_cost.hpp"
#include "models/cost/step_cost.hpp"
#include "models/fabric/collective_tree.hpp"

namespace diecast::cost {

class tree_cost {
 public:
  /// A tree over the ranks of the request below rank `root`. Precondition: noc.multicast, two ranks or more.
  tree_cost(const fabric::topology& t, const config::machine_config& c, const bound_request& r,
            std::uint32_t root);

  [[nodiscard]] estimate multicast() const;
  [[nodiscard]] estimate reduction() const;
  /// Up and down.
  [[nodiscard]] estimate both() const;

 private:
  /// To the member whose messages take longest, and back.
  struct way {
    double slot_ns{};      ///< doorbell to token of one slot, or of all bytes when they are fewer
    double credit_ns{};    ///< of its credit
    double interval_ns{};  ///< between slots, for all but credits
  };
  [[nodiscard]] double units_ns(pe_coord member) const;
  [[nodiscard]] way longest(bool outward) const;
  [[nodiscard]] way down() const;
  [[nodiscard]] way up() const;
  [[nodiscard]] double wires_ns() const;
  [[nodiscard]] double slots_ns(const way& w, double firmware_ns) const;

  const fabric::topology& t_;
  const config::machine_config& c_;
  const bound_request& r_;
  step_cost step_;
  pe_coord root_;
  double n_, slot_, more_slots_, cycle_;
  fabric::collective_tree tree_;
};

}  // namespace diecast::cost
