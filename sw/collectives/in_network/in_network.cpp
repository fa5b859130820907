// SPDX-License-Identifier: Apache-2.0
// Collectives that routers execute (noc.multicast, noc.reduce). A rank sends its vector once, whatever
// the number of ranks, and receives the result once.
//
//   broadcast multicast    the root sends; routers copy
//   reduce in_network      all others send; routers combine; the root adds the sum to its own vector
//   all_reduce in_network  both: the root sends on what it receives, slot by slot
#include "sw/collectives/in_network/in_network.hpp"

#include <algorithm>
#include <cstdlib>
#include <tuple>

#include "models/checksum/packet_checksum.hpp"
#include "models/types/error.hpp"
#include "sw/collectives/base/blocks.hpp"
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

namespace in_network_kernel {

using arrival = pe_context::arrival;
using directions = std::vector<comm::direction>;
constexpr directions::value_type up = comm::tree_reduction, down = comm::tree_multicast;

struct parameters {
  std::uint32_t is_root{};  ///< this rank is the root of the tree
};

bool at_root(pe_context& pe) { return pe.args().own.get<parameters>().is_root != 0; }
bool alone(pe_context& pe) { return pe.args().ranks < 2; }

void run_multicast(pe_context& pe) {
  const block_vector v = at_root(pe) ? reduced_in_output(pe) : block_vector(pe, pe.args().output);
  if (alone(pe)) return;
  pe.step("multicast");
  if (at_root(pe)) {
    pe.send_all(down, v.whole());
  } else {
    pe.recv_all(down, v.whole(), arrival::copy);
  }
}

/// Adds this rank's contribution to the sum of all others, slot by slot.
void take_sums(pe_context& pe, const tcm_range& range, bool send_on) {
  const std::uint64_t element = numeric::size_of(pe.args().type);
  const std::uint64_t slot = pe.message_elements(up) * element;
  for (std::uint64_t done = 0; done < range.bytes; done += slot) {
    const tcm_range piece{range.at + done, std::min(slot, range.bytes - done)};
    pe.recv_all(up, piece, arrival::reduce);
    pe.finish_average(piece);
    if (send_on) pe.send_all(down, piece);
  }
}

void run_reduce(pe_context& pe) {
  const block_vector v = reduced_in_output(pe);
  const tcm_range range = v.whole();
  if (alone(pe)) return pe.finish_average(range);
  pe.step("reduce");
  if (at_root(pe)) return take_sums(pe, range, false);
  pe.send_all(up, range);
}

/// The result of a slot comes when all have contributed to it, so that it overwrites nothing unsent.
void run_all_reduce(pe_context& pe) {
  const block_vector v = reduced_in_output(pe);
  const tcm_range range = v.whole();
  if (alone(pe)) return pe.finish_average(range);
  pe.step("in_network");
  if (at_root(pe)) return take_sums(pe, range, true);
  pe.run_tasks({[&] { pe.send_all(up, range); }, [&] { pe.recv_all(down, range, arrival::copy); }});
}

void fill_root(const argument_context& c, std::uint32_t rank, abi::kernel_arguments& a) {
  a.own.set(parameters{rank == c.root ? 1U : 0U});
}

void fill_center(const argument_context& c, std::uint32_t rank, abi::kernel_arguments& a) {
  a.own.set(parameters{rank == comm::central_rank(c.shape, c.members) ? 1U : 0U});
}

}  // namespace in_network_kernel

kernel_table in_network_kernels() {
  using namespace in_network_kernel;
  return {{"multicast", "broadcast", "the root sends once, routers copy (noc.multicast)", "multicast_tree",
           any_ranks, run_multicast, without_scratch, fill_root},
          {"in_network", "reduce", "all send once, routers combine (noc.reduce)", "reduction_tree", any_ranks,
           run_reduce, without_scratch, fill_root},
          {"in_network", "all_reduce", "routers combine up a tree and copy down it (noc.reduce)",
           "in_network", any_ranks, run_all_reduce, without_scratch, fill_center}};
}

}  // namespace diecast::sw
