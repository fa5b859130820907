// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/base/neighbors.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "models/fabric/topology.hpp"
#include "models/timing/link.hpp"
#include "models/types/error.hpp"

namespace diecast::comm {
namespace {

/// A link of the machine, between cubes of the pod.
struct cube_link {
  std::uint32_t from{}, to{};
  double gbytes_s{};
  bool between_sips{};
};

/// Payload rate, 1e9 bytes/s, as the machine uses the link: messages staged through host memory go over a
/// path that the links of a SIP share, which is what each can have of it.
double sip_link_gbytes_s(const config::machine_config& c, const config::sip_link_block& link) {
  if (c.comm.path == config::transfer_path::staged) return c.host.staging_gbytes_s;
  return timing::sip_link_timing_of(c, link).gbytes_s;
}

std::vector<cube_link> cube_links_of(const config::machine_config& c, const fabric::topology& t) {
  const std::uint32_t cubes = t.shape().cubes_per_sip();
  std::vector<cube_link> found;
  for (const fabric::link& l : t.links()) {
    if (l.gbytes_s <= 0) continue;  // missing
    if (l.kind == fabric::link_kind::ucie) {
      const auto side = static_cast<fabric::side>(l.from);
      const auto beside = t.neighbor(cube_id{l.cube}, side);
      if (!beside) continue;
      found.push_back({l.sip * cubes + l.cube, l.sip * cubes + beside->value,
                       timing::ucie_payload_gbytes_s(t.ucie(sip_id{l.sip}, cube_id{l.cube}, side))});
    } else if (l.kind == fabric::link_kind::sip) {
      const fabric::sip_link& s = t.sip_links()[l.from];
      found.push_back({s.from.sip * cubes + s.from.cube, s.to.sip * cubes + s.to.cube,
                       sip_link_gbytes_s(c, t.sip_link_settings(l.from)), true});
    }
  }
  return found;
}

/// The rank that each cube of the pod belongs to. Throws user_error when a cube has two.
std::vector<std::uint32_t> ranks_of_cubes(const pattern_context& c, const std::vector<cube_link>& links) {
  std::vector<std::uint32_t> rank_of(c.shape.cubes(), nobody);
  const std::vector<pe_coord>& m = c.members.members;
  for (std::uint32_t r = 0; r < m.size(); ++r) {
    std::uint32_t& at = rank_of[m[r].sip.value * c.shape.cubes_per_sip() + m[r].cube.value];
    if (at != nobody) {
      throw user_error(
          problem{"ranks", "this algorithm relays from cube to cube and needs one rank in each",
                  fmt::format("ranks {} and {} in {}", at, r, cube_path(c.shape, m[r].sip, m[r].cube)),
                  "one rank per cube (--ranks cube) or per SIP (--ranks sip)"});
    }
    at = r;
  }
  // A cube without a rank belongs to that of the nearest cube of its SIP, else of another SIP.
  for (const bool over_sips : {false, true}) {
    for (bool spread = true; spread;) {
      spread = false;
      std::vector<std::uint32_t> next = rank_of;
      for (const cube_link& l : links) {
        if ((l.between_sips && !over_sips) || rank_of[l.from] == nobody || next[l.to] != nobody) continue;
        next[l.to] = rank_of[l.from];
        spread = true;
      }
      rank_of = std::move(next);
    }
  }
  return rank_of;
}

}  // namespace

neighbor_graph::neighbor_graph(const pattern_context& c) : leaving_(c.members.members.size()) {
  const fabric::topology t(c.config);
  const double interface = static_cast<double>(c.config.noc.flit_bytes) * c.config.noc.clock_ghz;
  const std::vector<cube_link> links = cube_links_of(c.config, t);
  const std::vector<std::uint32_t> rank_of = ranks_of_cubes(c, links);
  for (const cube_link& l : links) {
    const std::uint32_t a = rank_of[l.from], b = rank_of[l.to];
    if (a != nobody && b != nobody && a != b) join(a, b, std::min(l.gbytes_s, interface));
  }
}

/// Joins two ranks in both directions. A pair that is joined already keeps the faster link.
void neighbor_graph::join(std::uint32_t a, std::uint32_t b, double gbytes_s) {
  fastest_ = std::max(fastest_, gbytes_s);
  for (const std::uint32_t l : leaving_[a]) {
    if (links_[l].to != b) continue;
    links_[l].gbytes_s = std::max(links_[l].gbytes_s, gbytes_s);
    return;
  }
  for (const auto& [from, to] : {std::pair{a, b}, std::pair{b, a}}) {
    places_.push_back(static_cast<std::uint32_t>(leaving_[from].size()));
    leaving_[from].push_back(static_cast<std::uint32_t>(links_.size()));
    links_.push_back({from, to, gbytes_s});
  }
}

std::uint32_t neighbor_graph::share(std::uint32_t number, std::uint32_t messages) const {
  const double exact = messages * links_[number].gbytes_s / fastest_;
  return static_cast<std::uint32_t>(std::floor(exact + rate_rounding));
}

std::vector<edge> neighbor_edges(const pattern_context& c) {
  const neighbor_graph g(c);
  const std::vector<pe_coord>& m = c.members.members;
  std::vector<edge> edges;
  for (std::uint32_t l = 0; l < g.links().size(); ++l) {
    const neighbor_graph::link& link = g.links()[l];
    edges.push_back({m[link.from], static_cast<direction>(g.place_of(l)), m[link.to], true,
                     static_cast<std::int32_t>(g.place_of(l ^ 1U))});
  }
  return edges;
}

}  // namespace diecast::comm
