// SPDX-License-Identifier: Apache-2.0
#include "models/comm/ring_search.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

namespace diecast::comm {
namespace {

using ring_order = std::vector<std::uint32_t>;

/// Flows on the links of a mesh, which go along x first, then y.
class mesh_flows {
 public:
  explicit mesh_flows(const ring_task& task) : task_(task) {
    std::uint32_t rows = 0;
    for (const std::uint32_t r : task.routers) rows = std::max(rows, r / task.columns + 1);
    last_user_.resize(std::size_t{rows} * task.columns * sides);
    last_use_.resize(last_user_.size());
  }

  [[nodiscard]] std::uint64_t steps() const { return steps_; }

  [[nodiscard]] std::uint32_t cost(const ring_order& ring) {
    begin();
    add(ring, true);
    const std::uint32_t sum = total();
    if (!task_.pairs) return sum;
    const std::array<ring_order, 2> halves = halves_of(ring);
    begin();
    for (const ring_order& half : halves) add(half, false);
    return sum + total();
  }

 private:
  static constexpr std::size_t sides = 4;

  void begin() {
    ++use_;
    users_ = used_ = 0;
  }
  [[nodiscard]] std::uint32_t total() const {
    constexpr std::uint32_t shared = 64;
    return (users_ - used_) * shared + users_;
  }
  void add(const ring_order& ring, bool both_ways) {
    const std::size_t n = ring.size();
    for (std::size_t i = 0; i < n; ++i) {
      ++user_;
      flow(ring[i], ring[(i + 1) % n]);
      if (both_ways) flow(ring[i], ring[(i + n - 1) % n]);
    }
  }
  void flow(std::uint32_t sender, std::uint32_t receiver) {
    ++steps_;
    std::uint32_t at = task_.routers[sender];
    const std::uint32_t to = task_.routers[receiver], columns = task_.columns;
    const auto step = [&](std::size_t side, std::uint32_t next) {
      use(at * sides + side);
      at = next;
    };
    while (at % columns < to % columns) step(0, at + 1);
    while (at % columns > to % columns) step(1, at - 1);
    while (at < to) step(2, at + columns);
    while (at > to) step(3, at - columns);
  }
  /// Two flows of a sender on a link count once.
  void use(std::size_t link) {
    ++steps_;
    if (last_use_[link] != use_) ++used_;
    last_use_[link] = use_;
    if (last_user_[link] != user_) ++users_;
    last_user_[link] = user_;
  }

  const ring_task& task_;
  std::vector<std::uint64_t> last_user_, last_use_;  ///< by link
  std::uint64_t user_{}, use_{}, steps_{};
  std::uint32_t users_{}, used_{};
};

/// The best change of all, as long as there is one and steps are left.
class descent {
 public:
  descent(const ring_task& task, ring_order from, std::uint64_t most_steps)
      : flows_(task), most_steps_(most_steps), ring_(std::move(from)), least_(flows_.cost(ring_)) {}

  void run() {
    for (bool better = ring_.size() > 3; better && !is_cut();) better = improve();
  }
  [[nodiscard]] bool is_cut() const { return flows_.steps() >= most_steps_; }
  [[nodiscard]] found_ring found() const { return {ring_, least_, flows_.steps()}; }

 private:
  bool improve() {
    ring_order best = ring_;
    bool better = false;
    const auto look = [&](const ring_order& changed) {
      const std::uint32_t cost = flows_.cost(changed);
      if (cost >= least_) return;
      least_ = cost;
      best = changed;
      better = true;
    };
    for (std::size_t i = 0; i < ring_.size() && !is_cut(); ++i) {
      for (std::size_t j = i + 1; j < ring_.size() && !is_cut(); ++j) {
        ring_order changed = ring_;
        std::swap(changed[i], changed[j]);
        look(changed);
        changed = ring_;
        std::reverse(changed.begin() + static_cast<std::ptrdiff_t>(i),
                     changed.begin() + static_cast<std::ptrdiff_t>(j) + 1);
        look(changed);
      }
    }
    ring_ = std::move(best);
    return better;
  }

  mesh_flows flows_;
  std::uint64_t most_steps_;
  ring_order ring_;
  std::uint32_t least_;
};

ring_order by_number(const ring_task& task) {
  ring_order ring(task.routers.size());
  std::iota(ring.begin(), ring.end(), 0U);
  return ring;
}

/// Rows of routers, to and fro.
ring_order by_rows(const ring_task& task) {
  ring_order ring = by_number(task);
  const auto key = [&](std::uint32_t pe) {
    const std::uint32_t x = task.routers[pe] % task.columns, y = task.routers[pe] / task.columns;
    return std::tuple{y, y % 2 == 0 ? x : task.columns - x, pe};
  };
  std::sort(ring.begin(), ring.end(), [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
  return ring;
}

}  // namespace

found_ring search_ring(const ring_task& task) {
  descent first(task, by_number(task), most_ring_steps / 2);
  first.run();
  found_ring best = first.found();
  if (!first.is_cut()) return best;
  descent second(task, by_rows(task), most_ring_steps / 2);
  second.run();
  const std::uint64_t steps = best.steps + second.found().steps;
  if (second.found().cost < best.cost) best = second.found();
  best.steps = steps;
  return best;
}

std::uint32_t ring_cost(const ring_task& task, const std::vector<std::uint32_t>& ring) {
  return mesh_flows(task).cost(ring);
}

std::array<std::vector<std::uint32_t>, 2> halves_of(const std::vector<std::uint32_t>& ring) {
  std::array<std::vector<std::uint32_t>, 2> halves;
  constexpr std::size_t not_met = 2;
  std::vector<std::size_t> half_of_second(ring.size() / 2 + 1, not_met);  // by pair
  std::size_t met = 0;
  for (const std::uint32_t pe : ring) {
    std::size_t& second = half_of_second[pe / 2];
    const std::size_t half = second != not_met ? second : met++ % 2;
    second = 1 - half;
    halves[half].push_back(pe);
  }
  return halves;
}

}  // namespace diecast::comm
