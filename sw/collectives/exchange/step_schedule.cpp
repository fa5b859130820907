// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/exchange/step_schedule.hpp"

#include <algorithm>
#include <compare>
#include <map>
#include <set>
#include <utility>

#include "models/abi/address.hpp"
#include "models/abi/wire.hpp"
#include "models/fabric/topology.hpp"
#include "models/timing/link.hpp"
#include "models/types/error.hpp"

namespace diecast::comm {
namespace {

/// Choices tried before a limit of the flows over a cut is given up for the next higher one.
constexpr std::uint32_t patience = 50'000;

using steps = std::vector<std::vector<std::uint32_t>>;

/// Backtracking over the targets, step by step and place by place.
class step_search {
 public:
  /// `mirrored`: every step is its own mirror image; only lines of an even number of places have such steps.
  step_search(std::uint32_t places, std::uint32_t beyond, bool mirrored)
      : n_(places), mirrored_(mirrored), met_(places, row(places)) {
    for (std::uint32_t c = 0; c < n_; ++c) limit_.push_back((c * (n_ - c) + n_ - 1) / n_ + beyond);
    found_.assign(n_, std::vector<std::uint32_t>(n_, nobody));
  }

  [[nodiscard]] bool succeeds() { return fill(0); }
  [[nodiscard]] const steps& found() const { return found_; }

 private:
  using row = std::vector<bool>;
  /// Flows over each cut in one step, by direction.
  struct crossings {
    std::vector<std::uint32_t> up, down;
  };

  bool fill(std::uint32_t step) {
    if (step == n_) return true;
    crossings over{std::vector<std::uint32_t>(n_), std::vector<std::uint32_t>(n_)};
    row taken(n_);
    return place(step, 0, taken, over);
  }

  bool place(std::uint32_t step, std::uint32_t x, row& taken, crossings& over) {
    if (x == n_) return fill(step + 1);
    for (std::uint32_t i = 0; i < n_; ++i) {
      const std::uint32_t to = (x + step + i) % n_;
      if (++tried_ > patience) return false;
      if (taken[to] || met_[x][to] || !fits(x, to, over)) continue;
      if (mirrored_ && x >= n_ / 2 && to != n_ - 1 - found_[step][n_ - 1 - x]) continue;
      count(x, to, over, 1);
      taken[to] = met_[x][to] = true;
      found_[step][x] = to;
      if (place(step, x + 1, taken, over)) return true;
      taken[to] = met_[x][to] = false;
      count(x, to, over, ~0U);
    }
    return false;
  }

  [[nodiscard]] bool fits(std::uint32_t x, std::uint32_t to, const crossings& over) const {
    const auto& flows = to > x ? over.up : over.down;
    for (std::uint32_t c = std::min(x, to) + 1; c <= std::max(x, to); ++c)
      if (flows[c] >= limit_[c]) return false;
    return true;
  }
  static void count(std::uint32_t x, std::uint32_t to, crossings& over, std::uint32_t by) {
    auto& flows = to > x ? over.up : over.down;
    for (std::uint32_t c = std::min(x, to) + 1; c <= std::max(x, to); ++c) flows[c] += by;
  }

  std::uint32_t n_;
  bool mirrored_;
  std::vector<row> met_;
  std::vector<std::uint32_t> limit_;  ///< flows that may cross before place c, in each direction
  std::uint32_t tried_{};
  steps found_;
};

steps by_distance(std::uint32_t places) {
  steps all(places, std::vector<std::uint32_t>(places));
  for (std::uint32_t s = 0; s < places; ++s)
    for (std::uint32_t x = 0; x < places; ++x) all[s][x] = (x + s) % places;
  return all;
}

/// The links of a step's flows, each with the number of links that a flow has after it. Packets that arrive
/// along x are forwarded along y by pipelines of their own, one per side of arrival.
class flows {
 public:
  flows(const std::vector<std::uint32_t>& across, const std::vector<std::uint32_t>& up)
      : across_(across), up_(up) {
    for (std::uint32_t y = 0; y < up.size(); ++y)
      for (std::uint32_t x = 0; x < across.size(); ++x) add(x, y);
  }

  /// Whether two flows share a link.
  [[nodiscard]] bool meet() const { return meet_; }
  /// The largest delay of a flow of this step on a link after one of `next`.
  [[nodiscard]] std::uint32_t later_than(const flows& next) const {
    std::uint32_t most = 0;
    for (const auto& [place, behind] : behind_) {
      const auto other = next.behind_.find(place);
      if (other != next.behind_.end() && behind > other->second)
        most = std::max(most, behind - other->second);
    }
    return most;
  }

  /// Whether some link has a flow in every one of these steps.
  [[nodiscard]] static bool share_a_link(const std::vector<flows>& each) {
    const auto& first = each.front().behind_;
    return std::ranges::any_of(first, [&each](const auto& used) {
      return std::ranges::all_of(each, [&used](const flows& f) { return f.behind_.contains(used.first); });
    });
  }

 private:
  enum class kind : std::uint8_t { along_x, along_y, into_rank };
  struct link {
    kind what{};
    std::uint32_t x{}, y{};   ///< place where the flow begins
    bool ahead{};             ///< whether the flow goes to greater coordinates
    std::uint8_t pipeline{};  ///< along y: came from the west, starts here, came from the east
    auto operator<=>(const link&) const = default;
  };

  void add(std::uint32_t from_x, std::uint32_t from_y) {
    const std::uint32_t to_x = across_[from_x], to_y = up_[from_y];
    if (to_x == from_x && to_y == from_y) return;
    const std::uint8_t pipeline = from_x < to_x ? 0 : from_x == to_x ? 1 : 2;
    std::uint32_t x = from_x, y = from_y, behind = 0;
    for (; x != to_x; x += to_x > x ? 1U : ~0U) use({kind::along_x, x, y, to_x > x, 0}, behind++);
    for (; y != to_y; y += to_y > y ? 1U : ~0U) use({kind::along_y, x, y, to_y > y, pipeline}, behind++);
    use({kind::into_rank, x, y, false, 0}, behind);
  }
  void use(const link& l, std::uint32_t behind) { meet_ |= !behind_.emplace(l, behind).second; }

  const std::vector<std::uint32_t>&across_, &up_;
  std::map<link, std::uint32_t> behind_;
  bool meet_{};
};

/// An order of steps with the least sum of delays of flows after those of the next step: exact, by
/// subsets.
class shortest_chain {
 public:
  explicit shortest_chain(const std::vector<flows>& each) : n_(static_cast<std::uint32_t>(each.size())) {
    std::vector<std::uint32_t> cost(n_ * n_);
    for (std::uint32_t a = 0; a < n_; ++a)
      for (std::uint32_t b = 0; b < n_; ++b) cost[a * n_ + b] = each[a].later_than(each[b]);
    find(cost);
  }

  [[nodiscard]] const std::vector<std::uint32_t>& order() const { return order_; }
  /// Greatest delay from one step to the next.
  [[nodiscard]] std::uint32_t most() const { return most_; }

 private:
  /// least[set * n + last]: of the orders of a set of steps that end with `last`.
  void find(const std::vector<std::uint32_t>& cost) {
    const std::uint32_t sets = 1U << n_;
    std::vector<std::uint16_t> least(std::size_t{sets} * n_, UINT16_MAX);
    for (std::uint32_t s = 0; s < n_; ++s) least[(std::size_t{1} << s) * n_ + s] = 0;
    for (std::uint32_t set = 1; set < sets; ++set) {
      for (std::uint32_t last = 0; last < n_; ++last) {
        const std::uint16_t so_far = least[std::size_t{set} * n_ + last];
        if (so_far == UINT16_MAX) continue;
        for (std::uint32_t next = 0; next < n_; ++next) {
          if ((set >> next & 1U) != 0) continue;
          std::uint16_t& best = least[std::size_t{set | 1U << next} * n_ + next];
          best = std::min(best, static_cast<std::uint16_t>(so_far + cost[last * n_ + next]));
        }
      }
    }
    walk_back(cost, least);
  }
  void walk_back(const std::vector<std::uint32_t>& cost, const std::vector<std::uint16_t>& least) {
    std::uint32_t set = (1U << n_) - 1;
    const auto first = least.begin() + static_cast<std::ptrdiff_t>(std::size_t{set} * n_);
    auto last = static_cast<std::uint32_t>(std::min_element(first, first + n_) - first);
    order_.push_back(last);
    while (order_.size() < n_) {
      const std::uint16_t total = least[std::size_t{set} * n_ + last];
      set &= ~(1U << last);
      std::uint32_t before = 0;
      while ((set >> before & 1U) == 0 ||
             least[std::size_t{set} * n_ + before] + cost[before * n_ + last] != total) {
        ++before;
      }
      most_ = std::max(most_, cost[before * n_ + last]);
      order_.push_back(last = before);
    }
    std::ranges::reverse(order_);
  }

  std::uint32_t n_;
  std::vector<std::uint32_t> order_;
  std::uint32_t most_{};
};

}  // namespace

std::vector<std::vector<std::uint32_t>> line_steps(std::uint32_t places) {
  if (places > most_searched) return by_distance(places);
  // By distance no cut is crossed by more than half of the places: the search ends there at the latest.
  for (std::uint32_t beyond = 0; beyond < places; ++beyond) {
    for (const bool mirrored : {true, false}) {
      if (mirrored && places % 2 != 0) continue;
      step_search search(places, beyond, mirrored);
      if (search.succeeds()) return search.found();
    }
  }
  return by_distance(places);
}

grid_steps::grid_steps(const rank_grid& g)
    : grid_(g), along_x_(line_steps(g.columns())), along_y_(line_steps(g.rows())) {
  for (std::uint32_t across = 0; across < along_x_.size(); ++across)
    for (std::uint32_t up = 0; up < along_y_.size(); ++up) steps_.push_back({across, up});
  if (steps_.size() <= most_ordered) order();
}

grid_steps::sequence grid_steps::search() const {
  std::vector<flows> each;
  for (const step& s : steps_) each.emplace_back(along_x_[s[0]], along_y_[s[1]]);
  if (std::ranges::any_of(each, [](const flows& f) { return f.meet(); })) return {};
  const shortest_chain chain(each);
  return {chain.order(), flows::share_a_link(each), chain.most()};
}

/// A search takes 50 ms, depends only on the grid's size, and a run needs the same one several times.
/// Not for several threads at a time.
void grid_steps::order() {
  static std::map<std::pair<std::uint32_t, std::uint32_t>, sequence> known;
  const std::pair size{grid_.columns(), grid_.rows()};
  auto at = known.find(size);
  if (at == known.end()) at = known.emplace(size, search()).first;
  const sequence& found = at->second;
  if (!found.to_wait) return;
  std::vector<step> ordered;
  for (const std::uint32_t s : found.order) ordered.push_back(steps_[s]);
  steps_ = std::move(ordered);
  fills_ = found.fills;
  to_wait_ = found.to_wait;
}

std::vector<step_partners> grid_steps::of(std::uint32_t rank) const {
  const auto sender_to = [](const std::vector<std::uint32_t>& targets, std::uint32_t place) {
    return static_cast<std::uint32_t>(std::ranges::find(targets, place) - targets.begin());
  };
  const std::uint32_t x = grid_.x(rank), y = grid_.y(rank);
  std::vector<step_partners> partners;
  for (const step& s : steps_) {
    const auto& across = along_x_[s[0]];
    const auto& up = along_y_[s[1]];
    partners.push_back(
        {grid_.rank_at(across[x], up[y]), grid_.rank_at(sender_to(across, x), sender_to(up, y))});
  }
  return partners;
}

namespace {

/// Share of a flow's delay that the next one waits: the buffers of routers on its route absorb the rest.
/// Measured (docs/adr/0058): from 0.58 on steps do not overlap, and more only adds waiting.
sim_time waited_out(sim_time late) { return {late.fs * 3 / 5}; }

/// How long a packet occupies the network interface. For 15 sent blocks, 16 are read and 16 written.
/// Measured: copies of chunks also have the time between chunks (docs/adr/0058); blocks from HBM for each
/// step need more than their time, or steps are late and overlap (docs/adr/0081).
sim_time at_interface(step_load load, sim_time packet) {
  switch (load) {
    case step_load::blocks: break;
    case step_load::chunks: return {packet.fs * 9 / 5};
    case step_load::tensors: return {packet.fs * 47 / 20};
  }
  return packet;
}

/// Every member is the only one of its cube, and all are in one SIP.
bool is_one_per_cube(const group& g) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> cubes;
  for (const pe_coord& pe : g.members) {
    if (pe.sip != g.members.front().sip) return false;
    if (!cubes.insert({pe.sip.value, pe.cube.value}).second) return false;
  }
  return true;
}

/// Start times as far as they are known without the order of steps, whose search takes long.
bool may_have_times(const group& g) {
  const std::size_t ranks = g.members.size();
  return ranks >= fewest_timed_steps && ranks <= most_ordered && is_one_per_cube(g);
}

class times_of {
 public:
  times_of(const pattern_context& c, const rank_grid& grid, step_load load)
      : c_(c), grid_(grid), load_(load), topology_(c.config) {}

  [[nodiscard]] std::optional<step_times> operator()(std::uint32_t crossings) const {
    const auto& noc = c_.config.noc;
    const std::uint32_t flits = abi::flits_of(static_cast<std::uint32_t>(noc.max_packet_bytes),
                                              static_cast<std::uint32_t>(noc.flit_bytes));
    const sim_time own = timing::noc_clock(c_.config).cycles(flits), between = between_cubes(flits);
    if (between > own && c_.members.members.size() < fewest_timed_on_slow_links) return std::nullopt;
    const sim_time latency = idle(grid_.columns() - 1, grid_.rows() - 1, flits);
    return step_times{std::max(at_interface(load_, own), between),
                      waited_out(crossing(latency, flits) * crossings), latency};
  }

 private:
  /// A packet on the slowest link between cubes: steps that begin sooner would queue there.
  [[nodiscard]] sim_time between_cubes(std::uint32_t flits) const {
    sim_time longest;
    const sip_id sip = c_.members.members.front().sip;
    for (const fabric::link& l : topology_.links()) {
      if (l.kind != fabric::link_kind::ucie || l.sip != sip.value || l.gbytes_s == 0.0) continue;
      const config::ucie_block& u = topology_.ucie(sip, cube_id{l.cube}, static_cast<fabric::side>(l.from));
      longest = std::max(longest, timing::ucie_timing_of(c_.config, u).serialization(flits));
    }
    return longest;
  }
  /// From the rank in the corner to another.
  [[nodiscard]] sim_time idle(std::uint32_t x, std::uint32_t y, std::uint32_t flits) const {
    return fabric::idle_latency(topology_, c_.config, terminal(0, 0), terminal(x, y),
                                abi::traffic_class::comm, flits);
  }
  [[nodiscard]] abi::node_address terminal(std::uint32_t x, std::uint32_t y) const {
    const pe_coord pe = c_.members.members[grid_.rank_at(x, y)];
    return topology_.locate(abi::encode({pe.sip, pe.cube, abi::region::tcm, pe.pe.value, 0}));
  }
  /// A further link between neighbors on a packet's path, with the cube after it.
  [[nodiscard]] sim_time crossing(sim_time latency, std::uint32_t flits) const {
    const std::uint32_t links = grid_.columns() - 1 + grid_.rows() - 1;
    if (links < 2) return {};
    const sim_time nearest = grid_.columns() > 1 ? idle(1, 0, flits) : idle(0, 1, flits);
    return {(latency - nearest).fs / (links - 1)};
  }

  const pattern_context& c_;
  const rank_grid& grid_;
  step_load load_;
  fabric::topology topology_;
};

}  // namespace

step_schedule::step_schedule(const pattern_context& c, step_load load) : grid(c), steps(grid) {
  const auto crossings = steps.crossings_to_wait();
  if (crossings && steps.fill_a_link() && may_have_times(c.members))
    times = times_of(c, grid, load)(*crossings);
}

std::optional<step_times> step_times_of(const pattern_context& c, step_load load) {
  if (!may_have_times(c.members)) return std::nullopt;
  try {
    return step_schedule(c, load).times;
  } catch (const user_error&) {
    return std::nullopt;  // no rectangle
  }
}

}  // namespace diecast::comm
