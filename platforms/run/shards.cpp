// SPDX-License-Identifier: Apache-2.0
#include "platforms/run/shards.hpp"

#include <fmt/format.h>

#include "models/comm/collective.hpp"
#include "models/cost/lower_bound.hpp"
#include "models/types/error.hpp"
#include "platforms/run/prepare.hpp"

namespace diecast::platforms {
namespace {

void refuse_what_streams_cannot(const config::algorithm_settings& s, const run_point& point) {
  std::vector<problem> problems;
  const auto refuse = [&problems](const char* where, std::string value, const char* expected) {
    problems.push_back({where, "does not apply to a shard-wise run (--ranks sip with a sharded layout)",
                        std::move(value), expected});
  };
  if (point.iters != 1) refuse("--iters", std::to_string(point.iters), "1");
  if (point.warmup != 0) refuse("--warmup", std::to_string(point.warmup), "0");
  if (point.pattern_data != "exact") refuse("--data", point.pattern_data, "exact");
  if (s.pattern) refuse("ccl.algorithms: pattern", *s.pattern, "the algorithm's own");
  if (!problems.empty()) throw user_error(std::move(problems));
}

}  // namespace

std::optional<comm::tensor_layout> sharded_layout(const config::machine_config& config,
                                                  const run_point& point, const sw::kernel_entry& kernel,
                                                  comm::rank_set set) {
  const config::algorithm_settings s = settings_of(config, point.algorithm);
  const bool given = s.cube_layout || s.pe_layout;
  const bool every_pe = kernel.pattern == "hierarchical_3level";
  const bool demanded = every_pe && s.validator == "multi_pe_sip_local";
  if (set != comm::rank_set::sip || (s.validator && !demanded) || (!given && !every_pe)) return std::nullopt;
  const comm::tensor_layout own = given ? comm::layout_of(set) : comm::tensor_layout{};
  const comm::tensor_layout layout{s.cube_layout.value_or(own.cube), s.pe_layout.value_or(own.pe)};
  const machine_shape shape = config.shape();
  const std::uint64_t shards = comm::shards_per_sip(shape, layout);
  if (shards == 1 || (demanded && shards != shape.cubes_per_sip() * shape.pes_per_cube)) return std::nullopt;
  refuse_what_streams_cannot(s, point);
  return layout;
}

comm::workload streams_of(const std::vector<comm::shard_group>& shards, const sw::kernel_entry& kernel,
                          const run_point& point, std::uint64_t root) {
  const comm::collective what = *comm::collective_named(kernel.collective);
  comm::workload w;
  w.source = "the shards";
  for (const comm::shard_group& shard : shards) {
    comm::workload_op op;
    op.where = fmt::format("{} of {}", kernel.collective, shard.place);
    op.id = shard.place;
    op.kind = kernel.collective;
    op.fields = {{"algorithm", kernel.name},
                 {"bytes", shard.elements * numeric::size_of(point.type)},
                 {"dtype", std::string(numeric::to_string(point.type))}};
    if (comm::reduces(what)) op.fields["redop"] = std::string(numeric::to_string(point.op));
    if (comm::has_root(what)) op.fields["root"] = root;
    comm::workload_stream stream;
    stream.where = stream.name = stream.on = shard.place;
    stream.ops.push_back(std::move(op));
    comm::workload_group group{shard.place, shard.place, shard.members.set, {}, shard.members.members};
    w.groups.push_back(std::move(group));
    w.streams.push_back(std::move(stream));
  }
  return w;
}

void add_bound_of_shards(const prepared_run& run, run_outcome& outcome) {
  const comm::collective what = *comm::collective_named(run.point.collective);
  const auto& m = run.machine;
  const auto root = static_cast<std::uint32_t>(m.config.ccl.root_rank);
  const auto keep = [&outcome](const cost::bound_term& term, const std::string& of) {
    if (term.ns <= outcome.bound_ns) return;
    outcome.bound_ns = term.ns;
    outcome.bound_kind = term.kind;
    outcome.bound_detail = fmt::format("{} ({})", term.detail, of);
  };
  for (const comm::shard_group& s : run.shards) {
    const std::uint64_t bytes = s.elements * numeric::size_of(run.point.type);
    const cost::bound b = cost::lower_bound(m.topology, m.config, {what, s.members, bytes, root});
    if (!b.terms.empty()) keep(b.terms.front(), "shard of " + s.place);
  }
  // Whoever holds them, all shards together cross the edge of a SIP.
  const cost::bound whole =
      cost::lower_bound(m.topology, m.config, {what, run.shards.front().members, run.point.bytes, root});
  for (const cost::bound_term& term : whole.terms)
    if (term.kind == "sip") keep(term, "all shards");
}

}  // namespace diecast::platforms
