// SPDX-License-Identifier: Apache-2.0
#include "support/random_network.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "models/random/stream.hpp"

namespace diecast::test {
namespace {

constexpr std::uint32_t longest_packet = 33;

class drawing {
 public:
  explicit drawing(std::uint64_t seed) : draw_({seed, "random_network", "shape"}) {}
  std::uint32_t between(std::uint32_t least, std::uint32_t most) {
    return least + static_cast<std::uint32_t>(draw_.below(most - least + 1));
  }
  bool one_in(std::uint32_t n) { return draw_.below(n) == 0; }

 private:
  random::sequence draw_;
};

/// 2 to 16 VCs in all, shared out evenly over classes and sets.
void draw_vcs(network_description& n, drawing& draw) {
  n.classes = draw.one_in(3) ? 1 : draw.between(2, 5);
  const std::uint32_t sets = n.classes * n.sets();
  n.vcs = draw.between(sets == 1 ? 2 : 1, 16 / sets);
  n.dynamic = draw.one_in(2);
}

/// One of the two kinds of router: five cycles in sequence, or a pipeline of nine.
void draw_stages(network_description& n, drawing& draw) {
  n.pipelined = draw.one_in(2);
  n.front = n.pipelined ? 8 : 2;
  n.vc_alloc = 1;
  n.back = n.pipelined ? 1 : 3;
  n.credit = draw.between(1, 3);
}

/// Short packets of one class beside long ones of the others, or one or two lengths in every class.
void draw_packets(random_network& r, drawing& draw) {
  const bool credits_beside_long = r.network.classes > 1 && draw.one_in(2);
  r.traffic.kinds.clear();
  for (std::uint32_t c = 0; c < r.network.classes; ++c) {
    if (credits_beside_long && c == 0) {
      r.traffic.kinds.push_back({c, 1, draw.between(1, 3)});
      continue;
    }
    const std::uint32_t longest = draw.one_in(4) ? draw.between(1, 4) : draw.between(5, longest_packet);
    r.traffic.kinds.push_back({c, longest, 1});
    if (!credits_beside_long && draw.one_in(2)) r.traffic.kinds.push_back({c, draw.between(1, longest), 1});
  }
}

void draw_buffers(random_network& r, drawing& draw) {
  network_description& n = r.network;
  n.whole_packets = draw.one_in(2);
  n.hold = n.whole_packets;
  n.buffer.clear();
  for (std::uint32_t c = 0; c < n.classes; ++c) {
    std::uint32_t longest = 1;
    for (const auto& k : r.traffic.kinds) {
      if (k.traffic_class == c) longest = std::max(longest, k.flits);
    }
    const std::uint32_t loop = n.hop_cycles() + n.credit;
    n.buffer.push_back(n.whole_packets ? longest + draw.between(0, loop) : draw.between(loop / 2, 2 * loop));
  }
}

}  // namespace

random_network random_network_of(std::uint64_t seed) {
  drawing draw(seed);
  random_network r;
  network_description& n = r.network;
  n.columns = draw.between(2, 5);
  n.rows = draw.between(2, 5);
  n.torus = draw.one_in(3);
  draw_vcs(n, draw);
  draw_stages(n, draw);
  draw_packets(r, draw);
  draw_buffers(r, draw);
  using pattern = traffic_plan::pattern;
  const std::uint32_t where = draw.between(0, 3);
  r.traffic.where = where < 2                           ? pattern::uniform
                    : where == 2 || n.columns != n.rows ? pattern::neighbor
                                                        : pattern::transpose;
  r.traffic.seed = seed;
  r.load = draw.between(10, 90) / 100.0;
  return r;
}

std::string random_network::text() const {
  const char* const names[] = {"uniform", "transpose", "neighbor"};
  std::string s = network.text() + ", " + names[static_cast<int>(traffic.where)] + " of";
  for (const auto& k : traffic.kinds) s += fmt::format(" {}:{}x{}", k.traffic_class, k.flits, k.share);
  return s;
}

}  // namespace diecast::test
