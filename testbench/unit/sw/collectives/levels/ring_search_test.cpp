// SPDX-License-Identifier: Apache-2.0
// Rings over the PEs of a cube: what they cost, and that the search for them ends.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "support/test.hpp"
#include "sw/collectives/levels/level_rings.hpp"

namespace diecast::comm {
namespace {

/// As many PEs on each router of a mesh, one after the other.
ring_task spread(std::uint32_t pes, std::uint32_t columns, std::uint32_t rows) {
  ring_task task{columns, {}, pes % 2 == 0 && pes >= 4};
  for (std::uint32_t pe = 0; pe < pes; ++pe) task.routers.push_back(pe * columns * rows / pes);
  return task;
}

std::vector<std::uint32_t> numbers(std::uint32_t n) {
  std::vector<std::uint32_t> all(n);
  std::iota(all.begin(), all.end(), 0U);
  return all;
}

/// The least cost of all rings, by trying them.
std::uint32_t least_cost(const ring_task& task) {
  std::vector<std::uint32_t> ring = numbers(static_cast<std::uint32_t>(task.routers.size()));
  std::uint32_t least = UINT32_MAX;
  do least = std::min(least, ring_cost(task, ring));
  while (std::next_permutation(ring.begin() + 1, ring.end()));  // where a ring begins does not matter
  return least;
}

/// The least cost of all rings a swap or a reversal away.
std::uint32_t least_nearby(const ring_task& task, const std::vector<std::uint32_t>& ring) {
  std::uint32_t least = UINT32_MAX;
  for (std::size_t i = 0; i < ring.size(); ++i) {
    for (std::size_t j = i + 1; j < ring.size(); ++j) {
      std::vector<std::uint32_t> changed = ring;
      std::swap(changed[i], changed[j]);
      least = std::min(least, ring_cost(task, changed));
      changed = ring;
      std::reverse(changed.begin() + static_cast<std::ptrdiff_t>(i),
                   changed.begin() + static_cast<std::ptrdiff_t>(j) + 1);
      least = std::min(least, ring_cost(task, changed));
    }
  }
  return least;
}

TEST_CASE("ring search: links of several PEs cost more than hops") {
  // Round four routers: a link for each flow, both ways.
  const ring_task square{2, {0, 1, 3, 2}, false};
  CHECK(ring_cost(square, {0, 1, 2, 3}) == 8);
  // Diagonals go along x, then y, over links that their neighbors use.
  CHECK(ring_cost(square, {0, 2, 1, 3}) > 64);
  CHECK(search_ring(square).cost == 8);
  // On a line the way back leads over the routers between: their PEs send there, too.
  const ring_task line{3, {0, 1, 2}, false};
  CHECK(ring_cost(line, {0, 1, 2}) == 2 * 64 + 8 - 2);
}

TEST_CASE(
    "ring search: of all PEs, the same again, no worse than their numbers, in a bounded number of steps") {
  for (const std::uint32_t pes : {2U, 3U, 8U, 16U, 32U, 64U, 96U, 128U}) {
    CAPTURE(pes);
    const ring_task task = spread(pes, 4, 4);
    const found_ring found = search_ring(task);
    std::vector<std::uint32_t> sorted = found.order;
    std::sort(sorted.begin(), sorted.end());
    CHECK(sorted == numbers(pes));
    CHECK(found.order == search_ring(task).order);
    CHECK(found.cost == ring_cost(task, found.order));
    CHECK(found.cost <= ring_cost(task, numbers(pes)));
    if (pes >= 8) CHECK(found.cost < ring_cost(task, numbers(pes)));
    // The change at hand is looked at to its end, of each of two searches.
    CHECK(found.steps < most_ring_steps + 2 * 16 * pes);
    if (pes <= 32) CHECK(found.steps < most_ring_steps / 4);
  }
}

TEST_CASE("ring search: nothing near makes a ring better that the search had the steps for") {
  for (const std::uint32_t pes : {4U, 8U, 12U, 16U, 24U}) {
    CAPTURE(pes);
    const ring_task task = spread(pes, 4, 4);
    const found_ring found = search_ring(task);
    REQUIRE(found.steps < most_ring_steps / 2);
    CHECK(found.cost <= least_nearby(task, found.order));
  }
}

TEST_CASE("ring search: of few PEs without pairs the ring found is the best there is, wherever they sit") {
  // The order of numbers goes to and fro.
  for (const ring_task& task :
       {ring_task{2, {0, 3, 1, 2}, false}, ring_task{3, {0, 5, 1, 3, 2, 4}, false},
        ring_task{3, {0, 8, 4, 2, 6, 5, 1}, false}, ring_task{4, {0, 7, 1, 6, 2, 5, 3, 4}, false}}) {
    CAPTURE(task.routers);
    const std::uint32_t least = least_cost(task);
    REQUIRE(least < ring_cost(task, numbers(static_cast<std::uint32_t>(task.routers.size()))));
    CHECK(search_ring(task).cost == least);
  }
}

TEST_CASE("ring search: halves have one PE of each pair") {
  const auto halves = halves_of({3, 2, 1, 0, 4, 5, 6, 7});
  CHECK(halves[0] == std::vector<std::uint32_t>{3, 0, 4, 7});
  CHECK(halves[1] == std::vector<std::uint32_t>{2, 1, 5, 6});
}

}  // namespace
}  // namespace diecast::comm
