// SPDX-License-Identifier: Apache-2.0
#include "models/analysis/wait_for.hpp"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/strong_components.hpp>
#include <deque>
#include <map>
#include <set>
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

/// Nodes are the tasks of every PE's firmware.
class wait_graph {
 public:
  explicit wait_graph(const stopped_machine& m) : machine_(m), dumps_(m.pes) {
    for (const pe_dump& d : dumps_) {
      first_node_.push_back(nodes_.size());
      for (const abi::firmware_task& t : d.tasks.live()) nodes_.push_back({first_node_.size() - 1, t.id});
    }
    first_node_.push_back(nodes_.size());
    out_.resize(nodes_.size());
    for (std::size_t i = 0; i < dumps_.size(); ++i) {
      for (std::size_t d = 0; d < dumps_[i].queue_pairs.size(); ++d) file(i, static_cast<comm::direction>(d));
    }
    for (const flight& f : m.flights) {
      (f.credit ? credits_ : messages_).emplace(ring_of(f), &f);
    }
    for (std::size_t i = 0; i < dumps_.size(); ++i) {
      for (std::size_t d = 0; d < dumps_[i].queue_pairs.size(); ++d)
        add_waits({i, static_cast<comm::direction>(d)});
      const abi::firmware_tasks& tasks = dumps_[i].tasks;
      if (dumps_[i].awaits_copy) add_own({i, 0}, wait_kind::copy, tasks.copier());
      if (dumps_[i].polls) add_poll(i, dumps_[i].polls->expected_writer, tasks.running());
      if (dumps_[i].watches)
        add_poll(i, dumps_[i].watches->expected_writer, tasks.watcher(), defect_of(m, dumps_[i].pe));
      for (const abi::operation_note& n : dumps_[i].awaits) add_message(i, n);
    }
    for (std::size_t i = 0; i < dumps_.size(); ++i) link_tasks(i);
  }

  [[nodiscard]] const std::vector<wait_edge>& edges() const { return edges_; }

  [[nodiscard]] std::vector<wait_root> roots() const {
    std::vector<wait_root> roots;
    for (const wait_edge& e : edges_) {
      if (holds(e)) roots.push_back({root_kind::fault, {e.waiter}, {e}, e.step});
    }
    // A packet that a link holds stops those behind it, and then the DMA engines that send them.
    std::ranges::stable_partition(roots,
                                  [](const wait_root& r) { return r.waits[0].place == fabric_place::held; });
    const std::vector<std::vector<std::size_t>> ends = groups_that_wait_for_no_other();
    for (const auto& group : ends) {
      if (!waits(group) && (is_waited_on(group) || has_stopped(nodes_[group[0]].dump)))
        roots.push_back(peer_root(group));
    }
    for (const auto& group : ends) {
      if (waits(group) && (group.size() > 1 || waits_for_itself(group[0])))
        roots.push_back(cycle_root(group));
    }
    return roots;
  }

 private:
  struct vertex {
    std::size_t dump{};
    abi::task_id task{};
    bool waits{};      ///< the task has an edge
    bool takes_any{};  ///< the task waits for a message of any sender
    bool held{};       ///< one of the task's waits can never end
    bool waited_on{};  ///< a task of another PE waits for this one
  };
  static constexpr std::size_t no_edge = SIZE_MAX;  ///< the task of a PE waits for another one of it
  struct link {
    std::size_t to{};
    std::size_t edge{};
  };

  const queue_pair_state& state(place p) const { return dumps_[p.dump].queue_pairs[p.dir]; }

  /// The wait cannot end by itself. What is in flight ends it unless nothing moves.
  [[nodiscard]] bool holds(const wait_edge& e) const {
    if (e.cause == wait_cause::peer) return false;
    return machine_.still || e.cause == wait_cause::unwired;
  }
  [[nodiscard]] bool has_ended(std::size_t dump) const {
    return dumps_[dump].state == events::core_state::done;
  }
  /// The PE has begun, has not ended and will not continue.
  [[nodiscard]] bool has_stopped(std::size_t dump) const {
    return machine_.still && !has_ended(dump) && dumps_[dump].state != events::core_state::idle;
  }

  /// Base of the ring a message or credit concerns. A message lies somewhere in its ring.
  [[nodiscard]] abi::address ring_of(const flight& f) const {
    if (f.credit) return f.fields.match_address;
    const auto after = readers_.upper_bound(f.fields.match_address);
    return after == readers_.begin() ? f.fields.match_address : std::prev(after)->first;
  }
  /// The message that would be the next of a ring, if it is in flight.
  [[nodiscard]] const flight* next_message(const queue_pair_state& reader) const {
    const auto [first, last] = messages_.equal_range(reader.rx_base);
    const auto at = std::find_if(
        first, last, [&](const auto& m) { return m.second->fields.sequence == reader.peer_head_cache; });
    return at == last ? nullptr : at->second;
  }
  /// A credit in flight that would free a slot of the ring this queue pair writes.
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

  /// The other end of a ring. For a tree in the network it is the member that has sent least: routers combine
  /// contributions of many, so the wait is for the last of them.
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

  /// In a run that was cut off, an armed request does not stop the task that has the core.
  [[nodiscard]] bool goes_on(std::size_t dump, abi::task_id task) const {
    return !machine_.still && dumps_[dump].state == events::core_state::running &&
           task == dumps_[dump].tasks.running();
  }

  void add_waits(place here) {
    const queue_pair_state& s = state(here);
    const abi::queue_pair_use use = dumps_[here.dump].tasks.use_of(here.dir);
    const auto waits = [&](std::uint64_t request, unsigned of) {
      return (s.armed & request) != 0 && !goes_on(here.dump, use.armed[of]);
    };
    if (waits(abi::arm_receive, 0)) {
      add_wait(
          here, wait_kind::receive, use.armed[0], writers_, s.rx_base,
          [&](const queue_pair_state& peer) { return s.space.distance(s.peer_head_cache, peer.my_head); });
    }
    if (waits(abi::arm_send_space, 1)) {
      add_wait(
          here, wait_kind::send_space, use.armed[1], readers_, s.peer_rx_base,
          [&](const queue_pair_state& peer) { return s.space.distance(s.peer_tail_cache, peer.my_tail); });
    }
    if (waits(abi::arm_source_read, 2)) add_own(here, wait_kind::source_read, use.armed[2]);
  }

  [[nodiscard]] std::optional<std::size_t> node_of(std::size_t dump, abi::task_id task) const {
    for (std::size_t n = first_node_[dump]; n < first_node_[dump + 1]; ++n) {
      if (nodes_[n].task == task) return n;
    }
    return std::nullopt;
  }

  /// Adds a complete edge of a task; the wait of a task that has ended belongs to the kernel.
  void add_edge(std::size_t dump, wait_edge e, abi::task_id task) {
    const std::size_t n = node_of(dump, task).value_or(first_node_[dump]);
    e.task = nodes_[n].task;
    e.step = step_of(dumps_[dump], e.task);
    nodes_[n].waits = true;
    nodes_[n].held = nodes_[n].held || holds(e);
    edges_.push_back(std::move(e));
  }
  /// Adds an edge of a task that waits for the PE of dump `to`: for task `user` of that PE where that task is
  /// known to serve the wait, else for any task.
  void add_edge(std::size_t dump, wait_edge e, abi::task_id task, std::size_t to,
                std::optional<abi::task_id> user) {
    const std::size_t from = node_of(dump, task).value_or(first_node_[dump]);
    const auto known = user ? node_of(to, *user) : std::nullopt;
    const std::size_t first = known.value_or(first_node_[to]);
    const std::size_t last = known ? *known + 1 : first_node_[to + 1];
    for (std::size_t n = first; n < last; ++n) {
      out_[from].push_back({n, edges_.size()});
      nodes_[n].waited_on = true;
    }
    add_edge(dump, std::move(e), task);
  }

  /// Waits within a PE. A task waits for the tasks that it runs; all tasks wait for one that has the core and
  /// does not continue; a task without a known wait waits for each task that has one.
  void link_tasks(std::size_t dump) {
    const abi::firmware_tasks& tasks = dumps_[dump].tasks;
    const std::size_t first = first_node_[dump], last = first_node_[dump + 1];
    if (last - first == 1) return;
    const auto is_leaf = [&](std::size_t n) { return !tasks.has_children(nodes_[n].task); };
    const auto has_core = [&](std::size_t n) {
      return !tasks.idle() && nodes_[n].task == tasks.running() && !nodes_[n].waits;
    };
    bool any_waits = false;
    for (std::size_t n = first; n < last; ++n) any_waits = any_waits || (is_leaf(n) && nodes_[n].waits);
    for (std::size_t n = first; n < last; ++n) {
      const bool blocked = is_leaf(n) && !nodes_[n].waits && !nodes_[n].takes_any && !has_core(n);
      for (std::size_t other = first; other < last; ++other) {
        if (other == n) continue;
        const bool child = tasks.live()[other - first].parent == nodes_[n].task;
        const bool sibling = blocked && is_leaf(other) && (nodes_[other].waits || !any_waits);
        if (child || sibling || (is_leaf(n) && has_core(other))) out_[n].push_back({other, no_edge});
      }
    }
  }

  /// A wait for this PE's own DMA.
  void add_own(place here, wait_kind kind, abi::task_id task) {
    const pe_coord self = dumps_[here.dump].pe;
    add_edge(here.dump, {self, here.dir, kind, wait_cause::own_dma, self, here.dir, 0}, task);
  }

  [[nodiscard]] std::optional<std::size_t> dump_of(pe_coord pe) const {
    const auto at = std::ranges::lower_bound(dumps_, pe, {}, &pe_dump::pe);
    if (at == dumps_.end() || at->pe != pe) return std::nullopt;
    return static_cast<std::size_t>(at - dumps_.begin());
  }

  /// A wait for a word that another PE is to write; `why`: another reason why it does not end.
  void add_poll(std::size_t dump, pe_coord writer, abi::task_id task, std::optional<word_finding> why = {}) {
    const pe_coord self = dumps_[dump].pe;
    wait_edge e{self, 0, wait_kind::memory, wait_cause::unwired, writer, 0, 0};
    const auto to = dump_of(writer);
    if (!to || writer == self) return add_edge(dump, std::move(e), task);
    e.cause = why ? wait_cause::signal : wait_cause::peer;
    if (why) return add_edge(dump, std::move(e), task);
    add_edge(dump, std::move(e), task, *to, std::nullopt);
  }

  /// A packet of tag-matched messages between the dies of two PEs. Where nothing moves, it is stuck.
  [[nodiscard]] const other_packet* between(pe_coord a, pe_coord b) const {
    const auto is_of = [](const abi::node_address& n, pe_coord pe) {
      return n.sip == pe.sip.value && n.cube == pe.cube.value;
    };
    const auto at = std::ranges::find_if(machine_.others, [&](const other_packet& o) {
      const abi::packet_header& h = o.header;
      const bool message = h.kind == abi::packet_kind::tag_message;
      const abi::node_address from = abi::origin_of(h), to = h.staged.set ? h.staged.to : h.destination;
      return (message ? h.tag.source == a || h.tag.source == b : (h.transaction & abi::tag_read_bit) != 0) &&
             ((is_of(from, a) && is_of(to, b)) || (is_of(from, b) && is_of(to, a)));
    });
    return at == machine_.others.end() ? nullptr : &*at;
  }

  /// A wait for a tag-matched message, or that a peer takes one.
  void add_message(std::size_t dump, const abi::operation_note& n) {
    if (n.kind == abi::operation_kind::barrier) return;
    if (!n.peer) {
      nodes_[node_of(dump, n.task).value_or(first_node_[dump])].takes_any = true;
      return;
    }
    wait_edge e{dumps_[dump].pe, 0, wait_kind::message, wait_cause::unwired, *n.peer, 0, n.count, {}, n};
    const auto to = dump_of(*n.peer);
    if (to) e.cause = has_ended(*to) ? wait_cause::ended : wait_cause::peer;
    if (const other_packet* const stuck = machine_.still && to ? between(e.waiter, e.on) : nullptr) {
      e.cause = wait_cause::in_flight;
      e.where = stuck->where;
      e.place = stuck->place;
    }
    if (e.cause != wait_cause::peer) return add_edge(dump, std::move(e), n.task);
    add_edge(dump, std::move(e), n.task, *to, std::nullopt);
  }
  [[nodiscard]] bool waits_for_itself(std::size_t node) const {
    return std::ranges::any_of(out_[node], [node](const link& l) { return l.to == node; });
  }

  /// Why a wait does not end although the peer has done its part.
  void explain_missing(wait_edge& e, const queue_pair_state& s) const {
    const bool receive = e.kind == wait_kind::receive;
    if (const flight* f = receive ? next_message(s) : next_credit(s)) {
      const bool lost = machine_.still && f->state == flight_state::part_arrived;
      e.cause = lost ? wait_cause::lost_message : wait_cause::in_flight;
      e.where = f->where;
      e.flight = f->state;
      e.place = f->place;
    } else if (!machine_.still) {
      e.cause = wait_cause::in_flight;
      e.where = "in flight, or lost: the run ended while packets moved";
    } else {
      e.cause = receive ? wait_cause::lost_message : wait_cause::lost_credit;
    }
  }

  template <class Missing>
  void add_wait(place here, wait_kind kind, abi::task_id task, const std::map<abi::address, place>& ends,
                abi::address ring, Missing missing) {
    const pe_coord self = dumps_[here.dump].pe;
    wait_edge e{self, here.dir, kind, wait_cause::unwired, self, here.dir, 0};
    const std::optional<place> end = other_end(here, kind, ends, ring, missing);
    if (!end) return add_edge(here.dump, std::move(e), task);
    e.on = dumps_[end->dump].pe;
    e.on_dir = end->dir;
    e.missing = missing(state(*end));
    e.cause = wait_cause::peer;
    if (e.missing != 0) explain_missing(e, state(here));
    if (e.cause != wait_cause::peer) return add_edge(here.dump, std::move(e), task);
    const abi::queue_pair_use use = dumps_[end->dump].tasks.use_of(end->dir);
    add_edge(here.dump, std::move(e), task, end->dump,
             kind == wait_kind::receive ? use.sender : use.receiver);
  }

  /// Strongly connected groups without a wait for a task outside and without a wait that can never end, which
  /// would explain all others. Each group is sorted; groups are in order of their first task.
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
      if (nodes_[i].held) leaves[group_of[i]] = true;
      for (const link& l : out_[i]) {
        if (group_of[l.to] != group_of[i]) leaves[group_of[i]] = true;
      }
    }
    std::vector<std::vector<std::size_t>> ends;
    for (std::size_t g = 0; g < count; ++g) {
      if (!leaves[g]) ends.push_back(groups[g]);
    }
    std::ranges::sort(ends);
    return ends;
  }

  using group_of_nodes = std::vector<std::size_t>;
  [[nodiscard]] bool waits(const group_of_nodes& group) const {
    return std::ranges::any_of(group, [this](std::size_t n) { return nodes_[n].waits; });
  }
  [[nodiscard]] bool is_waited_on(const group_of_nodes& group) const {
    return std::ranges::any_of(group, [this](std::size_t n) { return nodes_[n].waited_on; });
  }

  wait_root peer_root(const group_of_nodes& group) const {
    const pe_dump& pe = dumps_[nodes_[group[0]].dump];
    const bool one = group.size() == 1;
    wait_root root{root_kind::peer, {pe.pe}, {}, one ? step_of(pe, nodes_[group[0]].task) : present_step(pe)};
    std::set<std::size_t> to;
    for (const auto& links : out_) {
      for (const link& l : links) {
        if (l.edge != no_edge && std::ranges::binary_search(group, l.to)) to.insert(l.edge);
      }
    }
    for (const std::size_t e : to) root.waits.push_back(edges_[e]);
    return root;
  }

  /// A shortest cycle through the first task of the group, by breadth-first search.
  wait_root cycle_root(const group_of_nodes& group) const {
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
    wait_root root{root_kind::cycle, {}, {}, {}};
    std::size_t node = start;
    do {
      const auto [before, edge] = came.at(node);
      if (edge != no_edge) {
        root.waits.push_back(edges_[edge]);
        root.members.push_back(edges_[edge].waiter);
      }
      node = before;
    } while (node != start);
    std::ranges::reverse(root.waits);
    std::ranges::reverse(root.members);
    return root;
  }

  const stopped_machine& machine_;
  const std::vector<pe_dump>& dumps_;
  std::multimap<abi::address, const flight*> messages_, credits_;           ///< by ring
  std::map<abi::address, place> readers_;                                   ///< by rx_base
  std::map<abi::address, place> writers_;                                   ///< by peer_rx_base
  std::map<abi::address, std::vector<place>> tree_readers_, tree_writers_;  ///< by the tree's mailbox
  std::vector<wait_edge> edges_;
  std::vector<vertex> nodes_;
  std::vector<std::size_t> first_node_;  ///< by dump, and one past the last
  std::vector<std::vector<link>> out_;   ///< by node
};

}  // namespace

std::optional<word_finding> defect_of(const stopped_machine& machine, pe_coord pe) {
  const auto word = std::ranges::find(machine.words, pe, &watched_word::pe);
  if (word == machine.words.end()) return std::nullopt;
  // While packets and tasks still move, a word in memory will be read, and a missing one may arrive.
  const word_finding f = finding_of(*word);
  const bool done = machine.still ? f != word_finding::not_signaled : word->wanted.satisfied_by(word->memory);
  return done ? std::optional(f) : std::nullopt;
}

wait_for_report explain_waits(const machine_shape& shape, stopped_machine machine,
                              const comm::direction_namer& names) {
  std::ranges::sort(machine.pes, {}, &pe_dump::pe);
  const wait_graph graph(machine);
  wait_for_report report{graph.edges(), graph.roots(), {}, {}};
  write_waits(shape, machine, names, report);
  return report;
}

}  // namespace diecast::analysis
