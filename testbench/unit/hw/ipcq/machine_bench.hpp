// SPDX-License-Identifier: Apache-2.0
// Firmware and a pattern of the test on the whole SystemC machine. Every run has a process of its own, so
// one test case makes as many as it wants; what firmware finds wrong it throws.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/comm/patterns.hpp"
#include "models/config/machine_config.hpp"
#include "platforms/app/builtin.hpp"
#include "platforms/run/child.hpp"
#include "platforms/run/prepare.hpp"
#include "platforms/run/simulate.hpp"
#include "sw/collectives/rings/ring.hpp"
#include "sw/runtime/pe_context.hpp"

namespace diecast::test {

using firmware = std::function<void(sw::pe_context&)>;

/// What every PE of the run in hand executes. Set before the run's process is forked.
inline firmware& current_firmware() {
  static firmware code;
  return code;
}

/// One cube with 2 x 2 routers and `pes` PEs; `sips` of them joined in a ring.
inline config::machine_config small_machine(std::uint64_t pes, std::uint64_t sips = 1) {
  config::machine_config c;
  c.pod.sips = sips;
  c.sip.columns = c.sip.rows = 1;
  c.noc.columns = c.noc.rows = 2;
  c.cube.pes = pes;
  c.hbm.ports = 1;
  c.sim.check_credits = true;
  return c;
}

struct job {
  config::machine_config config;
  firmware code;
  std::function<std::vector<comm::edge>(const comm::pattern_context&)> pattern = comm::ring_1d;
  std::vector<std::string> directions{};  ///< names of the custom ones
  std::uint64_t scratch_bytes{};
  comm::rank_set ranks{comm::rank_set::pe};
  netlist::memory_factory hbm{};  ///< empty: the machine's own
};

/// Runs the job to its end. The vectors are not reduced, so a run that ends is `wrong` or `ok`.
inline platforms::run_outcome run(const job& j) {
  app::registries tables = app::builtin_registries(app::pod_platform());
  sw::kernel_entry kernel;
  kernel.name = "firmware of the test";
  kernel.collective = "all_reduce";
  kernel.pattern = "pattern of the test";
  kernel.rank_sets = {j.ranks};
  kernel.run = [](sw::pe_context& pe) { current_firmware()(pe); };
  kernel.scratch_bytes = [bytes = j.scratch_bytes](const sw::argument_context&) { return bytes; };
  tables.kernels = {kernel};
  tables.patterns = {{"pattern of the test", "", j.pattern, j.directions}};
  if (j.hbm) tables.hbm = j.hbm;
  current_firmware() = j.code;
  platforms::run_point point;
  point.algorithm = kernel.name;
  point.bytes = 64;
  return platforms::run_in_child([&] {
    const platforms::machine_model machine(j.config);
    return platforms::simulate(*platforms::prepare_point(machine, tables, point), tables);
  });
}

inline bool ended(const platforms::run_outcome& o) {
  return o.status == platforms::run_status::ok || o.status == platforms::run_status::wrong;
}
inline bool hung(const platforms::run_outcome& o) { return o.status == platforms::run_status::deadlock; }

/// The roots of a hung run as deadlock.json states them.
inline nlohmann::json roots_of(const platforms::run_outcome& o) {
  return o.deadlock_json.empty() ? nlohmann::json::array() : nlohmann::json::parse(o.deadlock_json)["roots"];
}

}  // namespace diecast::test
