// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/trees/trees.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <fmt/format.h>
#include <utility>

#include "models/config/population.hpp"
#include "models/timing/link.hpp"
#include "models/types/error.hpp"
#include "sw/collectives/base/builtin.hpp"
#include "sw/collectives/base/member_levels.hpp"
#include "sw/collectives/base/peer_patterns.hpp"
#include "sw/collectives/partners/partner_steps.hpp"
#include "sw/collectives/trees/nested_trees.hpp"

namespace diecast::comm {

namespace {

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
    return std::ranges::any_of(members.members,
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

/// Approximate cost of a call in addition to ccl.kernel_call_cycles: its register accesses.
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

namespace {

/// Place of the v-th rank from the root in the second tree, and the reverse. The root keeps its place.
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

namespace {

/// A tree with at most two children; `first` is the direction of the parent, the children follow.
template <class Tree>
void add_tree(std::vector<edge>& edges, const pattern_context& c, Tree tree, direction first) {
  for (std::uint32_t r = 0; r < group_size(c); ++r) {
    const tree_node node = tree(r, group_size(c));
    for (std::size_t i = 0; i < node.children.size(); ++i)
      join_ranks(edges, c, r, static_cast<direction>(first + 1 + i), node.children[i], first);
  }
}

/// Throws user_error unless the members are all PEs of their SIPs, or one for each SIP.
void check_all_pes(const pattern_context& c, const member_levels& levels) {
  if (c.members.set == rank_set::sip) return;
  const config::population machine(c.config);
  std::vector<pe_coord> wanted;
  for (const pe_coord pe : machine.pes()) {
    const bool member_sip =
        std::ranges::any_of(levels.sips, [pe](const member_levels::sip& s) { return s.id == pe.sip; });
    if (member_sip) wanted.push_back(pe);
  }
  std::vector<pe_coord> members = c.members.members;
  std::ranges::sort(members);
  if (members == wanted) return;
  throw user_error({"hierarchical_3level", "the members are not all PEs of their SIPs",
                    fmt::format("{} members in {} SIPs", members.size(), levels.sips.size()),
                    fmt::format("{} members (rank set pe), or rank set sip", wanted.size())});
}

}  // namespace

std::vector<edge> tree_binary(const pattern_context& c) {
  std::vector<edge> edges;
  add_tree(edges, c, binary_tree, parent);
  return edges;
}

std::vector<edge> double_binary_tree(const pattern_context& c) {
  std::vector<edge> edges;
  add_tree(edges, c, in_order_tree, parent);
  add_tree(edges, c, complementary_tree, second_tree);
  return edges;
}

std::vector<edge> binomial_tree(const pattern_context& c) {
  std::vector<edge> edges;
  for (std::uint32_t r = 0; r < group_size(c); ++r) {
    for (const std::uint32_t child : binomial_tree(r, group_size(c)).children) {
      const direction d = partner(binomial_edge(r, child));
      join_ranks(edges, c, r, d, child, d);
    }
  }
  return edges;
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

std::vector<edge> hierarchical_3level(const pattern_context& c) {
  const member_levels levels(c.shape, c.members);
  check_all_pes(c, levels);
  std::vector<edge> edges;
  std::vector<pe_coord> sip_leaders;
  for (const member_levels::sip& sip : levels.sips) {
    std::vector<pe_coord> cube_leaders;
    for (const member_levels::cube& cube : sip.cubes) {
      add_line(edges, cube.pes, east, west, true);
      cube_leaders.push_back(cube.pes.front());
    }
    add_line(edges, cube_leaders, north, south, true);
    sip_leaders.push_back(cube_leaders.front());
  }
  add_line(edges, sip_leaders, global_east, global_west, true);
  return edges;
}

}  // namespace diecast::comm

namespace diecast::sw {

pattern_table tree_patterns() {
  return {
      {"tree_binary", "a binary tree of ranks: parent (r-1)/2", comm::tree_binary},
      {"double_binary_tree",
       "two binary trees; no rank is an inner node of both",
       comm::double_binary_tree,
       {"parent2", "child_left2", "child_right2"}},
      {"binomial_tree", "binomial tree: the parent of rank r is r without its lowest set bit",
       [](const comm::pattern_context& c) { return comm::binomial_tree(c); }, comm::partner_names(), true},
      {"hierarchical_3level",
       "rings over the PEs of a cube (E, W), the first PEs of the cubes (N, S), and the SIPs",
       comm::hierarchical_3level},
      {comm::nested_trees_name, "the trees of ccl.levels, one within the other (up, down0, down1, ...)",
       comm::nested_tree_edges, comm::nested_tree_names(), true},
      {"root_trees", "two binary trees from the root: no other rank is an inner node of both",
       comm::root_trees, comm::root_tree_names(), true},
      {"packed_trees", "two shallow trees from the root, fitted to what members and links can carry",
       comm::packed_tree_edges, comm::packed_tree_names(), true},
      {"packed_trees_up", "two shallow trees towards the root, fitted to what members and links can carry",
       comm::packed_tree_edges_up, comm::numbered_names("way", 0, 16), true},
      {"spanning_trees", "trees of neighbors, in both directions, that together use all links alike",
       comm::spanning_tree_edges, comm::numbered_names("way", 0, 16), true}};
}

}  // namespace diecast::sw
