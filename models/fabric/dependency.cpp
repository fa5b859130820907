// SPDX-License-Identifier: Apache-2.0
// Proof that the fabric cannot block itself: the graph of "a packet in this buffer waits for that
// buffer" over (link, leg, dateline set) has no cycle, and neither has the one over message classes.
//
// Ports (noc.vcs) are left out: those of one (link, leg, dateline set) are one pool that packets of the
// same routes take from, so the graph over the pools is free of cycles exactly when that over VCs is.
// Every class has VCs of its own and all classes take the same routes, so the graph over (link, VC)
// is one copy of the graph over (link, leg) per class, joined only where a class waits on another at
// a terminal. The whole is free of cycles exactly when the two parts are.
#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <tuple>

#include "models/fabric/router_grid.hpp"
#include "models/fabric/topology.hpp"

namespace diecast::fabric {

namespace {

/// A crossing of a cube by packets, recorded once however many routes share it.
struct crossing {
  std::uint16_t cube{};
  std::uint16_t way_in{};  ///< terminal; of injected packets any block's on the router they start from
  terminal_index exit{};   ///< leading on; otherwise the packet may be bound for any block of the cube
  entry how{};
  leg at{};
  leg before{};  ///< on the link it arrived by
  bool operator==(const crossing&) const = default;
  /// The members in their order; a leg has six bits at most.
  friend std::uint64_t key_of(const crossing& c) {
    return std::uint64_t{c.cube} << 48 | std::uint64_t{c.way_in} << 32 | std::uint64_t{c.exit} << 16 |
           static_cast<std::uint64_t>(c.how) << 12 | static_cast<std::uint64_t>(c.at) << 6 | c.before;
  }
};

std::uint64_t key_of(const dependency& d) { return std::uint64_t{d.holds} << 32 | d.wants; }

/// One terminal for every router that has a block on it.
std::vector<terminal_index> blocks_of(const cube_layout& l) {
  std::vector<terminal_index> found;
  std::vector<bool> seen(l.routers());
  for (terminal_index i = 0; i < l.terminals.size(); ++i) {
    const terminal& t = l.terminals[i];
    if (t.leads_on() || seen[t.router]) continue;
    seen[t.router] = true;
    found.push_back(i);
  }
  return found;
}

/// Distinct values, kept small while they are collected: most that come again were among the last.
template <class T>
class distinct_set {
 public:
  void add(const T& value) {
    const std::uint64_t key = key_of(value);
    constexpr std::uint64_t golden = 0x9e3779b97f4a7c15;  // Fibonacci hashing: 2^64 over the golden ratio
    std::uint64_t& recent = recent_[key * golden >> (64 - recent_bits)];
    if (recent == ~key) return;
    recent = ~key;
    all_.push_back(value);
    if (all_.size() < 2 * distinct_ + 4096) return;
    compact();
    distinct_ = all_.size();
  }
  std::vector<T>& sorted() {
    compact();
    return all_;
  }

 private:
  void compact() {
    std::ranges::sort(all_, {}, [](const T& value) { return key_of(value); });
    all_.erase(std::unique(all_.begin(), all_.end()), all_.end());
  }
  static constexpr unsigned recent_bits = 12;
  /// Complements of the keys added last, by hash; 0: none.
  std::vector<std::uint64_t> recent_ = std::vector<std::uint64_t>(std::size_t{1} << recent_bits);
  std::vector<T> all_;
  std::size_t distinct_{};
};

/// Routes to an exit that were followed before: from a router onwards, entered by a side, they are the same
/// for all packets.
class followed {
 public:
  /// `oneway`: the rest of a route depends on the links that it has crossed.
  void reset(std::size_t routers, std::size_t exits, bool oneway) {
    routers_ = routers;
    states_ = oneway ? 2 : 1;
    seen_.assign(routers * exits * (sides + 1) * states_, false);
  }
  /// Records a router of a route; false when it is known. `by`: side of entry, `sides` at the start.
  bool first_time(std::size_t exit, router_index router, unsigned by, bool crossed) {
    const std::size_t i = ((exit * routers_ + router) * (sides + 1) + by) * states_ + (crossed ? 1 : 0);
    if (seen_[i]) return false;
    seen_[i] = true;
    return true;
  }

 private:
  std::size_t routers_{}, states_{1};
  std::vector<bool> seen_;
};

/// Walks every route of the pod cube by cube. Within a SIP a route depends only on the cube it is
/// bound for there, or on the port it leaves by and its leg; each such part is walked once.
class route_walker {
 public:
  explicit route_walker(const topology& t)
      : t_(t), shape_(t.shape()), crossings_(shape_.sips), departed_with_(t.sip_links().size()) {}

  std::vector<dependency> dependencies() && {
    for (std::uint32_t sip = 0; sip < shape_.sips; ++sip) walk_from_sources(sip);
    walk_between_sips();
    for (std::uint32_t sip = 0; sip < shape_.sips; ++sip) expand(sip);
    return std::move(edges_.sorted());
  }

 private:
  struct departure {
    std::uint32_t link{};  ///< SIP link
    std::uint32_t to{};    ///< SIP the packet is bound for
    leg before{};
  };

  [[nodiscard]] const cube_layout& layout(std::uint32_t sip, std::uint32_t cube) const {
    return t_.layout(sip_id{sip}, cube_id{cube});
  }
  [[nodiscard]] std::uint32_t node(std::uint32_t link, leg l, unsigned set = 0) const {
    return dependency_node(t_, link, l, set);
  }
  /// PE 0 of a cube; expand() adds the other destinations within the last cube.
  static abi::node_address some_block(std::uint32_t sip, std::uint32_t cube) {
    return {static_cast<std::uint16_t>(sip), static_cast<std::uint16_t>(cube), 0};
  }

  /// Records the crossings of a packet up to its last cube in this SIP; returns its leg there.
  leg walk(abi::node_address here, entry how, leg before, const abi::node_address& bound) {
    for (;;) {
      const sip_id sip{here.sip};
      const cube_id cube{here.cube};
      const cube_layout& l = t_.layout(sip, cube);
      const cube_step step = t_.enter(sip, cube, l.terminals[here.terminal].router, how, before, bound);
      crossings_[here.sip].add({here.cube, here.terminal, step.exit, how, step.next, before});
      if (l.terminals[step.exit].kind != terminal_kind::ucie_port) return step.next;
      here = t_.far_end({here.sip, here.cube, step.exit});
      how = entry::from_cube;
      before = step.next;
    }
  }

  void walk_to_cubes(const abi::node_address& from, entry how, leg before) {
    for (std::uint32_t cube = 0; cube < shape_.cubes_per_sip(); ++cube)
      walk(from, how, before, some_block(from.sip, cube));
  }

  void walk_from_sources(std::uint32_t sip) {
    // One destination for each port of this SIP represents all that leave by it.
    std::vector<std::pair<std::uint32_t, std::uint32_t>> ports;
    for (std::uint32_t to = 0; to < shape_.sips; ++to)
      if (to != sip) ports.emplace_back(t_.sip_route(sip_id{sip}, sip_id{to}), to);
    std::ranges::sort(ports);
    const auto same_port = [](const auto& a, const auto& b) { return a.first == b.first; };
    ports.erase(std::unique(ports.begin(), ports.end(), same_port), ports.end());
    for (std::uint32_t cube = 0; cube < shape_.cubes_per_sip(); ++cube) {
      abi::node_address from = some_block(sip, cube);
      for (const terminal_index source : blocks_of(layout(sip, cube))) {
        from.terminal = source;
        walk_to_cubes(from, entry::injected, 0);
        for (const auto& [link, to] : ports)
          departed_with_[link] |= 1ULL << walk(from, entry::injected, 0, some_block(to, 0));
      }
    }
  }

  void walk_between_sips() {
    std::vector<departure> open;
    std::vector<bool> seen(t_.sip_links().size() * shape_.sips * t_.legs());
    const auto depart = [&](const departure& d) {
      const std::size_t key = (std::size_t{d.link} * shape_.sips + d.to) * t_.legs() + d.before;
      if (!seen[key]) open.push_back(d);
      seen[key] = true;
    };
    for (std::uint32_t from = 0; from < shape_.sips; ++from) {
      for (std::uint32_t to = 0; to < shape_.sips; ++to) {
        if (from == to) continue;
        const std::uint32_t link = t_.sip_route(sip_id{from}, sip_id{to});
        for (unsigned l = 0; l < t_.legs(); ++l)
          if ((departed_with_[link] >> l & 1) != 0) depart({link, to, static_cast<leg>(l)});
      }
    }
    while (!open.empty()) {
      const departure d = open.back();
      open.pop_back();
      const abi::node_address& here = t_.sip_links()[d.link].to;
      if (here.sip == d.to) {
        walk_to_cubes(here, entry::from_sip, d.before);
      } else {
        const leg last = walk(here, entry::from_sip, d.before, some_block(d.to, 0));
        depart({t_.sip_route(sip_id{here.sip}, sip_id{d.to}), d.to, last});
      }
    }
  }

  void expand(std::uint32_t sip) {
    // Crossings that differ only in their incoming link are adjacent: the path inside is the same.
    const crossing* last = nullptr;
    for (const crossing& c : crossings_[sip].sorted()) {
      if (c.how != entry::injected) {
        edges_.add({node(link_into(sip, c), c.before),
                    node(t_.inject_link(sip_id{sip}, cube_id{c.cube}, c.way_in), c.at)});
      }
      crossing path = c;
      if (last != nullptr) path.before = last->before;
      if (last == nullptr || path != *last) expand_paths(sip, c);
      last = &c;
    }
  }

  [[nodiscard]] std::uint32_t link_into(std::uint32_t sip, const crossing& c) const {
    const terminal& t = layout(sip, c.cube).terminals[c.way_in];
    if (t.kind == terminal_kind::sip_port) return t_.sip_link_id(t.index ^ 1U);
    return t_.ucie_link(sip_id{sip}, *t_.neighbor(cube_id{c.cube}, t.edge), opposite(t.edge));
  }

  void expand_paths(std::uint32_t sip, const crossing& c) {
    const cube_layout& l = layout(sip, c.cube);
    if (l.terminals[c.exit].leads_on()) {
      expand_path(sip, c, c.exit, nullptr, 0);
      return;
    }
    const std::vector<terminal_index> blocks = blocks_of(l);
    const auto place = std::tuple{sip, c.cube, c.at};
    if (!followed_in_ || *followed_in_ != place) {
      // Sorted crossings return to a cube's leg only with another entry: the search then starts again.
      followed_.reset(l.routers(), blocks.size(), t_.grid().is_oneway());
      followed_in_ = place;
    }
    for (std::size_t b = 0; b < blocks.size(); ++b) expand_path(sip, c, blocks[b], &followed_, b);
  }

  /// `before`, when given, ends the path where another one to the same exit has been.
  void expand_path(std::uint32_t sip_number, const crossing& c, terminal_index exit, followed* before,
                   std::size_t exit_number) {
    const sip_id sip{sip_number};
    const cube_id cube{c.cube};
    const cube_layout& l = t_.layout(sip, cube);
    bool holds = c.how != entry::injected;
    std::uint32_t held = holds ? node(t_.inject_link(sip, cube, c.way_in), c.at) : 0;
    const auto wait_for = [&](std::uint32_t wanted) {
      if (holds) edges_.add({held, wanted});
      held = wanted;
      holds = true;
    };
    std::uint8_t vc = t_.vc(t_.class_of(0), c.at);
    router_index router = l.terminals[c.way_in].router;
    for (hop h = t_.next_hop(sip, cube, router, exit, vc); h.side != sides;
         h = t_.next_hop(sip, cube, router, exit, vc)) {
      const auto s = static_cast<side>(h.side);
      wait_for(node(t_.mesh_link(sip, cube, router, s), c.at, t_.dateline_set_of(h.vcs.first)));
      router = t_.next_router(router, s);
      vc = h.vcs.first;
      const bool crossed = t_.grid().is_oneway() && t_.dateline_set_of(vc) % 2 != 0;
      if (before != nullptr && !before->first_time(exit_number, router, h.side, crossed)) return;
    }
    const terminal& t = l.terminals[exit];
    if (!t.leads_on()) return;
    wait_for(node(t_.eject_link(sip, cube, exit), c.at));
    wait_for(node(
        t.kind == terminal_kind::sip_port ? t_.sip_link_id(t.index) : t_.ucie_link(sip, cube, t.edge), c.at));
  }

  const topology& t_;
  machine_shape shape_;
  std::vector<distinct_set<crossing>> crossings_;  ///< per SIP
  std::vector<std::uint64_t> departed_with_;       ///< per SIP link: legs of packets from its own SIP
  distinct_set<dependency> edges_;
  followed followed_;
  std::optional<std::tuple<std::uint32_t, std::uint16_t, leg>> followed_in_;  ///< SIP, cube, leg
};

/// What a class may wait for before it is consumed at its destination. Response and sideband always
/// sink; message is bounded by per-peer eager credits, so its receiver has room for all of it; comm
/// sinks into rings in TCM, while rings elsewhere are written by requests.
std::vector<dependency> class_waits(config::buffer_kind rings) {
  const auto wait = [](abi::traffic_class holds, abi::traffic_class wants) {
    return dependency{static_cast<std::uint32_t>(holds), static_cast<std::uint32_t>(wants)};
  };
  std::vector<dependency> waits{wait(abi::traffic_class::request, abi::traffic_class::response)};
  if (rings != config::buffer_kind::tcm)
    waits.push_back(wait(abi::traffic_class::comm, abi::traffic_class::request));
  return waits;
}

}  // namespace

std::uint32_t dependency_node(const topology& t, std::uint32_t link, leg l, unsigned set) {
  return (link * t.legs() + l) * t.dateline_sets() + set;
}

std::vector<dependency> route_dependencies(const topology& t) { return route_walker(t).dependencies(); }

std::vector<std::string> find_dependency_cycle(const topology& t) {
  std::vector<std::string> names;
  if (t.classes() > 1) {
    for (const std::uint32_t c : find_cycle(class_waits(t.ring_buffers()), abi::traffic_classes))
      names.push_back(fmt::format("class {}", to_string(static_cast<abi::traffic_class>(c))));
  }
  if (!names.empty()) return names;
  const std::size_t nodes = t.links().size() * t.legs() * t.dateline_sets();
  for (const std::uint32_t n : find_cycle(route_dependencies(t), nodes)) {
    const std::uint32_t buffer = n / t.dateline_sets();
    std::string name = fmt::format("{} leg {}", t.links()[buffer / t.legs()].name, buffer % t.legs());
    if (t.dateline_sets() > 1) name += fmt::format(" set {}", n % t.dateline_sets());
    names.push_back(std::move(name));
  }
  return names;
}

namespace {

struct successors {
  std::vector<std::uint32_t> first;  ///< per node, and one past the last
  std::vector<std::uint32_t> nodes;
};

successors successors_of(const std::vector<dependency>& edges, std::size_t nodes) {
  successors s{std::vector<std::uint32_t>(nodes + 1), std::vector<std::uint32_t>(edges.size())};
  for (const dependency& e : edges) ++s.first[e.holds + 1];
  for (std::size_t n = 0; n < nodes; ++n) s.first[n + 1] += s.first[n];
  std::vector<std::uint32_t> next(s.first.begin(), s.first.end() - 1);
  for (const dependency& e : edges) s.nodes[next[e.holds]++] = e.wants;
  return s;
}

}  // namespace

std::vector<std::uint32_t> find_cycle(const std::vector<dependency>& edges, std::size_t nodes) {
  enum class state : std::uint8_t { fresh, open, done };
  const successors s = successors_of(edges, nodes);
  std::vector<std::uint32_t> next(s.first.begin(), s.first.end() - 1);
  std::vector<state> states(nodes, state::fresh);
  std::vector<std::uint32_t> path;
  for (std::uint32_t start = 0; start < nodes; ++start) {
    if (states[start] == state::fresh) path.push_back(start);
    while (!path.empty()) {
      const std::uint32_t at = path.back();
      states[at] = state::open;
      if (next[at] == s.first[at + 1]) {
        states[at] = state::done;
        path.pop_back();
        continue;
      }
      const std::uint32_t to = s.nodes[next[at]++];
      if (states[to] == state::open) {
        path.erase(path.begin(), std::ranges::find(path, to));
        return path;
      }
      if (states[to] == state::fresh) path.push_back(to);
    }
  }
  return {};
}

}  // namespace diecast::fabric
