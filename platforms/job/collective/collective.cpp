// SPDX-License-Identifier: Apache-2.0
#include "platforms/job/collective/collective.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <stdexcept>

#include "models/comm/collective.hpp"
#include "models/config/text.hpp"
#include "models/cost/lower_bound.hpp"
#include "models/types/error.hpp"
#include "platforms/job/algorithms.hpp"
#include "platforms/job/jobs.hpp"
#include "platforms/job/kernel_run.hpp"
#include "platforms/job/stream_run.hpp"
#include "platforms/run/simulate.hpp"

namespace diecast::platforms {
namespace {

std::uint32_t root_of(const machine_model& machine) {
  return static_cast<std::uint32_t>(machine.config.ccl.root_rank);
}

struct collective_run final : kernel_run {
  collective_run(const machine_model& given, std::unique_ptr<const machine_model> own,
                 const app::registries& tables, const run_point& what, const sw::kernel_entry& kernel,
                 comm::group ranks)
      : kernel_run(given, std::move(own), what) {
    algorithm_reason = point.algorithm_reason;
    members = std::move(ranks);
    launch_with(kernel, point.bytes / numeric::size_of(point.type));
    launched_->arguments.root = root_of(machine);
    wire(tables);
  }
};

/// A stream per shard with the one collective.
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

/// A collective shard by shard, all at once (sharded_layout).
struct sharded_run final : stream_run {
  sharded_run(const machine_model& given, std::unique_ptr<const machine_model> own,
              const app::registries& tables, const run_point& what, const sw::kernel_entry& kernel,
              const comm::tensor_layout& layout);
  void describe(run_outcome& o) const override;
  void add_bound_of_shards(run_outcome& outcome) const;

  std::vector<comm::shard_group> shards;
};

sharded_run::sharded_run(const machine_model& given, std::unique_ptr<const machine_model> own,
                         const app::registries& tables, const run_point& what, const sw::kernel_entry& kernel,
                         const comm::tensor_layout& layout)
    : stream_run(given, std::move(own), what) {
  algorithm_reason = point.algorithm_reason;
  if (machine.config.ccl.tensors == config::tensor_kind::hbm)
    throw user_error(problem{"ccl.tensor_kind", "collectives shard by shard have their tensors in TCM", "hbm",
                             "tcm, or an algorithm without cube_layout and pe_layout"});
  shards =
      comm::shard_groups(machine.topology.population(), layout, point.bytes / numeric::size_of(point.type));
  file = streams_of(shards, kernel, point, root_of(machine));
  load_streams(tables);
  notes.push_back(fmt::format("shard-wise over SIPs, {}: {} shards of each SIP's vector",
                              comm::to_string(layout), shards.size()));
  refuse_messages(machine.config, {"--algorithm", "collectives shard by shard are", point.algorithm});
  complete();
}

void sharded_run::describe(run_outcome& o) const {
  stream_run::describe(o);
  o.rank_set = comm::to_string(shards.front().members.set);
  o.ranks = shards.front().members.members.size();
  add_bound_of_shards(o);
}

/// The strongest bound: of each shard's group, and of all shards' bytes over the edges of a SIP.
void sharded_run::add_bound_of_shards(run_outcome& outcome) const {
  const comm::collective what = *comm::collective_named(point.collective);
  const auto root = static_cast<std::uint32_t>(machine.config.ccl.root_rank);
  const auto keep = [&outcome](const cost::bound_term& term, const std::string& of) {
    if (term.ns <= outcome.bound_ns) return;
    outcome.bound_ns = term.ns;
    outcome.bound_kind = term.kind;
    outcome.bound_detail = fmt::format("{} ({})", term.detail, of);
  };
  for (const comm::shard_group& s : shards) {
    const std::uint64_t bytes = s.elements * numeric::size_of(point.type);
    const cost::bound b = cost::lower_bound(machine.topology, machine.config, {what, s.members, bytes, root});
    if (!b.terms.empty()) keep(b.terms.front(), "shard of " + s.place);
  }
  // All shards together cross the edge of a SIP, independently of their holders.
  const cost::bound whole =
      cost::lower_bound(machine.topology, machine.config, {what, shards.front().members, point.bytes, root});
  for (const cost::bound_term& term : whole.terms)
    if (term.kind == "sip") keep(term, "all shards");
}

/// Every name must be known, also of an algorithm that a key of the config replaces.
void check_names(const std::vector<std::string>& given, const std::vector<std::string>& known,
                 const std::string& collective) {
  for (const std::string& name : given) {
    if (name == automatic_algorithm) continue;
    if (std::ranges::find(known, name) != known.end()) continue;
    throw user_error(problem{
        "--algorithm", config::with_nearest(fmt::format("no such {} algorithm", collective), name, known),
        name, config::join(known)});
  }
}

/// With comm.deterministic_reduction its algorithm replaces the named one, on the same ranks.
std::vector<run_point> deterministic_points(const app::registries& tables, const job_request& request) {
  std::string reason = "comm.deterministic_reduction";
  std::optional<comm::rank_set> ranks = request.point.ranks;
  if (!requests_all(request)) {
    check_names(request.algorithms, algorithms_of(tables, request.point.collective),
                request.point.collective);
    const std::string named = request.algorithms.empty() ? automatic_algorithm : request.algorithms.front();
    if (named != automatic_algorithm) {
      reason += " instead of " + named;
      if (!ranks) ranks = usual_ranks_of(tables, request.point.collective, named);
    }
  }
  std::vector<run_point> points = request.points({sw::deterministic_all_reduce});
  for (run_point& p : points) {
    p.algorithm_reason = reason;
    p.chosen_by = chooser::key;
    p.ranks = ranks;
  }
  return points;
}

std::vector<run_point> collective_points(const app::registries& tables, const job_request& request,
                                         const config::machine_config& config) {
  refuse_isolate(request);
  const std::vector<std::string> algorithms = requested_algorithms(tables, request);
  refuse_teams(request);
  std::vector<run_point> points =
      config.comm.deterministic_reduction &&
              request.point.collective == comm::to_string(comm::collective::all_reduce)
          ? deterministic_points(tables, request)
          : request.points(algorithms);
  for (run_point& p : points) p.if_possible = requests_all(request);
  return points;
}

}  // namespace

std::unique_ptr<prepared_run> prepare_named(const machine_model& given, const app::registries& tables,
                                            const run_point& point) {
  auto own = machine_for(given, point.algorithm);
  const config::machine_config& c = own ? own->config : given.config;
  const auto known = algorithms_of(tables, point.collective);
  const sw::kernel_entry* const kernel = kernel_of(tables, point);
  if (kernel == nullptr) {
    check_names({point.algorithm}, known, point.collective);
    throw std::logic_error(fmt::format("algorithm {} has no kernel", point.algorithm));
  }
  comm::group ranks = members_for(tables, c, *kernel, point);
  if (const auto layout = sharded_layout(c, point, *kernel, ranks.set))
    return std::make_unique<sharded_run>(given, std::move(own), tables, point, *kernel, *layout);
  return std::make_unique<collective_run>(given, std::move(own), tables, point, *kernel, std::move(ranks));
}

job_entry collective_job() {
  return {"collective",
          {},
          [](const std::string& /*collective*/, const std::string& workload) { return workload.empty(); },
          collective_points,
          [](const machine_model& machine, const app::registries& tables, const run_point& point) {
            const bool chosen = point.algorithm == automatic_algorithm;
            return chosen ? prepare_chosen(machine, tables, point) : prepare_named(machine, tables, point);
          }};
}

}  // namespace diecast::platforms
