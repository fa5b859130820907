// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/in_network/router_trees.hpp"

#include <cstdlib>
#include <tuple>

#include "models/checksum/packet_checksum.hpp"
#include "models/types/error.hpp"
#include "sw/collectives/base/builtin.hpp"

namespace diecast::comm {
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

}  // namespace diecast::comm

namespace diecast::sw {

pattern_table in_network_patterns() {
  return {{"multicast_tree", "the root to every other rank at once, down a tree of routers (noc.multicast)",
           comm::multicast_tree, comm::tree_direction_names(), true},
          {"reduction_tree", "every rank to the root, combined up a tree of routers (noc.reduce)",
           comm::reduction_tree, comm::tree_direction_names(), true},
          {"in_network", "up and down a tree of routers over the most central rank (noc.reduce)",
           comm::in_network, comm::tree_direction_names(), true}};
}

}  // namespace diecast::sw
