// SPDX-License-Identifier: Apache-2.0
#include "platforms/run/job_document.hpp"

#include <nlohmann/json.hpp>

#include "platforms/io/config_json.hpp"
#include "platforms/io/input.hpp"

namespace diecast::platforms {
namespace {

using json = nlohmann::json;
constexpr const char* config_name = "effective config of the job";

json point_json(const run_point& p) {
  json j{{"collective", p.collective},
         {"algorithm", p.workload.empty() ? p.algorithm : ""},  // preparation names it after the file
         {"algorithm_reason", p.algorithm_reason},
         {"type", p.type},
         {"op", p.op},
         {"bytes", p.bytes},
         {"iters", p.iters},
         {"warmup", p.warmup},
         {"data", p.data},
         {"pattern_data", p.pattern_data},
         {"workload", p.workload},
         {"tell_faults", p.tell_faults},
         {"waits", p.waits}};
  if (p.ranks) j["ranks"] = *p.ranks;
  return j;
}

run_point point_from(const json& j) {
  run_point p;
  p.collective = j.at("collective");
  p.algorithm = j.at("algorithm");
  p.algorithm_reason = j.at("algorithm_reason");
  p.type = j.at("type");
  p.op = j.at("op");
  p.bytes = j.at("bytes");
  p.iters = j.at("iters");
  p.warmup = j.at("warmup");
  p.data = j.at("data");
  p.pattern_data = j.at("pattern_data");
  p.workload = j.at("workload");
  p.tell_faults = j.at("tell_faults");
  p.waits = j.at("waits");
  if (j.contains("ranks")) p.ranks = j.at("ranks").get<comm::rank_set>();
  p.progress = progress_mode::off;
  return p;
}

}  // namespace

std::string job_document(const machine_model& machine, const prepared_run& run,
                         const fabric::sip_partition& partition) {
  json job{{"config", dump_config(machine.config)},
           {"point", point_json(run.point)},
           {"processes", partition.processes},
           {"process_of", partition.process_of},
           {"inputs", json::array()}};
  for (const input_file& f : inputs())
    if (f.reader != "--config") job["inputs"].push_back({f.reader, f.path.string(), f.text});
  return job.dump(-1, ' ', false, json::error_handler_t::replace);
}

received_job::received_job(const std::string& document, const app::registries& tables) {
  const json job = json::parse(document);
  forget_inputs();
  provide_input("--config", config_name, job.at("config"));
  for (const json& f : job.at("inputs")) provide_input(f[0], f[1].get<std::string>(), f[2]);
  machine = std::make_unique<machine_model>(load_config({config_name, {}, {}}).config);
  run = std::make_unique<prepared_run>(*machine, tables, point_from(job.at("point")));
  partition = {job.at("processes"), job.at("process_of").get<std::vector<std::uint32_t>>()};
}

}  // namespace diecast::platforms
