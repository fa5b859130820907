// SPDX-License-Identifier: Apache-2.0
#include "models/fabric/topology_impl.hpp"

#include <algorithm>
#include <deque>
#include <limits>

namespace diecast::fabric {
namespace {

constexpr std::uint32_t far = std::numeric_limits<std::uint32_t>::max();
constexpr std::array north_first{side::north, side::east, side::south, side::west};
constexpr std::array south_first{side::south, side::west, side::north, side::east};

class router {
 public:
  router(const cube_grid& grid, detour_rule rule)
      : grid_(grid), rule_(rule), cubes_(grid.shape.cubes_per_sip()) {
    level_ = distances_to(cube_id{0}, [](cube_id, cube_id) { return true; });
  }

  [[nodiscard]] bool reached(cube_id cube) const { return level_[cube.value] != far; }

  /// Next sides of all cubes towards `to`.
  void towards(cube_id to, std::vector<side>& next) const {
    if (rule_ == detour_rule::up_down) return up_down(to, next);
    const auto distance = distances_to(to, [](cube_id, cube_id) { return true; });
    for (std::uint32_t from = 0; from < cubes_; ++from) {
      if (from == to.value || distance[from] == far) continue;
      next[std::size_t{from} * cubes_ + to.value] = shortest(cube_id{from}, to, distance);
    }
  }

 private:
  [[nodiscard]] std::optional<cube_id> step(cube_id from, side s) const {
    return grid_.joined(from, s) ? cube_beside(grid_.shape, from, s) : std::nullopt;
  }

  /// Steps from each cube to `to`, over links that `allowed(from, next)` admits.
  template <class Allowed>
  [[nodiscard]] std::vector<std::uint32_t> distances_to(cube_id to, Allowed allowed) const {
    std::vector<std::uint32_t> distance(cubes_, far);
    std::deque<cube_id> open{to};
    distance[to.value] = 0;
    while (!open.empty()) {
      const cube_id at = open.front();
      open.pop_front();
      for (const side s : north_first) {
        const auto before = step(at, s);  // links work in both directions or in none
        if (!before || distance[before->value] != far || !allowed(*before, at)) continue;
        distance[before->value] = distance[at.value] + 1;
        open.push_back(*before);
      }
    }
    return distance;
  }

  [[nodiscard]] side dimension_order(cube_id from, cube_id to) const {
    const machine_shape& s = grid_.shape;
    if (s.cube_x(from) != s.cube_x(to)) return s.cube_x(to) > s.cube_x(from) ? side::east : side::west;
    return s.cube_y(to) > s.cube_y(from) ? side::north : side::south;
  }

  /// X first, then Y where that is on a shortest path; else the first side in the rule's order that is.
  [[nodiscard]] side shortest(cube_id from, cube_id to, const std::vector<std::uint32_t>& distance) const {
    const auto nearer = [&](side s) {
      const auto next = step(from, s);
      return next && distance[next->value] + 1 == distance[from.value];
    };
    if (const side s = dimension_order(from, to); nearer(s)) return s;
    const auto& order = rule_ == detour_rule::north_first ? north_first : south_first;
    return *std::ranges::find_if(order, nearer);
  }

  /// Whether a cube is nearer to the root than another, or as near with a lower number.
  [[nodiscard]] bool up(cube_id from, cube_id next) const {
    return std::pair(level_[next.value], next.value) < std::pair(level_[from.value], from.value);
  }

  /// A cube from which a path leads down to `to` takes the shortest such path; packets at other cubes go up
  /// until they are at such a cube. A packet's earlier steps do not matter: after its first step down every
  /// cube on its path has a path down.
  void up_down(cube_id to, std::vector<side>& next) const {
    const auto down = distances_to(to, [this](cube_id from, cube_id after) { return up(after, from); });
    std::vector<std::uint32_t> distance = down;
    // Cubes in the order of the tree: those above are known before those that go up to them.
    std::vector<cube_id> order;
    for (std::uint32_t c = 0; c < cubes_; ++c)
      if (level_[c] != far) order.push_back(cube_id{c});
    std::ranges::sort(order, [this](cube_id a, cube_id b) { return up(b, a); });
    for (const cube_id from : order) {
      if (from == to) continue;
      const bool has_way_down = down[from.value] != far;
      std::uint32_t best = far;
      for (const side s : north_first) {
        const auto after = step(from, s);
        if (!after || distance[after->value] == far) continue;
        if (has_way_down ? up(from, *after) || down[after->value] == far : !up(from, *after)) continue;
        const std::uint32_t length = has_way_down ? down[after->value] : distance[after->value];
        if (length >= best) continue;
        best = length;
        next[std::size_t{from.value} * cubes_ + to.value] = s;
      }
      distance[from.value] = best == far ? far : best + 1;
    }
  }

  const cube_grid& grid_;
  detour_rule rule_;
  std::uint32_t cubes_;
  std::vector<std::uint32_t> level_;  ///< steps to the root, cube 0
};

}  // namespace

std::vector<side> route_around(const cube_grid& grid, detour_rule rule,
                               std::vector<std::pair<cube_id, cube_id>>& cut_off) {
  const router r(grid, rule);
  const std::uint32_t cubes = grid.shape.cubes_per_sip();
  std::vector<side> next(std::size_t{cubes} * cubes, side::north);
  for (std::uint32_t to = 0; to < cubes; ++to) {
    if (!r.reached(cube_id{to})) cut_off.emplace_back(cube_id{0}, cube_id{to});
    r.towards(cube_id{to}, next);
  }
  return next;
}

}  // namespace diecast::fabric
