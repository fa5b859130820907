// SPDX-License-Identifier: Apache-2.0
#include "models/fabric/collective_tree.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <tuple>

#include "models/types/enum_name.hpp"

namespace diecast::fabric {
namespace {

/// A router on a route and how the route passes it.
struct step {
  sip_id sip;
  cube_id cube;
  router_index router{};
  tree_port in, out;
  [[nodiscard]] auto place() const { return std::tuple{sip, cube, router}; }
};

tree_port at_side(unsigned s) { return {false, static_cast<std::uint16_t>(s)}; }
tree_port at_terminal(terminal_index t) { return {true, t}; }

std::vector<step> route(const topology& t, abi::node_address here, const abi::node_address& to) {
  std::vector<step> steps;
  for (;;) {
    const sip_id sip{here.sip};
    const cube_id cube{here.cube};
    const cube_layout& layout = t.layout(sip, cube);
    tree_port in = at_terminal(here.terminal);
    router_index router = layout.terminals.at(here.terminal).router;
    const terminal_index exit = t.exit(sip, cube, router, to);
    for (unsigned s = t.next_side(sip, cube, router, exit); s != sides;
         s = t.next_side(sip, cube, router, exit)) {
      steps.push_back({sip, cube, router, in, at_side(s)});
      in = at_side(static_cast<unsigned>(opposite(static_cast<side>(s))));
      router = t.next_router(router, static_cast<side>(s));
    }
    steps.push_back({sip, cube, router, in, at_terminal(exit)});
    if (!layout.terminals.at(exit).leads_on()) return steps;
    here.terminal = exit;
    here = t.far_end(here);
  }
}

/// The link that leaves the cube by a UCIe or SIP port.
std::uint32_t outer_link(const topology& t, sip_id sip, cube_id cube, terminal_index exit) {
  const terminal& at = t.layout(sip, cube).terminals.at(exit);
  return at.kind == terminal_kind::sip_port ? t.sip_link_id(at.index) : t.ucie_link(sip, cube, at.edge);
}

class tree_maker {
 public:
  tree_maker(const topology& t, const abi::node_address& root) : t_(t) {
    tree_.root = root;
    const router_index router =
        t.layout(sip_id{root.sip}, cube_id{root.cube}).terminals.at(root.terminal).router;
    node_at({sip_id{root.sip}, cube_id{root.cube}, router}).parent = at_terminal(root.terminal);
  }

  void add(const abi::node_address& member) {
    if (member == tree_.root) return;
    const std::vector<step> steps = route(t_, tree_.root, member);
    // Starts at the route's last router in the tree: a route that leaves and returns adds no second path.
    std::size_t first = steps.size();
    while (!nodes_.contains(steps[--first].place())) continue;
    for (std::size_t i = first; i < steps.size(); ++i) {
      tree_node& node = node_at(steps[i].place());
      if (i > first) node.parent = steps[i].in;
      const tree_port out = steps[i].out;
      if (std::ranges::find(node.children, out) == node.children.end()) node.children.push_back(out);
    }
  }

  collective_tree take() {
    for (auto& [at, node] : nodes_) {
      std::ranges::sort(node.children);
      tree_.nodes.push_back(std::move(node));
    }
    return std::move(tree_);
  }

 private:
  using place = std::tuple<sip_id, cube_id, router_index>;
  tree_node& node_at(const place& p) {
    return nodes_.try_emplace(p, tree_node{std::get<0>(p), std::get<1>(p), std::get<2>(p), {}, {}})
        .first->second;
  }

  const topology& t_;
  std::map<place, tree_node> nodes_;
  collective_tree tree_;
};

/// Finds the dependencies between the buffers that packets of a tree pass.
class dependency_finder {
 public:
  explicit dependency_finder(const topology& t) : t_(t) {}

  void add(const tree_node& n) {
    const std::optional<std::uint32_t> from_above = into(n, n.parent), to_above = out_of(n, n.parent);
    for (const tree_port& child : n.children) {
      const std::optional<std::uint32_t> down = out_of(n, child), up = into(n, child);
      wait(from_above, down, abi::tree_flow::down);
      for (const auto flow : {abi::tree_flow::up, abi::tree_flow::credits}) wait(up, to_above, flow);
      if (child.terminal && down) cross(n, child.number);
    }
  }
  std::vector<dependency> edges;

  [[nodiscard]] static std::uint32_t buffer(std::uint32_t link, abi::tree_flow f) {
    return link * abi::tree_flows + static_cast<std::uint32_t>(f);
  }

 private:
  void wait(const std::optional<std::uint32_t>& holds, const std::optional<std::uint32_t>& wants,
            abi::tree_flow f) {
    if (holds && wants) edges.push_back({buffer(*holds, f), buffer(*wants, f)});
  }
  [[nodiscard]] bool is_block(const tree_node& n, const tree_port& p) const {
    return p.terminal && !t_.layout(n.sip, n.cube).terminals.at(p.number).leads_on();
  }
  /// The link by which packets enter a router at a port; none for a block, for which no buffer waits.
  [[nodiscard]] std::optional<std::uint32_t> into(const tree_node& n, const tree_port& p) const {
    if (is_block(n, p)) return std::nullopt;
    if (p.terminal) return t_.inject_link(n.sip, n.cube, p.number);
    const auto s = static_cast<side>(p.number);
    return t_.mesh_link(n.sip, n.cube, t_.next_router(n.router, s), opposite(s));
  }
  /// The link by which packets leave a router at a port; none for a block, which always accepts packets.
  [[nodiscard]] std::optional<std::uint32_t> out_of(const tree_node& n, const tree_port& p) const {
    if (is_block(n, p)) return std::nullopt;
    if (p.terminal) return t_.eject_link(n.sip, n.cube, p.number);
    return t_.mesh_link(n.sip, n.cube, n.router, static_cast<side>(p.number));
  }
  /// Adds the dependencies over a link between dies or packages, in both directions.
  void cross(const tree_node& n, terminal_index exit) {
    const abi::node_address here{static_cast<std::uint16_t>(n.sip.value),
                                 static_cast<std::uint16_t>(n.cube.value), exit};
    const abi::node_address far = t_.far_end(here);
    one_way(here, far, {abi::tree_flow::down});
    one_way(far, here, {abi::tree_flow::up, abi::tree_flow::credits});
  }
  void one_way(const abi::node_address& from, const abi::node_address& to,
               std::initializer_list<abi::tree_flow> flows) {
    const std::uint32_t over = outer_link(t_, sip_id{from.sip}, cube_id{from.cube}, from.terminal);
    for (const abi::tree_flow f : flows) {
      wait(t_.eject_link(sip_id{from.sip}, cube_id{from.cube}, from.terminal), over, f);
      wait(over, t_.inject_link(sip_id{to.sip}, cube_id{to.cube}, to.terminal), f);
    }
  }

  const topology& t_;
};

const char* name_of(abi::tree_flow f) { return enum_name(f); }

}  // namespace

collective_tree make_tree(const topology& t, const abi::node_address& root,
                          std::span<const abi::node_address> members) {
  tree_maker maker(t, root);
  for (const abi::node_address& m : members) maker.add(m);
  return maker.take();
}

std::vector<dependency> tree_dependencies(const topology& t, const collective_tree& tree) {
  dependency_finder finder(t);
  for (const tree_node& n : tree.nodes) finder.add(n);
  return std::move(finder.edges);
}

std::vector<std::string> find_tree_cycle(const topology& t, std::span<const collective_tree> trees) {
  std::vector<dependency> edges;
  for (const collective_tree& tree : trees) {
    const auto more = tree_dependencies(t, tree);
    edges.insert(edges.end(), more.begin(), more.end());
  }
  std::ranges::sort(edges);
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  std::vector<std::string> names;
  for (const std::uint32_t n : find_cycle(edges, t.links().size() * abi::tree_flows)) {
    names.push_back(fmt::format("{} {}", t.links()[n / abi::tree_flows].name,
                                name_of(static_cast<abi::tree_flow>(n % abi::tree_flows))));
  }
  return names;
}

tree_path path_of(const topology& t, const abi::node_address& root, const abi::node_address& member) {
  tree_path path;
  for (const step& s : route(t, root, member)) {
    ++path.routers;
    if (!s.out.terminal) {
      ++path.mesh_links;
    } else if (t.layout(s.sip, s.cube).terminals[s.out.number].leads_on()) {
      path.outer_links.push_back(outer_link(t, s.sip, s.cube, s.out.number));
    }
  }
  return path;
}

}  // namespace diecast::fabric
