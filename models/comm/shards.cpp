// SPDX-License-Identifier: Apache-2.0
#include "models/comm/shards.hpp"

#include <fmt/format.h>

namespace diecast::comm {
namespace {

config::layout of_a_vector(config::layout l) {
  return l == config::layout::replicate ? l : config::layout::column_wise;
}

}  // namespace

std::vector<shard_group> shard_groups(const machine_shape& shape, const tensor_layout& layout,
                                      std::uint64_t count) {
  const tensor_layout flat{of_a_vector(layout.cube), of_a_vector(layout.pe)};
  const std::uint32_t cubes = flat.cube == config::layout::replicate ? 1 : shape.cubes_per_sip();
  const std::uint32_t pes = flat.pe == config::layout::replicate ? 1 : shape.pes_per_cube;
  std::vector<shard_group> groups;
  for (std::uint32_t cube = 0; cube < cubes; ++cube) {
    for (std::uint32_t pe = 0; pe < pes; ++pe) {
      const shard s = shard_of(shape, flat, {sip_id{0}, cube_id{cube}, pe_id{pe}}, 1, count);
      shard_group g{fmt::format("cube{}.pe{}", cube, pe), {rank_set::sip, {}}, s.column_begin, s.columns};
      for (std::uint32_t sip = 0; sip < shape.sips; ++sip)
        g.members.members.push_back({sip_id{sip}, cube_id{cube}, pe_id{pe}});
      groups.push_back(std::move(g));
    }
  }
  return groups;
}

}  // namespace diecast::comm
