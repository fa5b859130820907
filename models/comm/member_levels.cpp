// SPDX-License-Identifier: Apache-2.0
#include "models/comm/member_levels.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace diecast::comm {

member_levels::member_levels(const machine_shape& shape, const group& members) {
  const std::vector<cube_id> ring = cube_ring(shape);
  std::vector<std::uint32_t> on_ring(ring.size());
  for (std::uint32_t i = 0; i < ring.size(); ++i) on_ring[ring[i].value] = i;
  std::vector<std::uint32_t> ranks(members.members.size());
  std::iota(ranks.begin(), ranks.end(), 0U);
  const auto key = [&](std::uint32_t rank) {
    const pe_coord& m = members.members[rank];
    return std::tuple{m.sip, on_ring[m.cube.value], m.pe};
  };
  std::sort(ranks.begin(), ranks.end(), [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });

  places.resize(ranks.size());
  for (const std::uint32_t rank : ranks) {
    const pe_coord& m = members.members[rank];
    if (sips.empty() || sips.back().id != m.sip) sips.push_back({m.sip, {}});
    auto& cubes = sips.back().cubes;
    if (cubes.empty() || cubes.back().id != m.cube) cubes.push_back({m.cube, {}});
    cubes.back().pes.push_back(m);
    places[rank] = {static_cast<std::uint32_t>(cubes.back().pes.size() - 1),
                    0,
                    static_cast<std::uint32_t>(cubes.size() - 1),
                    0,
                    static_cast<std::uint32_t>(sips.size() - 1),
                    0};
  }
  for (place& p : places) {
    const sip& s = sips[p.sip];
    p.pes = static_cast<std::uint32_t>(s.cubes[p.cube].pes.size());
    p.cubes = static_cast<std::uint32_t>(s.cubes.size());
    p.sips = static_cast<std::uint32_t>(sips.size());
    most_pes = std::max(most_pes, p.pes);
    most_cubes = std::max(most_cubes, p.cubes);
  }
}

std::uint32_t member_levels::hops() const {
  return most_pes / 2 + most_cubes / 2 + static_cast<std::uint32_t>(sips.size()) / 2;
}

}  // namespace diecast::comm
