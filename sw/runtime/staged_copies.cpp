// SPDX-License-Identifier: Apache-2.0
#include "sw/runtime/staged_copies.hpp"

#include <algorithm>

namespace diecast::sw {
namespace {

void sort_by_port(std::vector<staged_copy>& copies, std::uint64_t first, std::uint64_t ports) {
  const auto turn = [&](const staged_copy& c) { return (c.port + ports - first) % ports; };
  std::stable_sort(copies.begin(), copies.end(),
                   [&](const staged_copy& a, const staged_copy& b) { return turn(a) < turn(b); });
}

}  // namespace

void keep_ports_apart(std::vector<staged_copy>& out, std::vector<staged_copy>& in, std::uint64_t ports) {
  if (out.empty() || in.empty()) return;
  sort_by_port(out, 0, ports);
  sort_by_port(in, ports / 2, ports);
}

}  // namespace diecast::sw
