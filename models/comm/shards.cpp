// SPDX-License-Identifier: Apache-2.0
#include "models/comm/shards.hpp"

#include <fmt/format.h>

#include "models/types/error.hpp"

namespace diecast::comm {
namespace {

config::layout of_a_vector(config::layout l) {
  return l == config::layout::replicate ? l : config::layout::column_wise;
}

}  // namespace

std::vector<shard_group> shard_groups(const config::population& machine, const tensor_layout& layout,
                                      std::uint64_t count) {
  const machine_shape& shape = machine.shape();
  std::vector<problem> problems;
  const tensor_layout flat{of_a_vector(layout.cube), of_a_vector(layout.pe)};
  const std::uint32_t cubes = flat.cube == config::layout::replicate ? 1 : shape.cubes_per_sip();
  const std::uint32_t pes = flat.pe == config::layout::replicate ? 1 : shape.pes_per_cube;
  std::vector<shard_group> groups;
  for (std::uint32_t cube = 0; cube < cubes; ++cube) {
    for (std::uint32_t pe = 0; pe < pes; ++pe) {
      const shard s = shard_of(shape, flat, {sip_id{0}, cube_id{cube}, pe_id{pe}}, 1, count);
      shard_group g{fmt::format("cube{}.pe{}", cube, pe), {rank_set::sip, {}}, s.column_begin, s.columns};
      for (std::uint32_t sip = 0; sip < shape.sips; ++sip) {
        const pe_coord holder{sip_id{sip}, cube_id{cube}, pe_id{pe}};
        g.members.members.push_back(holder);
        if (machine.has(holder)) continue;
        problems.push_back({"overrides", "a shard of every SIP's vector has no holder in one of them",
                            pe_path(shape, holder), "a layout whose shards are held by PEs that are there"});
      }
      groups.push_back(std::move(g));
    }
  }
  if (!problems.empty()) throw user_error(std::move(problems));
  return groups;
}

}  // namespace diecast::comm
