// SPDX-License-Identifier: Apache-2.0
#include "models/analysis/wait_for.hpp"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/strong_components.hpp>
#include <deque>
#include <fmt/format.h>
#include <map>
#include <utility>

namespace diecast::analysis {
namespace {

using protocol::queue_pair_state;

/// A queue pair among the dumps.
struct place {
  std::size_t dump{};
  comm::direction dir{};
};

class wait_graph {
 public:
  explicit wait_graph(const std::vector<pe_dump>& dumps)
      : dumps_(dumps), out_(dumps.size()), waited_on_(dumps.size()) {
    for (std::size_t i = 0; i < dumps.size(); ++i) {
      for (std::size_t d = 0; d < dumps[i].queue_pairs.size(); ++d) file(i, static_cast<comm::direction>(d));
    }
    for (std::size_t i = 0; i < dumps.size(); ++i) {
      for (std::size_t d = 0; d < dumps[i].queue_pairs.size(); ++d)
        add_waits({i, static_cast<comm::direction>(d)});
    }
  }

  [[nodiscard]] const std::vector<wait_edge>& edges() const { return edges_; }

  [[nodiscard]] std::vector<wait_root> roots() const {
    std::vector<wait_root> roots;
    for (const wait_edge& e : edges_) {
      if (e.cause != wait_cause::peer) roots.push_back({root_kind::fault, {e.waiter}, {e}});
    }
    const std::vector<std::vector<std::size_t>> ends = groups_that_wait_for_no_other();
    for (const auto& group : ends) {
      if (group.size() == 1 && waited_on_[group[0]] && !is_faulted(group[0]))
        roots.push_back(peer_root(group[0]));
    }
    for (const auto& group : ends) {
      if (group.size() > 1) roots.push_back(cycle_root(group));
    }
    return roots;
  }

 private:
  struct link {
    std::size_t to{};
    std::size_t edge{};
  };

  const queue_pair_state& state(place p) const { return dumps_[p.dump].queue_pairs[p.dir]; }

  void file(std::size_t dump, comm::direction dir) {
    const queue_pair_state& s = state({dump, dir});
    if (s.rx) readers_.emplace(s.rx_base, place{dump, dir});
    if (s.tx) writers_.emplace(s.peer_rx_base, place{dump, dir});
  }

  void add_waits(place here) {
    const queue_pair_state& s = state(here);
    if ((s.armed & abi::arm_receive) != 0) {
      add_wait(
          here, wait_kind::receive, writers_, s.rx_base, wait_cause::lost_message,
          [&](const queue_pair_state& peer) { return s.space.distance(s.peer_head_cache, peer.my_head); });
    }
    if ((s.armed & abi::arm_send_space) != 0) {
      add_wait(
          here, wait_kind::send_space, readers_, s.peer_rx_base, wait_cause::lost_credit,
          [&](const queue_pair_state& peer) { return s.space.distance(s.peer_tail_cache, peer.my_tail); });
    }
    if ((s.armed & abi::arm_source_read) != 0) {
      const pe_coord self = dumps_[here.dump].pe;
      edges_.push_back({self, here.dir, wait_kind::source_read, wait_cause::own_dma, self, here.dir, 0});
    }
  }

  template <class Missing>
  void add_wait(place here, wait_kind kind, const std::map<abi::address, place>& ends, abi::address ring,
                wait_cause lost, Missing missing) {
    const pe_coord self = dumps_[here.dump].pe;
    wait_edge e{self, here.dir, kind, wait_cause::unwired, self, here.dir, 0};
    const auto end = ends.find(ring);
    if (end != ends.end()) {
      e.on = dumps_[end->second.dump].pe;
      e.on_dir = end->second.dir;
      e.missing = missing(state(end->second));
      e.cause = e.missing == 0 ? wait_cause::peer : lost;
    }
    if (e.cause == wait_cause::peer) {
      out_[here.dump].push_back({end->second.dump, edges_.size()});
      waited_on_[end->second.dump] = true;
    }
    edges_.push_back(e);
  }

  bool is_faulted(std::size_t node) const {
    return std::any_of(edges_.begin(), edges_.end(), [&](const wait_edge& e) {
      return e.waiter == dumps_[node].pe && e.cause != wait_cause::peer;
    });
  }

  /// Strongly connected groups without a wait for a PE outside, each sorted, in order of their first.
  std::vector<std::vector<std::size_t>> groups_that_wait_for_no_other() const {
    boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS> graph(out_.size());
    for (std::size_t i = 0; i < out_.size(); ++i) {
      for (const link& l : out_[i]) boost::add_edge(i, l.to, graph);
    }
    std::vector<std::size_t> group_of(out_.size());
    const auto count = boost::strong_components(
        graph, boost::make_iterator_property_map(group_of.begin(), boost::get(boost::vertex_index, graph)));
    std::vector<std::vector<std::size_t>> groups(count);
    std::vector<bool> leaves(count);
    for (std::size_t i = 0; i < out_.size(); ++i) {
      groups[group_of[i]].push_back(i);
      for (const link& l : out_[i]) {
        if (group_of[l.to] != group_of[i]) leaves[group_of[i]] = true;
      }
    }
    std::vector<std::vector<std::size_t>> ends;
    for (std::size_t g = 0; g < count; ++g) {
      if (!leaves[g]) ends.push_back(groups[g]);
    }
    std::sort(ends.begin(), ends.end());
    return ends;
  }

  wait_root peer_root(std::size_t node) const {
    wait_root root{root_kind::peer, {dumps_[node].pe}, {}};
    for (const wait_edge& e : edges_) {
      if (e.cause == wait_cause::peer && e.on == dumps_[node].pe) root.waits.push_back(e);
    }
    return root;
  }

  /// A shortest cycle through the first PE of the group, by breadth-first search.
  wait_root cycle_root(const std::vector<std::size_t>& group) const {
    const std::size_t start = group[0];
    std::map<std::size_t, std::pair<std::size_t, std::size_t>> came;  // node -> {node before, edge}
    std::deque<std::size_t> queue{start};
    while (!came.contains(start)) {
      const std::size_t node = queue.front();
      queue.pop_front();
      for (const link& l : out_[node]) {
        if (came.try_emplace(l.to, node, l.edge).second) queue.push_back(l.to);
      }
    }
    wait_root root{root_kind::cycle, {}, {}};
    std::size_t node = start;
    do {
      const auto [before, edge] = came.at(node);
      root.waits.push_back(edges_[edge]);
      root.members.push_back(dumps_[before].pe);
      node = before;
    } while (node != start);
    std::reverse(root.waits.begin(), root.waits.end());
    std::reverse(root.members.begin(), root.members.end());
    return root;
  }

  const std::vector<pe_dump>& dumps_;
  std::map<abi::address, place> readers_;  ///< by rx_base
  std::map<abi::address, place> writers_;  ///< by peer_rx_base
  std::vector<wait_edge> edges_;
  std::vector<std::vector<link>> out_;
  std::vector<bool> waited_on_;
};

const char* state_text(events::core_state s) {
  switch (s) {
    case events::core_state::idle: return "was never started";
    case events::core_state::waiting_start: return "waits for its start time";
    case events::core_state::running: return "is running or polling";
    case events::core_state::asleep: return "sleeps, but for none of its queue pairs";
    case events::core_state::done: return "has finished its kernel";
  }
  return "is in an unknown state";
}

class writer {
 public:
  writer(const machine_shape& shape, const std::vector<pe_dump>& dumps) : shape_(shape), dumps_(dumps) {}

  std::string report(const wait_for_report& r) const {
    const auto open = std::count_if(dumps_.begin(), dumps_.end(), [](const pe_dump& d) {
      return d.state != events::core_state::done && d.state != events::core_state::idle;
    });
    std::string text = fmt::format("{} of {} PEs are not finished and nothing moves; {} waits\n", open,
                                   dumps_.size(), r.edges.size());
    for (const wait_root& root : r.roots) text += describe(root);
    if (r.roots.empty()) text += "root: none found: no queue pair has a waiter\n";
    text += "waits:\n";
    for (const wait_edge& e : r.edges) text += "  " + describe(e) + "\n";
    return text + "queue pairs not at rest:\n" + pointer_dump(shape_, dumps_);
  }

 private:
  std::string name(pe_coord pe, comm::direction d) const {
    return fmt::format("{} {}", pe_path(shape_, pe), comm::direction_name(d));
  }
  const pe_dump& dump_of(pe_coord pe) const {
    return *std::lower_bound(dumps_.begin(), dumps_.end(), pe,
                             [](const pe_dump& d, pe_coord p) { return d.pe < p; });
  }
  std::string step_of(pe_coord pe) const {
    const std::string& step = dump_of(pe).step;
    return step.empty() ? "" : fmt::format(" (step {})", step);
  }
  std::string rx_base(const wait_edge& e) const {
    const queue_pair_state& s = dump_of(e.waiter).queue_pairs[e.dir];
    return fmt::format("{:#018x}", e.kind == wait_kind::receive ? s.rx_base : s.peer_rx_base);
  }

  std::string describe(const wait_edge& e) const {
    const std::string who = name(e.waiter, e.dir);
    const std::string other = name(e.on, e.on_dir);
    const std::string ring = rx_base(e);
    switch (e.cause) {
      case wait_cause::peer:
        return e.kind == wait_kind::receive
                   ? fmt::format("{} waits for a message in its ring {} from {}", who, ring, other)
                   : fmt::format("{} waits for a free slot in ring {}, which {} has not released", who, ring,
                                 other);
      case wait_cause::lost_message:
        return fmt::format(
            "{} waits for a message in its ring {}; {} has sent {} that never became visible there", who,
            ring, other, e.missing);
      case wait_cause::lost_credit:
        return fmt::format(
            "{} waits for a free slot in ring {}; {} has released {} whose credit never took effect", who,
            ring, other, e.missing);
      case wait_cause::unwired:
        return e.kind == wait_kind::receive
                   ? fmt::format("{} waits for a message in its ring {}, which no queue pair writes", who,
                                 ring)
                   : fmt::format("{} waits for a free slot in ring {}, which no queue pair owns", who, ring);
      case wait_cause::own_dma:
        return fmt::format("{} waits for its own DMA to read the source of a send", who);
    }
    return who;
  }

  std::string describe(const wait_root& root) const {
    switch (root.kind) {
      case root_kind::fault: return "root: " + describe(root.waits[0]) + step_of(root.members[0]) + "\n";
      case root_kind::peer: {
        const pe_coord pe = root.members[0];
        return fmt::format("root: {} {}{}; {} waits end there\n", pe_path(shape_, pe),
                           state_text(dump_of(pe).state), step_of(pe), root.waits.size());
      }
      case root_kind::cycle: break;
    }
    std::string text = fmt::format("root: a cycle of {} waits\n", root.waits.size());
    for (const wait_edge& e : root.waits) text += "  " + describe(e) + step_of(e.waiter) + "\n";
    return text;
  }

  const machine_shape& shape_;
  const std::vector<pe_dump>& dumps_;
};

bool at_rest(const queue_pair_state& s) {
  if (s.armed != 0) return false;
  if (s.tx && (s.my_head != s.peer_tail_cache || s.sources_read != s.sends)) return false;
  return !s.rx || s.my_tail == s.peer_head_cache;
}

}  // namespace

std::string pointer_dump(const machine_shape& shape, const std::vector<pe_dump>& dumps) {
  std::string text;
  for (const pe_dump& d : dumps) {
    bool named = false;
    for (std::size_t i = 0; i < d.queue_pairs.size(); ++i) {
      if (at_rest(d.queue_pairs[i])) continue;
      if (!named) text += pe_path(shape, d.pe) + "\n";
      named = true;
      text += protocol::describe(static_cast<std::uint16_t>(i), d.queue_pairs[i]) + "\n";
    }
  }
  return text;
}

wait_for_report explain_waits(const machine_shape& shape, std::vector<pe_dump> dumps) {
  std::sort(dumps.begin(), dumps.end(), [](const pe_dump& a, const pe_dump& b) { return a.pe < b.pe; });
  const wait_graph graph(dumps);
  wait_for_report report{graph.edges(), graph.roots(), {}};
  report.text = writer(shape, dumps).report(report);
  return report;
}

}  // namespace diecast::analysis
