// SPDX-License-Identifier: Apache-2.0
// --workload, JSON: read, and planned on the small pod.
#include "models/comm/patterns.hpp"
#include "platforms/config_io/config_json.hpp"
#include "platforms/config_io/workload_json.hpp"
#include "sw/collectives/base/kernel_table.hpp"
#include "sw/workload/program.hpp"
#include "testbench/fuzz/fuzz.hpp"

using namespace diecast;

namespace {

struct environment {
  config::machine_config config =
      platforms::load_config({platforms::configs_dir() / "small_pod.json", {}, {}}).config;
  sw::kernel_table kernels = sw::builtin_kernels();
  sw::op_table ops = sw::builtin_ops(kernels);
  std::vector<comm::pattern_entry> patterns = sw::builtin_patterns();
  std::vector<comm::op_schema> kinds;

  environment() {
    for (const sw::op_kind& k : ops) kinds.push_back(k.schema);
  }
};

}  // namespace

FUZZ_TARGET(text) {
  static const environment e;
  const comm::workload w = platforms::parse_workload(text, "input.json", e.kinds);
  (void)sw::workload_program(w, {e.ops, e.kernels, e.patterns}, e.config);
}
