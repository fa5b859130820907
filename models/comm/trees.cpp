// SPDX-License-Identifier: Apache-2.0
#include "models/comm/trees.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <tuple>
#include <utility>

#include "models/checksum/packet_checksum.hpp"
#include "models/numeric/convert.hpp"
#include "models/numeric/elementwise.hpp"
#include "models/timing/link.hpp"
#include "models/types/error.hpp"

namespace diecast::comm {
namespace {

std::uint32_t steps_over(std::uint32_t ranks) {
  return ranks > 1 ? static_cast<std::uint32_t>(std::bit_width(ranks - 1)) : 0;
}

/// rho(s) = (1 - (-2)^(s+1)) / 3.
std::int64_t swing_distance(std::uint32_t step) {
  const std::int64_t power = std::int64_t{1} << (step + 1);
  return (1 - (step % 2 == 0 ? -power : power)) / 3;
}

std::uint32_t modulo(std::int64_t value, std::uint32_t n) {
  const std::int64_t rest = value % std::int64_t{n};
  return static_cast<std::uint32_t>(rest < 0 ? rest + n : rest);
}

/// Parent of an inner or leaf rank of the in-order tree over ranks 1 to n-1: up one power of two,
/// to the side that exists.
std::uint32_t in_order_parent(std::uint32_t rank, std::uint32_t ranks) {
  const std::uint32_t bit = rank & (~rank + 1);
  const std::uint32_t up = (rank ^ bit) | bit << 1;
  return up < ranks ? up : rank ^ bit;
}

}  // namespace

tree_node binary_tree(std::uint32_t rank, std::uint32_t ranks) {
  tree_node n;
  if (rank > 0) n.parent = (rank - 1) / 2;
  for (const std::uint64_t child : {std::uint64_t{2} * rank + 1, std::uint64_t{2} * rank + 2})
    if (child < ranks) n.children.push_back(static_cast<std::uint32_t>(child));
  return n;
}

tree_node in_order_tree(std::uint32_t rank, std::uint32_t ranks) {
  tree_node n;
  if (rank == 0) {
    if (ranks > 1) n.children.push_back(std::bit_floor(ranks - 1));
    return n;
  }
  n.parent = in_order_parent(rank, ranks);
  const std::uint32_t half = (rank & (~rank + 1)) / 2;
  if (half == 0) return n;
  n.children.push_back(rank - half);
  for (std::uint32_t step = half; step > 0; step /= 2) {
    if (rank + step >= ranks) continue;
    n.children.push_back(rank + step);
    break;
  }
  return n;
}

tree_node complementary_tree(std::uint32_t rank, std::uint32_t ranks) {
  const bool mirror = ranks % 2 == 0;
  const auto to = [&](std::uint32_t r) { return mirror ? ranks - 1 - r : (r + 1) % ranks; };
  const std::uint32_t place = mirror ? ranks - 1 - rank : (rank + ranks - 1) % ranks;
  const tree_node node = in_order_tree(place, ranks);
  tree_node n;
  if (node.parent) n.parent = to(*node.parent);
  for (const std::uint32_t c : node.children) n.children.push_back(to(c));
  return n;
}

tree_node binomial_tree(std::uint32_t rank, std::uint32_t ranks) {
  tree_node n;
  if (rank > 0) n.parent = rank & (rank - 1);
  for (std::uint64_t bit = 1; bit < ranks && (rank & bit) == 0; bit <<= 1)
    if (rank + bit < ranks) n.children.push_back(static_cast<std::uint32_t>(rank + bit));
  return n;
}

std::uint32_t binomial_edge(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::uint32_t>(std::countr_zero(a ^ b));
}

std::uint32_t depth_of_binary(std::uint32_t ranks) {
  return ranks > 0 ? static_cast<std::uint32_t>(std::bit_width(ranks)) - 1 : 0;
}

std::uint32_t depth_of_binomial(std::uint32_t ranks) {
  std::uint32_t depth = 0;  // the deepest rank has the most bits set
  for (std::uint32_t r = 0; r < ranks; ++r)
    depth = std::max(depth, static_cast<std::uint32_t>(std::popcount(r)));
  return depth;
}

std::uint32_t depth_of(const std::vector<tree_node>& nodes) {
  std::uint32_t depth = 0;
  for (const tree_node& node : nodes) {
    std::uint32_t edges = 0;
    for (auto up = node.parent; up; up = nodes[*up].parent) ++edges;
    depth = std::max(depth, edges);
  }
  return depth;
}

namespace {

/// Cycles that a byte takes on the slowest kind of link that packets between members cross; overrides of
/// single links do not count.
double cycles_per_byte(const config::machine_config& c, const group& members) {
  const auto several = [&](auto place) {
    return std::any_of(members.members.begin(), members.members.end(),
                       [&](const pe_coord& m) { return place(m) != place(members.members.front()); });
  };
  double gbytes_s = static_cast<double>(c.noc.flit_bytes) * c.noc.clock_ghz;
  if (several([](const pe_coord& m) { return std::pair{m.sip, m.cube}; }))
    gbytes_s = std::min(gbytes_s, timing::ucie_timing_of(c, c.ucie).gbytes_s);
  if (several([](const pe_coord& m) { return m.sip; })) {
    gbytes_s = std::min(gbytes_s, timing::sip_link_timing_of(c, c.sip_link).gbytes_s);
    if (c.comm.path == config::transfer_path::staged) gbytes_s = std::min(gbytes_s, c.host.staging_gbytes_s);
  }
  return c.noc.clock_ghz / gbytes_s;
}

}  // namespace

/// What a call costs beside ccl.kernel_call_cycles: the registers it reads and writes, roughly.
constexpr std::uint64_t call_register_cycles = 20;

std::uint64_t chunks_on_pipeline(const config::machine_config& c, const group& members, std::uint64_t bytes,
                                 std::uint64_t elements, std::uint32_t depth) {
  const std::uint64_t most = std::max<std::uint64_t>(1, elements);
  if (c.ccl.chunks) return std::min(*c.ccl.chunks, most);
  if (depth < 2 || bytes == 0) return 1;
  // Time of k chunks over d hops: (d + k - 1) (a + b S / k), least at k = sqrt((d - 1) b S / a). A message
  // costs the runtime's calls at both ends. In cycles.
  const double per_message = 4.0 * static_cast<double>(c.ccl.kernel_call_cycles + call_register_cycles);
  const double per_byte = cycles_per_byte(c, members);
  const double best = std::sqrt((depth - 1) * per_byte * static_cast<double>(bytes) / per_message);
  const std::uint64_t slots = (bytes + c.ipcq.slot_bytes - 1) / c.ipcq.slot_bytes;
  return std::clamp<std::uint64_t>(static_cast<std::uint64_t>(best), 1,
                                   std::min(most, std::max<std::uint64_t>(1, 4 * slots)));
}

fold fold_to_power_of_two(std::uint32_t ranks) {
  const std::uint32_t active = ranks > 0 ? std::bit_floor(ranks) : 0;
  return {active, steps_over(active), ranks - active, 0};
}

fold fold_to_even(std::uint32_t ranks) {
  const std::uint32_t active = ranks > 1 ? ranks / 2 * 2 : ranks;
  const std::uint32_t pairs = ranks - active;
  return {active, steps_over(active), pairs, ranks - 2 * pairs};
}

std::uint32_t swing_peer(std::uint32_t rank, std::uint32_t step, std::uint32_t ranks) {
  const std::int64_t distance = swing_distance(step);
  return modulo(rank % 2 == 0 ? rank + distance : rank - distance, ranks);
}

std::vector<std::uint32_t> swing_tree(std::uint32_t ranks) {
  std::vector<std::uint32_t> step_of(ranks);
  std::vector<bool> known(ranks);
  std::vector<std::uint32_t> reached{0};
  known[0] = true;
  for (std::uint32_t s = steps_over(ranks); s-- > 0;) {
    const std::size_t before = reached.size();
    for (std::size_t i = 0; i < before; ++i) {
      const std::uint32_t peer = swing_peer(reached[i], s, ranks);
      if (known[peer]) continue;
      known[peer] = true;
      step_of[peer] = s;
      reached.push_back(peer);
    }
  }
  return step_of;
}

std::uint32_t swing_send_step(const std::vector<std::uint32_t>& tree, std::uint32_t rank,
                              std::uint32_t part) {
  const auto n = static_cast<std::uint32_t>(tree.size());
  // Moving by an even number, and mirroring at an odd one, map the steps of swing onto themselves.
  return part % 2 == 0 ? tree[(rank + n - part) % n] : tree[(part + n - rank) % n];
}

std::vector<std::vector<std::uint32_t>> swing_parts(std::uint32_t rank, std::uint32_t ranks) {
  const std::vector<std::uint32_t> tree = swing_tree(ranks);
  std::vector<std::vector<std::uint32_t>> sent(steps_over(ranks));
  for (std::uint32_t p = 0; p < ranks; ++p)
    if (p != rank) sent[swing_send_step(tree, rank, p)].push_back(p);
  return sent;
}

bool swing_keeps_upper(std::uint32_t rank, std::uint32_t step, std::uint32_t ranks) {
  const std::uint32_t last = steps_over(ranks) - 1;
  if (step == last) return rank % 2 != 0;
  // Ranks that still meet from step s on differ by multiples of 2^(s+1) once odd ones are moved by the
  // distance of the last step; the next higher bit distinguishes the halves.
  const std::uint32_t even = rank % 2 == 0 ? rank : swing_peer(rank, last, ranks);
  return (even >> (step + 1) & 1U) != 0;
}

namespace {

/// Where the v-th rank from the root stands in the second tree, and back. The root stays.
std::uint32_t second_place(std::uint32_t v, std::uint32_t n) {
  if (v == 0) return 0;
  if (n % 2 != 0) return n - v;
  return v == 1 ? n - 1 : v - 1;
}
std::uint32_t from_second_place(std::uint32_t place, std::uint32_t n) {
  if (place == 0) return 0;
  if (n % 2 != 0) return n - place;
  return place == n - 1 ? 1 : place + 1;
}

}  // namespace

tree_node root_tree(std::uint32_t rank, std::uint32_t ranks, std::uint32_t root, std::uint32_t which) {
  const std::uint32_t v = (rank + ranks - root) % ranks;
  const auto rank_at = [=](std::uint32_t place) {
    return ((which == 0 ? place : from_second_place(place, ranks)) + root) % ranks;
  };
  tree_node n = in_order_tree(which == 0 ? v : second_place(v, ranks), ranks);
  if (n.parent) n.parent = rank_at(*n.parent);
  for (std::uint32_t& child : n.children) child = rank_at(child);
  return n;
}

std::vector<edge> root_trees(const pattern_context& c) {
  const std::vector<pe_coord>& m = c.members.members;
  const auto n = static_cast<std::uint32_t>(m.size());
  const std::uint32_t root = root_of(c);
  std::vector<edge> edges;
  for (std::uint32_t which = 0; which < 2; ++which) {
    const direction up = root_tree_parent(which);
    for (std::uint32_t r = 0; r < n; ++r) {
      const tree_node node = root_tree(r, n, root, which);
      for (std::size_t i = 0; i < node.children.size(); ++i)
        edges.push_back({m[r], static_cast<direction>(up + 1 + i), m[node.children[i]], false, up});
    }
  }
  return edges;
}

std::vector<std::string> root_tree_names() {
  return {"parent", "child_left", "child_right", "parent2", "child_left2", "child_right2"};
}

namespace {

void need_routers(const config::machine_config& c, bool reduces) {
  std::vector<problem> problems;
  if (!c.noc.multicast) {
    problems.push_back({"noc.multicast", "the routers of this machine copy no packets", "false",
                        "true, or another algorithm"});
  }
  if (reduces && !c.noc.reduce) {
    problems.push_back({"noc.reduce", "the routers of this machine combine no packets", "false",
                        "true, or another algorithm"});
  }
  if (c.comm.path == config::transfer_path::staged) {
    problems.push_back({"comm.path", "messages staged through host memory do not pass the tree of routers",
                        "staged", "direct, or another algorithm"});
  }
  if (c.comm.checksum != config::packet_checksum::none) {
    problems.push_back({"comm.checksum", "a packet that routers rewrite fails its checksum",
                        checksum::to_string(c.comm.checksum), "none, or another algorithm"});
  }
  if (c.ipcq.match == config::match_policy::sender) {
    problems.push_back({"ipcq.match", "a message from a tree has several senders", "sender",
                        "address, or another algorithm"});
  }
  if (c.ccl.install == config::install_kind::timed) {
    problems.push_back({"ccl.install", "the tables of routers are written by the backdoor only", "timed",
                        "backdoor, or another algorithm"});
  }
  if (!problems.empty()) throw user_error(std::move(problems));
}

void add_multicast(std::vector<edge>& edges, const group& g, std::uint32_t root) {
  for (std::uint32_t r = 0; r < g.members.size(); ++r) {
    if (r == root) continue;
    edges.push_back(
        {g.members[root], tree_multicast, g.members[r], false, tree_multicast, carrier::multicast});
  }
}

void add_reduction(std::vector<edge>& edges, const group& g, std::uint32_t root) {
  for (const pe_coord& m : g.members) {
    if (m == g.members[root]) continue;
    edges.push_back({m, tree_reduction, g.members[root], false, tree_reduction, carrier::reduction});
  }
}

}  // namespace

std::vector<edge> multicast_tree(const pattern_context& c) {
  need_routers(c.config, false);
  std::vector<edge> edges;
  add_multicast(edges, c.members, root_of(c));
  return edges;
}

std::vector<edge> reduction_tree(const pattern_context& c) {
  need_routers(c.config, true);
  std::vector<edge> edges;
  add_reduction(edges, c.members, root_of(c));
  return edges;
}

std::vector<edge> in_network(const pattern_context& c) {
  need_routers(c.config, true);
  const std::uint32_t root = central_rank(c.shape, c.members);
  std::vector<edge> edges;
  add_multicast(edges, c.members, root);
  add_reduction(edges, c.members, root);
  return edges;
}

bool uses_tree(const std::vector<edge>& edges) {
  return std::any_of(edges.begin(), edges.end(),
                     [](const edge& e) { return e.through != carrier::queue_pairs; });
}

std::uint32_t central_rank(const machine_shape& shape, const group& members) {
  const auto off_center = [](std::uint32_t at, std::uint32_t size) {
    return std::abs(2 * static_cast<std::int64_t>(at) - static_cast<std::int64_t>(size) + 1);
  };
  const auto distance = [&](const pe_coord& pe) {
    return std::tuple{off_center(pe.sip.value, shape.sips),
                      off_center(shape.cube_x(pe.cube), shape.cube_columns) +
                          off_center(shape.cube_y(pe.cube), shape.cube_rows)};
  };
  std::uint32_t best = 0;
  for (std::uint32_t r = 1; r < members.members.size(); ++r)
    if (distance(members.members[r]) < distance(members.members[best])) best = r;
  return best;
}

std::vector<std::string> tree_direction_names() { return {"multicast", "reduction"}; }

namespace {

std::vector<std::byte> converted(std::span<const std::byte> from, numeric::dtype type, numeric::dtype to) {
  std::vector<std::byte> out(from.size() / numeric::size_of(type) * numeric::size_of(to));
  numeric::convert(type, from, to, out);
  return out;
}

}  // namespace

void tree_sum::add(std::span<const std::byte> contribution) {
  const bool widen = how_.in_f32;
  const numeric::dtype type = widen ? numeric::dtype::f32 : how_.type;
  const std::vector<std::byte> wide =
      widen ? converted(contribution, how_.type, type) : std::vector<std::byte>{};
  const std::span<const std::byte> part = widen ? std::span<const std::byte>(wide) : contribution;
  if (begun_) {
    numeric::apply(how_.op, type, sum_, sum_, part);
  } else {
    sum_.assign(part.begin(), part.end());
  }
  begun_ = true;
}

std::vector<std::byte> tree_sum::result() const {
  return how_.in_f32 ? converted(sum_, numeric::dtype::f32, how_.type) : sum_;
}

}  // namespace diecast::comm
