// SPDX-License-Identifier: Apache-2.0
// What collectives that go from neighbor to neighbor are expected to take (comm::spanning_trees,
// comm::packed_routes).
#pragma once

#include "models/comm/neighbors.hpp"
#include "models/cost/algorithm_cost.hpp"
#include "models/cost/step_cost.hpp"
#include "models/cost/wire_rates.hpp"

namespace diecast::cost {

class neighbor_cost {
 public:
  /// Two ranks or more. Throws what comm::neighbor_graph throws.
  neighbor_cost(const fabric::topology& t, const config::machine_config& c, const bound_request& r);

  /// A share of the vector up and down each of comm::spanning_trees.
  [[nodiscard]] estimate all_reduce() const;
  /// Parts of blocks on comm::packed_routes of the request's collective.
  [[nodiscard]] estimate routes() const;

 private:
  [[nodiscard]] pe_coord at(std::uint32_t rank) const { return r_.ranks.members[rank]; }
  /// Payload over the fastest link, and over a rank's network interface.
  [[nodiscard]] double link_ns(double bytes) const;
  [[nodiscard]] double interface_ns(double bytes) const;
  /// The dearest exchange over a link within a SIP, or over any.
  [[nodiscard]] double hop_ns(const step_cost::exchange& e, bool between_sips) const;
  [[nodiscard]] double end_ns() const { return 2 * step_.register_ns(); }

  const bound_request& r_;
  comm::pattern_context context_;
  comm::neighbor_graph graph_;
  step_cost step_;
  wire_rates wires_;
  double n_;
};

}  // namespace diecast::cost
