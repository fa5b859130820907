// SPDX-License-Identifier: Apache-2.0
// Ways from neighbor to neighbor (comm::spanning_trees, comm::packed_routes).
#include <algorithm>

#include "models/comm/neighbors.hpp"
#include "models/comm/packed_routes.hpp"
#include "models/comm/spanning_trees.hpp"
#include "models/cost/formula_base.hpp"

namespace diecast::cost {
namespace {

using comm::collective;

class neighbors : public formula_base {
 public:
  /// Throws what comm::neighbor_graph throws.
  neighbors(const fabric::topology& t, const config::machine_config& c, const bound_request& r)
      : formula_base(t, c, r), context_{c, t.shape(), r.ranks, r.root}, graph_(context_) {}

  /// A share of the vector up and down each of the trees.
  [[nodiscard]] estimate all_reduce() const {
    const comm::spanning_trees plan(context_);
    std::uint64_t most = 0;  // messages each way at the busiest rank for a slot of every tree
    for (std::uint32_t r = 0; r < graph_.ranks(); ++r) {
      std::uint64_t edges = 0;
      for (std::uint32_t t = 0; t < plan.trees(); ++t) {
        edges += plan.tree(t)[r].children.size() + (plan.tree(t)[r].parent ? 1 : 0);
      }
      most = std::max(most, edges);
    }
    const double share = n_ / plan.trees();
    const double slot = std::min(share, step_.slot_bytes());
    const double hops =
        hop_ns({slot, true, plan.trees()}, false) + hop_ns({slot, false, plan.trees()}, false);
    const double busy = d(most) * (step_.take_ns(slot, true) + step_.send_ns() + 2 * step_.register_ns());
    const double first_use = step_.first_use_ns(pair_registers * static_cast<unsigned>(most));
    return {plan.depth() * hops + step_.more_slots_of(share) * busy + first_use + end_ns(),
            std::max(interface_ns(share * d(most)), link_ns(n_ * plan.busiest()))};
  }
  /// Parts of blocks on the routes of the request's collective.
  [[nodiscard]] estimate routes() const {
    const comm::packed_routes plan(context_, r_.what);
    const bool sums = r_.what == comm::collective::reduce_scatter;
    const double block = n_ / d(graph_.ranks()), piece = block / plan.parts();
    const double slot = std::min(piece, step_.slot_bytes());
    double busy = 0, pieces = 0;  // of the busiest rank
    unsigned registers = 0;
    for (std::uint32_t r = 0; r < graph_.ranks(); ++r) {
      double sent = 0, received = 0;
      unsigned used = 0;
      for (const comm::packed_routes::lane& l : plan.lanes(r)) {
        sent += d(l.sent.size());
        received += d(l.received.size());
        if (l.sent.empty() && l.received.empty()) continue;
        used += l.sent.empty() || l.received.empty() ? half_registers : pair_registers;
      }
      registers = std::max(registers, used);
      busy = std::max(busy, sent * step_.send_ns() + received * step_.take_ns(slot, sums) +
                                (sent + received) * step_.register_ns());
      pieces = std::max({pieces, sent, received});
    }
    const step_cost::exchange one{slot, sums, 2};
    const double hop = hop_ns(one, false);
    // The farthest parts go first: what is behind them hides their way, or it takes longer than all of that.
    return {std::max((plan.depth() - 1.0) * hop + hop_ns(one, true), step_.slots_of(piece) * busy + 2 * hop) +
                step_.first_use_ns(registers) + end_ns(),
            std::max(interface_ns(pieces * piece), link_ns(block * plan.busiest()))};
  }

 private:
  /// Payload over the fastest link.
  [[nodiscard]] double link_ns(double bytes) const {
    return bytes * wires_.wire_bytes_per_byte() / graph_.fastest();
  }
  /// The dearest exchange over a link within a SIP, or over any.
  [[nodiscard]] double hop_ns(const step_cost::exchange& e, bool between_sips) const {
    double within = 0, any = 0;
    for (const comm::neighbor_graph::link& l : graph_.links()) {
      const double ns = step_.exchange_ns(at(l.from), at(l.to), e);
      any = std::max(any, ns);
      if (at(l.from).sip == at(l.to).sip) within = std::max(within, ns);
    }
    return between_sips || within == 0 ? any : within;
  }

  comm::pattern_context context_;
  comm::neighbor_graph graph_;
};

}  // namespace

std::vector<formula_row> neighbor_formulas() {
  using f = neighbors;
  return {
      {collective::all_reduce, "packed_trees", formula_of(&f::all_reduce)},
      {collective::all_gather, "packed_routes", formula_of(&f::routes)},
      {collective::reduce_scatter, "packed_routes", formula_of(&f::routes)},
      {collective::gather, "packed_routes", formula_of(&f::routes)},
      {collective::scatter, "packed_routes", formula_of(&f::routes)},
  };
}

}  // namespace diecast::cost
