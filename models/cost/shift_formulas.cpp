// SPDX-License-Identifier: Apache-2.0
// Send_recv: every vector goes to the next rank, straight or round the ring of neighbors.
#include <algorithm>
#include <numeric>

#include "models/cost/formula_base.hpp"

namespace diecast::cost {
namespace {

using comm::collective;

class shifts : public formula_base {
 public:
  using formula_base::formula_base;

  [[nodiscard]] estimate direct() const {
    std::vector<std::uint32_t> order(p_);
    std::iota(order.begin(), order.end(), 0U);
    const std::vector<double> edges = edges_ns(order);
    return {ends_ns() + *std::max_element(edges.begin(), edges.end()),
            std::max(interface_ns(n_), laps_ns({order}, n_, false))};
  }
  /// Rounds in which all vectors move on, until the farthest has come. Its way waits for the dearest edges in
  /// a row, whosever they are.
  [[nodiscard]] estimate ring_1d() const {
    const std::vector<std::uint32_t> ring = comm::ring_order(t_.shape(), r_.ranks);
    const std::uint32_t rounds = farthest_next(ring);
    return {ends_ns() + dearest_in_a_row(edges_ns(ring), rounds) + step_.vector_ns(n_, false),
            std::max(interface_ns(rounds * n_), laps_ns({ring}, rounds * n_, false))};
  }

 private:
  [[nodiscard]] double ends_ns() const { return step_.first_use_ns(2 * half_registers) + end_ns(); }
  /// A vector from each rank of a cyclic order to the one behind it, while one comes. Of every edge: the
  /// order of ranks leaves a cube or a SIP here and there only.
  [[nodiscard]] std::vector<double> edges_ns(const std::vector<std::uint32_t>& order) const {
    std::vector<double> edges(p_);
    for (std::uint32_t i = 0; i < p_; ++i)
      edges[i] = step_.exchange_ns(at(order[i]), at(order[(i + 1) % p_]), {n_, false});
    return edges;
  }
  /// Steps along the ring from a rank to the next by number, at most.
  [[nodiscard]] std::uint32_t farthest_next(const std::vector<std::uint32_t>& ring) const {
    std::vector<std::uint32_t> place(p_);
    for (std::uint32_t i = 0; i < p_; ++i) place[ring[i]] = i;
    std::uint32_t most = 0;
    for (std::uint32_t r = 0; r < p_; ++r) most = std::max(most, (place[(r + 1) % p_] + p_ - place[r]) % p_);
    return most;
  }
  [[nodiscard]] static double dearest_in_a_row(const std::vector<double>& edges, std::uint32_t count) {
    double sum = std::accumulate(edges.begin(), edges.begin() + count, 0.0);
    double most = sum;
    for (std::size_t i = 0; i < edges.size(); ++i) {
      sum += edges[(i + count) % edges.size()] - edges[i];
      most = std::max(most, sum);
    }
    return most;
  }
};

}  // namespace

std::vector<formula_row> shift_formulas() {
  using f = shifts;
  return {
      {collective::send_recv, "direct", formula_of(&f::direct)},
      {collective::send_recv, "ring_1d", formula_of(&f::ring_1d)},
  };
}

}  // namespace diecast::cost
