// SPDX-License-Identifier: Apache-2.0
// --collective sharded_step: what a step of sharded data-parallel training sends. The weights are gathered,
// and the gradients summed to the shards.
#include "platforms/job/algorithms.hpp"
#include "platforms/job/stream_run.hpp"

namespace lab {
namespace {

using namespace diecast;

struct step_run final : platforms::stream_run {
  step_run(const platforms::machine_model& machine, const app::registries& tables,
           const platforms::run_point& what)
      : stream_run(machine, nullptr, what) {
    file.source = point.collective;
    file.groups.push_back({"all", "all", point.ranks.value_or(comm::rank_set::pe), {}});
    comm::workload_stream& step = file.streams.emplace_back();
    step.where = step.name = "step";
    step.on = "all";
    for (const char* kind : {"all_gather", "reduce_scatter"}) step.ops.push_back(op(kind));
    load_streams(tables);
    algorithm_reason = "the ops of a step";
    complete();
  }

  [[nodiscard]] comm::workload_op op(const std::string& kind) const {
    comm::workload_op o;
    o.where = o.id = o.kind = kind;
    o.fields = {{"algorithm", std::string("ring_1d")},
                {"bytes", point.bytes},
                {"dtype", std::string(numeric::to_string(point.type))},
                {"redop", std::string(numeric::to_string(point.op))}};
    return o;
  }
};

std::vector<platforms::run_point> points(const app::registries&, const platforms::job_request& request,
                                         const config::machine_config&) {
  platforms::refuse_isolate(request);
  platforms::refuse_teams(request);
  return request.points({"ring_1d"});
}

}  // namespace

platforms::job_entry sharded_step() {
  return {"sharded_step",
          {.one_algorithm = false},  // results have no bandwidth and no bound
          [](const std::string& collective, const std::string& workload) {
            return workload.empty() && collective == "sharded_step";
          },
          points,
          [](const platforms::machine_model& machine, const app::registries& tables,
             const platforms::run_point& point) -> std::unique_ptr<platforms::prepared_run> {
            return std::make_unique<step_run>(machine, tables, point);
          }};
}

}  // namespace lab
