// SPDX-License-Identifier: Apache-2.0
#include "models/cost/neighbor_cost.hpp"

#include <algorithm>
#include <cmath>

#include "models/comm/packed_routes.hpp"
#include "models/comm/spanning_trees.hpp"

namespace diecast::cost {
namespace {

double d(std::uint64_t n) { return static_cast<double>(n); }

}  // namespace

neighbor_cost::neighbor_cost(const fabric::topology& t, const config::machine_config& c,
                             const bound_request& r)
    : r_(r),
      context_{c, t.shape(), r.ranks, r.root},
      graph_(context_),
      step_(t, c),
      wires_(c),
      n_(d(r.bytes)) {}

double neighbor_cost::link_ns(double bytes) const {
  return bytes * wires_.wire_bytes_per_byte() / graph_.fastest();
}
double neighbor_cost::interface_ns(double bytes) const {
  return bytes * wires_.wire_bytes_per_byte() / wires_.noc_gbytes_s();
}

double neighbor_cost::hop_ns(const step_cost::exchange& e, bool between_sips) const {
  double within = 0, any = 0;
  for (const comm::neighbor_graph::link& l : graph_.links()) {
    const double ns = step_.exchange_ns(at(l.from), at(l.to), e);
    any = std::max(any, ns);
    if (at(l.from).sip == at(l.to).sip) within = std::max(within, ns);
  }
  return between_sips || within == 0 ? any : within;
}

estimate neighbor_cost::all_reduce() const {
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
  const double hops = hop_ns({slot, true, plan.trees()}, false) + hop_ns({slot, false, plan.trees()}, false);
  const double busy = d(most) * (step_.take_ns(slot, true) + step_.send_ns() + 2 * step_.register_ns());
  const double first_use = step_.first_use_ns(pair_registers * static_cast<unsigned>(most));
  return {plan.depth() * hops + (std::ceil(share / step_.slot_bytes()) - 1) * busy + first_use + end_ns(),
          std::max(interface_ns(share * d(most)), link_ns(n_ * plan.busiest()))};
}

estimate neighbor_cost::routes() const {
  const comm::packed_routes plan(context_, r_.what);
  const bool sums = r_.what == comm::collective::reduce_scatter;
  const double block = n_ / d(graph_.ranks()), piece = block / plan.parts();
  const double slot = std::min(piece, step_.slot_bytes());
  double busy = 0, pieces = 0;  // of the busiest rank
  for (std::uint32_t r = 0; r < graph_.ranks(); ++r) {
    double sent = 0, received = 0;
    for (const comm::packed_routes::lane& l : plan.lanes(r)) {
      sent += d(l.sent.size());
      received += d(l.received.size());
    }
    busy = std::max(busy, sent * step_.send_ns() + received * step_.take_ns(slot, sums) +
                              (sent + received) * step_.register_ns());
    pieces = std::max({pieces, sent, received});
  }
  const step_cost::exchange one{slot, sums, 2};
  const double hop = hop_ns(one, false);
  // The farthest parts go first: what is behind them hides their way, or it takes longer than all of that.
  return {std::max((plan.depth() - 1.0) * hop + hop_ns(one, true),
                   std::ceil(piece / step_.slot_bytes()) * busy + 2 * hop) +
              end_ns(),
          std::max(interface_ns(pieces * piece), link_ns(block * plan.busiest()))};
}

}  // namespace diecast::cost
