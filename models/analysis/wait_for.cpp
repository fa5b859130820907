// SPDX-License-Identifier: Apache-2.0
#include "models/analysis/wait_for.hpp"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/strong_components.hpp>
#include <deque>
#include <fmt/format.h>
#include <map>
#include <utility>

#include "models/analysis/wait_text.hpp"

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
  explicit wait_graph(const stopped_machine& m)
      : machine_(m), dumps_(m.pes), out_(m.pes.size()), waited_on_(m.pes.size()), waits_(m.pes.size()) {
    for (std::size_t i = 0; i < dumps_.size(); ++i) {
      for (std::size_t d = 0; d < dumps_[i].queue_pairs.size(); ++d) file(i, static_cast<comm::direction>(d));
    }
    for (const flight& f : m.flights) {
      (f.credit ? credits_ : messages_).emplace(ring_of(f), &f);
    }
    for (std::size_t i = 0; i < dumps_.size(); ++i) {
      for (std::size_t d = 0; d < dumps_[i].queue_pairs.size(); ++d)
        add_waits({i, static_cast<comm::direction>(d)});
      if (dumps_[i].awaits_copy) add_own({i, 0}, wait_kind::copy);
      if (dumps_[i].polls) add_poll(i, dumps_[i].polls->expected_writer);
      if (dumps_[i].watches) add_poll(i, dumps_[i].watches->expected_writer);
      for (const abi::operation_note& n : dumps_[i].awaits) add_message(i, n);
    }
  }

  [[nodiscard]] const std::vector<wait_edge>& edges() const { return edges_; }

  [[nodiscard]] std::vector<wait_root> roots() const {
    std::vector<wait_root> roots;
    for (const wait_edge& e : edges_) {
      if (holds(e)) roots.push_back({root_kind::fault, {e.waiter}, {e}});
    }
    const std::vector<std::vector<std::size_t>> ends = groups_that_wait_for_no_other();
    for (const auto& group : ends) {
      if (group.size() == 1 && !waits_[group[0]] && (waited_on_[group[0]] || has_stopped(group[0])))
        roots.push_back(peer_root(group[0]));
    }
    for (const auto& group : ends) {
      if (group.size() > 1 || waits_for_itself(group[0])) roots.push_back(cycle_root(group));
    }
    return roots;
  }

 private:
  struct link {
    std::size_t to{};
    std::size_t edge{};
  };

  const queue_pair_state& state(place p) const { return dumps_[p.dump].queue_pairs[p.dir]; }

  /// The wait cannot end by itself. What is under way ends it unless nothing moves.
  [[nodiscard]] bool holds(const wait_edge& e) const {
    if (e.cause == wait_cause::peer) return false;
    return machine_.still || e.cause == wait_cause::unwired;
  }
  /// The PE has begun, has not ended and will not go on.
  [[nodiscard]] bool has_stopped(std::size_t node) const {
    const events::core_state s = dumps_[node].state;
    return machine_.still && s != events::core_state::done && s != events::core_state::idle;
  }

  /// Base of the ring a message or credit concerns. A message lies somewhere in its ring.
  [[nodiscard]] abi::address ring_of(const flight& f) const {
    if (f.credit) return f.fields.match_address;
    const auto after = readers_.upper_bound(f.fields.match_address);
    return after == readers_.begin() ? f.fields.match_address : std::prev(after)->first;
  }
  /// The message that would be the next of a ring, if it is under way.
  [[nodiscard]] const flight* next_message(const queue_pair_state& reader) const {
    const auto [first, last] = messages_.equal_range(reader.rx_base);
    const auto at = std::find_if(
        first, last, [&](const auto& m) { return m.second->fields.sequence == reader.peer_head_cache; });
    return at == last ? nullptr : at->second;
  }
  /// A credit under way that would free a slot of the ring this queue pair writes.
  [[nodiscard]] const flight* next_credit(const queue_pair_state& writer) const {
    const auto [first, last] = credits_.equal_range(writer.peer_rx_base);
    const std::uint32_t in_use = writer.space.distance(writer.peer_tail_cache, writer.my_head);
    const auto at = std::find_if(first, last, [&](const auto& c) {
      const std::uint32_t freed = writer.space.distance(writer.peer_tail_cache, c.second->fields.sequence);
      return freed != 0 && freed <= in_use;
    });
    return at == last ? nullptr : at->second;
  }

  void file(std::size_t dump, comm::direction dir) {
    const queue_pair_state& s = state({dump, dir});
    if (s.rx) readers_.emplace(s.rx_base, place{dump, dir});
    if (!is_of_tree(s)) {
      if (s.tx) writers_.emplace(s.peer_rx_base, place{dump, dir});
      return;
    }
    if (s.rx) tree_readers_[s.peer_ipcq].push_back({dump, dir});
    if (s.tx) tree_writers_[s.peer_ipcq].push_back({dump, dir});
  }

  static bool is_of_tree(const queue_pair_state& s) {
    const auto mailbox = abi::decode(s.peer_ipcq);
    return mailbox && mailbox->kind == abi::region::tree;
  }

  /// The other end of a ring. Of a tree in the network, whoever has done least for this wait: routers combine
  /// what comes from many, so the last of them is what is waited for.
  template <class Missing>
  [[nodiscard]] std::optional<place> other_end(place here, wait_kind kind,
                                               const std::map<abi::address, place>& ends, abi::address ring,
                                               Missing missing) const {
    const queue_pair_state& s = state(here);
    if (!is_of_tree(s)) {
      const auto end = ends.find(ring);
      return end == ends.end() ? std::nullopt : std::optional(end->second);
    }
    const auto& all = kind == wait_kind::receive ? tree_writers_ : tree_readers_;
    const auto list = all.find(s.peer_ipcq);
    std::optional<place> last;
    if (list == all.end()) return last;
    for (const place& p : list->second) {
      if (p.dump != here.dump && (!last || missing(state(p)) < missing(state(*last)))) last = p;
    }
    return last;
  }

  void add_waits(place here) {
    const queue_pair_state& s = state(here);
    if ((s.armed & abi::arm_receive) != 0) {
      add_wait(here, wait_kind::receive, writers_, s.rx_base, [&](const queue_pair_state& peer) {
        return s.space.distance(s.peer_head_cache, peer.my_head);
      });
    }
    if ((s.armed & abi::arm_send_space) != 0) {
      add_wait(here, wait_kind::send_space, readers_, s.peer_rx_base, [&](const queue_pair_state& peer) {
        return s.space.distance(s.peer_tail_cache, peer.my_tail);
      });
    }
    if ((s.armed & abi::arm_source_read) != 0) add_own(here, wait_kind::source_read);
  }

  /// A wait for this PE's own DMA.
  void add_own(place here, wait_kind kind) {
    const pe_coord self = dumps_[here.dump].pe;
    edges_.push_back({self, here.dir, kind, wait_cause::own_dma, self, here.dir, 0});
    waits_[here.dump] = true;
  }

  /// A wait for a word that another PE is to write.
  void add_poll(std::size_t dump, pe_coord writer) {
    const pe_coord self = dumps_[dump].pe;
    const auto at = std::lower_bound(dumps_.begin(), dumps_.end(), writer,
                                     [](const pe_dump& d, pe_coord p) { return d.pe < p; });
    wait_edge e{self, 0, wait_kind::memory, wait_cause::unwired, writer, 0, 0};
    if (at != dumps_.end() && at->pe == writer && writer != self) {
      const auto to = static_cast<std::size_t>(at - dumps_.begin());
      e.cause = wait_cause::peer;
      out_[dump].push_back({to, edges_.size()});
      waited_on_[to] = true;
    }
    waits_[dump] = true;
    edges_.push_back(e);
  }

  /// A wait for a tag-matched message, or that a peer takes one. Who takes a message of anybody waits for
  /// nobody in particular.
  void add_message(std::size_t dump, const abi::operation_note& n) {
    if (n.kind == abi::operation_kind::barrier || !n.peer) return;
    wait_edge e{dumps_[dump].pe, 0, wait_kind::message, wait_cause::unwired, *n.peer, 0, n.count, {}, n};
    const auto at = std::lower_bound(dumps_.begin(), dumps_.end(), *n.peer,
                                     [](const pe_dump& d, pe_coord p) { return d.pe < p; });
    if (at != dumps_.end() && at->pe == *n.peer && at->state == events::core_state::done) {
      e.cause = wait_cause::ended;
    } else if (at != dumps_.end() && at->pe == *n.peer) {
      const auto to = static_cast<std::size_t>(at - dumps_.begin());
      e.cause = wait_cause::peer;
      out_[dump].push_back({to, edges_.size()});
      waited_on_[to] = true;
    }
    waits_[dump] = true;
    edges_.push_back(std::move(e));
  }
  [[nodiscard]] bool waits_for_itself(std::size_t node) const {
    return std::any_of(out_[node].begin(), out_[node].end(), [node](const link& l) { return l.to == node; });
  }

  /// Why a wait does not end although the peer has done its part.
  void explain_missing(wait_edge& e, const queue_pair_state& s) const {
    const bool receive = e.kind == wait_kind::receive;
    if (const flight* f = receive ? next_message(s) : next_credit(s)) {
      e.cause = wait_cause::in_flight;
      e.where = f->where;
    } else if (!machine_.still) {
      e.cause = wait_cause::in_flight;
      e.where = "in flight, or lost: the run ended while packets moved";
    } else {
      e.cause = receive ? wait_cause::lost_message : wait_cause::lost_credit;
    }
  }

  template <class Missing>
  void add_wait(place here, wait_kind kind, const std::map<abi::address, place>& ends, abi::address ring,
                Missing missing) {
    const pe_coord self = dumps_[here.dump].pe;
    wait_edge e{self, here.dir, kind, wait_cause::unwired, self, here.dir, 0};
    const std::optional<place> end = other_end(here, kind, ends, ring, missing);
    if (end) {
      e.on = dumps_[end->dump].pe;
      e.on_dir = end->dir;
      e.missing = missing(state(*end));
      e.cause = wait_cause::peer;
      if (e.missing != 0) explain_missing(e, state(here));
    }
    if (e.cause == wait_cause::peer) {
      out_[here.dump].push_back({end->dump, edges_.size()});
      waited_on_[end->dump] = true;
    }
    waits_[here.dump] = true;
    edges_.push_back(e);
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

  const stopped_machine& machine_;
  const std::vector<pe_dump>& dumps_;
  std::multimap<abi::address, const flight*> messages_, credits_;           ///< by ring
  std::map<abi::address, place> readers_;                                   ///< by rx_base
  std::map<abi::address, place> writers_;                                   ///< by peer_rx_base
  std::map<abi::address, std::vector<place>> tree_readers_, tree_writers_;  ///< by the tree's mailbox
  std::vector<wait_edge> edges_;
  std::vector<std::vector<link>> out_;
  std::vector<bool> waited_on_;
  std::vector<bool> waits_;
};

}  // namespace

std::string present_step(const pe_dump& pe) {
  std::string text = pe.step;
  for (const abi::operation_note& n : pe.awaits) {
    if (n.kind != abi::operation_kind::barrier) continue;  // the steps of messages say it themselves
    text += fmt::format("{}{}", text.empty() ? "" : ": ", abi::describe(n));
  }
  return text;
}

wait_for_report explain_waits(const machine_shape& shape, stopped_machine machine,
                              const comm::direction_namer& names) {
  std::sort(machine.pes.begin(), machine.pes.end(),
            [](const pe_dump& a, const pe_dump& b) { return a.pe < b.pe; });
  const wait_graph graph(machine);
  wait_for_report report{graph.edges(), graph.roots(), {}};
  report.text = wait_text(shape, machine, report, names);
  return report;
}

}  // namespace diecast::analysis
