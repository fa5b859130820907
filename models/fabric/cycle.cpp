// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "models/fabric/topology.hpp"

namespace diecast::fabric {
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
        path.erase(path.begin(), std::find(path.begin(), path.end(), to));
        return path;
      }
      if (states[to] == state::fresh) path.push_back(to);
    }
  }
  return {};
}

}  // namespace diecast::fabric
