// SPDX-License-Identifier: Apache-2.0
#include "models/comm/fitted_trees.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "models/fabric/topology.hpp"

namespace diecast::comm {
namespace {

constexpr std::uint32_t fewest_members = 4;
/// Most ranks of a SIP; for more the search takes seconds.
constexpr std::uint32_t most_fitted = 25;

/// From a slot at a member to its first packet on the way to a child, beside the DMA's start and the read of
/// the memory: an interrupt, the call, and as many registers as it takes to hear of a message and to pass it
/// on.
constexpr std::uint64_t registers_to_pass_on = 2;

/// The ways of a machine, in numbers.
class routed_machine {
 public:
  explicit routed_machine(const pattern_context& c) : c_(c), topology_(c.config) {
    const auto& noc = c.config.noc;
    const std::uint64_t packet = std::min<std::uint64_t>(noc.max_packet_bytes, c.config.ipcq.slot_bytes);
    const auto flit = static_cast<std::uint32_t>(noc.flit_bytes);
    flits_ = abi::flits_of(static_cast<std::uint32_t>(packet), flit);
    const std::uint64_t packets = (c.config.ipcq.slot_bytes + packet - 1) / packet;
    const double cycle_ns = 1.0 / noc.clock_ghz;
    slot_ns_ = static_cast<double>(packets * flits_) * cycle_ns;
    const auto& pe = c.config.pe;
    const std::uint64_t cycles = pe.dma_startup_cycles + pe.tcm_read_cycles + pe.interrupt_cycles +
                                 c.config.ccl.kernel_call_cycles + registers_to_pass_on * pe.register_cycles;
    // The last packet of a slot ends the way; the others are in front of it.
    beside_ns_ = (static_cast<double>(cycles) - flits_) * cycle_ns + slot_ns_;
    interface_gbytes_s_ = static_cast<double>(noc.flit_bytes) * noc.clock_ghz;
  }

  [[nodiscard]] double slot_ns() const { return slot_ns_; }
  [[nodiscard]] double edge_ns(std::uint32_t above, std::uint32_t below) const {
    return beside_ns_ + fabric::idle_latency(topology_, c_.config, terminal(above), terminal(below),
                                             abi::traffic_class::comm, flits_)
                            .ns();
  }
  /// Links of a way, of all or those that start in a SIP, but for those of the ends: these are as busy as the
  /// ends are.
  [[nodiscard]] std::vector<std::uint32_t> links(std::uint32_t above, std::uint32_t below,
                                                 std::optional<sip_id> in) const {
    const std::vector<fabric::route_hop> way = topology_.trace(terminal(above), terminal(below));
    std::vector<std::uint32_t> found;
    for (std::size_t i = 1; i + 1 < way.size(); ++i) {
      const fabric::link& l = topology_.links()[way[i].link];
      if (!in || l.sip == in->value) found.push_back(way[i].link);
    }
    return found;
  }
  [[nodiscard]] tree_task::link link_of(std::uint32_t number) const {
    const fabric::link& l = topology_.links()[number];
    return {std::max(1U, static_cast<std::uint32_t>(l.gbytes_s / interface_gbytes_s_)), leads_to_sips(l),
            l.gbytes_s < interface_gbytes_s_};
  }

 private:
  [[nodiscard]] abi::node_address terminal(std::uint32_t rank) const {
    const pe_coord pe = c_.members.members[rank];
    return topology_.locate(abi::encode({pe.sip, pe.cube, abi::region::tcm, pe.pe.value, 0}));
  }
  /// A SIP link, or the port at either end of it.
  [[nodiscard]] bool leads_to_sips(const fabric::link& l) const {
    const auto is_port = [&](std::uint16_t terminal) {
      const auto& all = topology_.layout(sip_id{l.sip}, cube_id{l.cube}).terminals;
      return all[terminal].kind == fabric::terminal_kind::sip_port;
    };
    switch (l.kind) {
      case fabric::link_kind::sip: return true;
      case fabric::link_kind::inject: return is_port(l.from);
      case fabric::link_kind::eject: return is_port(l.port);
      case fabric::link_kind::mesh:
      case fabric::link_kind::ucie: return false;
    }
    return false;
  }

  const pattern_context& c_;
  fabric::topology topology_;
  std::uint32_t flits_{};
  double slot_ns_{}, beside_ns_{}, interface_gbytes_s_{};
};

using rank_list = std::vector<std::uint32_t>;

/// Links that the same ways take become one: the search follows every link of a way with every move.
void merge_links(tree_task& task) {
  std::vector<std::vector<std::size_t>> ways(task.link_of.size());
  for (std::size_t edge = 0; edge < task.links.size(); ++edge) {
    for (const std::uint16_t l : task.links[edge]) ways[l].push_back(edge);
  }
  std::vector<tree_task::link> merged;
  std::map<std::tuple<std::vector<std::size_t>, std::uint32_t, bool, bool>, std::uint16_t> number;
  for (auto& edge : task.links) edge.clear();
  for (std::size_t l = 0; l < ways.size(); ++l) {
    const tree_task::link& link = task.link_of[l];
    const auto next = static_cast<std::uint16_t>(merged.size());
    const auto known = number.emplace(std::tuple(ways[l], link.fit, link.between_sips, link.narrow), next);
    if (!known.second) {
      ++merged[known.first->second].alike;
      continue;
    }
    merged.push_back(link);
    for (const std::size_t edge : ways[l]) task.links[edge].push_back(next);
  }
  task.link_of = std::move(merged);
}

/// A task of so many members, with the ways between those of `ranks`, or their parts in a SIP. ranks[i] is
/// the rank of member i, or one that stands for it.
tree_task make_task(const routed_machine& machine, const rank_list& ranks, std::optional<sip_id> in) {
  tree_task task;
  task.members = static_cast<std::uint32_t>(ranks.size());
  task.slot_ns = machine.slot_ns();
  task.links.resize(ranks.size() * ranks.size());
  task.edge_ns.resize(task.links.size());
  std::map<std::uint32_t, std::uint16_t> number;
  for (std::uint32_t a = 0; a < ranks.size(); ++a) {
    for (std::uint32_t b = 0; b < ranks.size(); ++b) {
      if (ranks[a] == ranks[b]) continue;
      const std::size_t edge = a * ranks.size() + b;
      task.edge_ns[edge] = machine.edge_ns(ranks[a], ranks[b]);
      for (const std::uint32_t l : machine.links(ranks[a], ranks[b], in)) {
        const auto known = number.emplace(l, static_cast<std::uint16_t>(number.size()));
        if (known.second) task.link_of.push_back(machine.link_of(l));
        task.links[edge].push_back(known.first->second);
      }
    }
  }
  merge_links(task);
  return task;
}

/// Ranks of the root's SIP, and of the other when there is one; empty where the search has no answer.
std::vector<rank_list> sips_of(const pattern_context& c, std::uint32_t root) {
  const std::vector<pe_coord>& m = c.members.members;
  std::vector<rank_list> sips(1);
  std::set<std::pair<sip_id, cube_id>> cubes;
  for (std::uint32_t r = 0; r < m.size(); ++r) {
    if (!cubes.insert({m[r].sip, m[r].cube}).second) return {};
    if (m[r].sip == m[root].sip) {
      sips[0].push_back(r);
      continue;
    }
    if (sips.size() == 1) sips.emplace_back();
    if (!sips[1].empty() && m[sips[1].front()].sip != m[r].sip) return {};
    sips[1].push_back(r);
  }
  const auto fits = [](const rank_list& s) { return s.size() >= fewest_members && s.size() <= most_fitted; };
  if (!std::all_of(sips.begin(), sips.end(), fits)) return {};
  const bool staged = c.config.comm.path == config::transfer_path::staged;
  if (c.shares_queue_pairs || (staged && sips.size() > 1)) return {};
  return sips;
}

std::uint32_t place_in(const rank_list& ranks, std::uint32_t rank) {
  return static_cast<std::uint32_t>(std::find(ranks.begin(), ranks.end(), rank) - ranks.begin());
}

/// The trees of a task by rank, into those of the machine. Where the leaf stands is `beyond`.
void add_trees(tree_pair& all, const tree_pair& found, const rank_list& ranks, std::uint32_t without,
               std::uint32_t leaf, const std::array<std::uint32_t, 2>& beyond) {
  for (std::uint32_t t = 0; t < all.size(); ++t) {
    for (std::uint32_t m = 0; m < ranks.size(); ++m) {
      if (m == without || m == leaf) continue;
      for (const std::uint32_t child : found[t][m].children) {
        const std::uint32_t rank = child == leaf ? beyond[t] : ranks[child];
        all[t][ranks[m]].children.push_back(rank);
        all[t][rank].parent = ranks[m];
      }
    }
  }
}

}  // namespace

tree_task task_of_all(const pattern_context& c) {
  rank_list all(c.members.members.size());
  std::iota(all.begin(), all.end(), 0U);
  tree_task task = make_task(routed_machine(c), all, std::nullopt);
  task.root = root_of(c);
  return task;
}

std::optional<tree_pair> fitted_trees(const pattern_context& c) {
  const std::uint32_t root = root_of(c);
  const std::vector<rank_list> sips = sips_of(c, root);
  if (sips.empty()) return std::nullopt;
  const auto sip_of = [&c](std::uint32_t rank) { return c.members.members[rank].sip; };
  const routed_machine machine(c);
  tree_pair all;
  for (auto& nodes : all) nodes.resize(c.members.members.size());

  rank_list near = sips[0];
  std::array<std::uint32_t, 2> entered{};
  double beyond_ns = 0;
  if (sips.size() == 2) {
    rank_list far = sips[1];
    const auto outside = static_cast<std::uint32_t>(far.size());
    far.push_back(sips[0].front());  // whoever sends there: its packets come in by the same gateway
    tree_task task = make_task(machine, far, sip_of(far.front()));
    task.root = outside;
    task.tops_differ = true;  // rings for eight queue pairs from another SIP would be much of a memory
    const tree_pair found = anneal_trees(task);
    add_trees(all, found, far, outside, tree_task::none, {});
    for (std::uint32_t t = 0; t < found.size(); ++t) entered[t] = far[found[t][outside].children.front()];
    const std::uint32_t first = found[0][outside].children.front();
    beyond_ns = cost_of(task, found).farthest_ns - task.edge_ns[std::size_t{outside} * far.size() + first];
    near.push_back(entered[0]);
  }
  tree_task task = make_task(machine, near, sip_of(root));
  task.root = place_in(near, root);
  if (sips.size() == 2) {
    task.leaf = static_cast<std::uint32_t>(sips[0].size());
    task.beyond_ns = beyond_ns;
  }
  add_trees(all, anneal_trees(task), near, tree_task::none, task.leaf, entered);
  return all;
}

}  // namespace diecast::comm
