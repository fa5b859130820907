// SPDX-License-Identifier: Apache-2.0
#include "models/comm/mappers.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

#include "models/types/enum_name.hpp"

namespace diecast::comm {
namespace {

using config::layout;

group map_listed(const mapper_context& c) {
  std::vector<problem> problems;
  const std::string where = c.where + ".members";
  if (c.listed.empty())
    problems.push_back({where, "mapper custom needs a list of PEs", "", "for example [\"sip0.cube0.pe0\"]"});
  std::set<pe_coord> seen;
  const machine_shape& shape = c.machine.shape();
  for (const pe_coord& pe : c.listed) {
    if (shape.contains(pe) && !c.machine.has(pe)) {
      problems.push_back({where, "an override leaves this PE out", pe_key(pe), "PEs that the machine has"});
    } else if (!shape.contains(pe)) {
      problems.push_back({where, "no such PE in this machine", pe_key(pe),
                          fmt::format("sip 0..{}, cube 0..{}, pe 0..{}", shape.sips - 1,
                                      shape.cubes_per_sip() - 1, shape.pes_per_cube - 1)});
    } else if (!seen.insert(pe).second) {
      problems.push_back({where, "a PE is listed twice", pe_key(pe), "every PE once"});
    }
  }
  if (!problems.empty()) throw user_error(std::move(problems));
  return {rank_set::pe, c.listed};
}

mapper_entry by_set(const char* name, const char* description, rank_set set) {
  return {name, description, set, [set](const mapper_context& c) { return map_ranks(c.machine, set); }};
}

std::uint64_t parts(layout l, std::uint64_t units) { return l == layout::replicate ? 1 : units; }

struct span_of {
  std::uint64_t begin{}, count{};
};

span_of cut(span_of whole, std::uint64_t index, std::uint64_t parts) {
  const std::uint64_t begin = whole.count * index / parts;
  return {whole.begin + begin, whole.count * (index + 1) / parts - begin};
}

std::optional<problem> wrong_layout(const validator_context& c, const char* validator, std::uint64_t wanted) {
  const std::uint64_t shards = shards_per_sip(c.machine.shape(), c.layout);
  if (shards == wanted) return std::nullopt;
  return problem{c.where, fmt::format("the tensor layout does not fit ({})", validator),
                 fmt::format("{}: {} shard{} per SIP", to_string(c.layout), shards, shards == 1 ? "" : "s"),
                 fmt::format("{} (cube_layout, pe_layout)", wanted)};
}

std::map<sip_id, std::vector<pe_coord>> members_by_sip(const group& g) {
  std::map<sip_id, std::vector<pe_coord>> members;
  for (const pe_coord& m : g.members) members[m.sip].push_back(m);
  return members;
}

/// Whether the group has members and `fits` those of every SIP that has any.
template <class Fits>
bool on_each_sip(const group& g, Fits fits) {
  const auto by_sip = members_by_sip(g);
  return !by_sip.empty() && std::ranges::all_of(by_sip, [&](const auto& sip) { return fits(sip.second); });
}

std::optional<problem> check_single(const validator_context& c) {
  if (!on_each_sip(c.members, [](const auto& members) { return members.size() == 1; })) {
    return problem{c.where, "single_shard is for one PE per SIP",
                   fmt::format("{} members", c.members.members.size()), "mapper leader_only"};
  }
  return wrong_layout(c, "single_shard", 1);
}

std::optional<problem> check_multi_pe(const validator_context& c) {
  const machine_shape& shape = c.machine.shape();
  const std::uint64_t pes = std::uint64_t{shape.cubes_per_sip()} * shape.pes_per_cube;
  if (!on_each_sip(c.members, [pes](const auto& members) { return members.size() == pes; })) {
    return problem{c.where, "multi_pe_sip_local is for all PEs of each SIP",
                   fmt::format("{} members", c.members.members.size()),
                   c.machine.whole() ? "mapper all_pes" : "no override that leaves a PE out"};
  }
  return wrong_layout(c, "multi_pe_sip_local", pes);
}

std::optional<problem> check_cubes(const validator_context& c) {
  const auto one_per_cube = [&c](const std::vector<pe_coord>& members) {
    std::set<cube_id> cubes;
    for (const pe_coord& m : members) cubes.insert(m.cube);
    return cubes.size() == members.size() && cubes.size() == c.machine.shape().cubes_per_sip();
  };
  if (!on_each_sip(c.members, one_per_cube)) {
    return problem{
        c.where, "cube_shards is for one PE per cube", fmt::format("{} members", c.members.members.size()),
        c.machine.whole() ? "mapper cube_leaders" : "no override that leaves all PEs of a cube out"};
  }
  return wrong_layout(c, "cube_shards", c.machine.shape().cubes_per_sip());
}

}  // namespace

std::vector<mapper_entry> builtin_mappers() {
  return {by_set("all_pes", "every PE (--ranks pe)", rank_set::pe),
          by_set("cube_leaders", "the first PE of each cube (--ranks cube)", rank_set::cube),
          by_set("leader_only", "the first PE of each SIP (--ranks sip)", rank_set::sip),
          {"custom", "the PEs of ccl.algorithms.NAME.members, in that order", rank_set::pe, map_listed}};
}

const char* mapper_of(rank_set set) {
  switch (set) {
    case rank_set::cube: return "cube_leaders";
    case rank_set::sip: return "leader_only";
    case rank_set::pe: break;
  }
  return "all_pes";
}

const char* to_string(layout l) { return enum_name(l); }

std::string to_string(const tensor_layout& l) {
  return fmt::format("{} over cubes, {} over PEs", to_string(l.cube), to_string(l.pe));
}

tensor_layout layout_of(rank_set set) {
  switch (set) {
    case rank_set::cube: return {layout::column_wise, layout::replicate};
    case rank_set::sip: return {layout::replicate, layout::replicate};
    case rank_set::pe: break;
  }
  return {layout::column_wise, layout::column_wise};
}

std::uint64_t shards_per_sip(const machine_shape& shape, const tensor_layout& l) {
  return parts(l.cube, shape.cubes_per_sip()) * parts(l.pe, shape.pes_per_cube);
}

shard shard_of(const machine_shape& shape, const tensor_layout& l, pe_coord pe, std::uint64_t rows,
               std::uint64_t columns) {
  span_of r{0, rows};
  span_of c{0, columns};
  const auto level = [&](layout how, std::uint64_t index, std::uint64_t units) {
    if (how == layout::column_wise) c = cut(c, index, units);
    if (how == layout::row_wise) r = cut(r, index, units);
  };
  level(l.cube, pe.cube.value, shape.cubes_per_sip());
  level(l.pe, pe.pe.value, shape.pes_per_cube);
  return {r.begin, r.count, c.begin, c.count};
}

std::vector<validator_entry> builtin_validators() {
  return {{"single_shard", "one PE per SIP, which holds the SIP's whole tensor", check_single},
          {"multi_pe_sip_local", "every PE of a SIP holds a shard of its own", check_multi_pe},
          {"replicated", "every member holds the SIP's whole tensor",
           [](const validator_context& c) { return wrong_layout(c, "replicated", 1); }},
          {"cube_shards", "one PE per cube, which holds the cube's shard", check_cubes}};
}

const char* validator_of(rank_set set) {
  switch (set) {
    case rank_set::cube: return "cube_shards";
    case rank_set::sip: return "single_shard";
    case rank_set::pe: break;
  }
  return "multi_pe_sip_local";
}

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
                            pe_path(shape, holder),
                            "a layout whose shards are held by PEs that the machine has"});
      }
      groups.push_back(std::move(g));
    }
  }
  if (!problems.empty()) throw user_error(std::move(problems));
  return groups;
}

}  // namespace diecast::comm
