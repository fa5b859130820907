// SPDX-License-Identifier: Apache-2.0
#include "workload_bench.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "support/test.hpp"
#include "sw/collectives/base/kernel_table.hpp"
#include "sw/host/collective.hpp"
#include "unit/sw/collectives/base/collective_bench.hpp"

namespace diecast::test {

using comm::workload_op;
using comm::workload_stream;

workload_op local(const std::string& id, const std::string& kind,
                  std::map<std::string, comm::op_value> fields) {
  workload_op o;
  o.id = id;
  o.kind = kind;
  o.where = id;
  o.fields = std::move(fields);
  return o;
}

workload_op collective(const std::string& id, std::uint64_t bytes, const std::string& algorithm) {
  return local(id, "all_reduce",
               {{"bytes", bytes},
                {"algorithm", algorithm},
                {"dtype", std::string("f32")},
                {"redop", std::string("sum")}});
}

workload_stream stream_on(const std::string& name, std::vector<std::uint64_t> ranks,
                          std::vector<workload_op> ops, std::uint64_t repeat) {
  workload_stream s;
  s.where = name;
  s.name = name;
  s.ranks = std::move(ranks);
  s.ops = std::move(ops);
  s.repeat = repeat;
  return s;
}

comm::workload workload_of(std::vector<workload_stream> streams) { return {"test", {}, std::move(streams)}; }

namespace {

/// Ops whose data is known beforehand; what a wait verifies depends on what it completes.
/// A barrier is judged from outside.
bool has_data(const std::string& kind) {
  if (kind == comm::to_string(comm::collective::barrier)) return false;
  return std::ranges::any_of(sw::builtin_kernels(),
                             [&](const sw::kernel_entry& k) { return k.collective == kind; });
}

}  // namespace

workload_outcome run_workload(const comm::workload& w, const config::machine_config& config,
                              sw::mock_options options, const sw::op_table& extra) try {
  sw::op_table ops = sw::builtin_ops(options.kernels);
  ops.insert(ops.end(), extra.begin(), extra.end());
  const auto patterns = sw::builtin_patterns();
  const sw::workload_program program(w, {ops, options.kernels, patterns}, config);
  sw::mock_machine machine(config, program.install(), options);
  for (std::uint32_t s = 0; s < config.shape().sips; ++s) {
    abi::host_hal& host = machine.host(sip_id{s});
    sw::set_errata(host, config, program.workload().participants, *abi::parse_errata(config.ccl.errata));
    program.set_up(host);
  }
  sw::workload_log log(program, true, [&machine](sip_id s) -> abi::host_hal& { return machine.host(s); });

  std::vector<sw::mock_program> programs;
  for (const pe_coord pe : program.workload().participants) {
    programs.push_back({pe, [&program, &log, firmware = machine.firmware_options(pe)](abi::hal& hal) {
                          program.run(hal, firmware, log);
                        }});
  }
  workload_outcome outcome;
  outcome.wrong = machine.run(programs).deadlock;
  for (std::uint32_t i = 0; i < program.workload().ops.size(); ++i) {
    const comm::resolved_op& op = program.workload().ops[i];
    const std::uint64_t repeat = program.workload().streams[op.stream].stream->repeat;
    outcome.records.push_back(log.records(i));
    for (std::uint64_t k = 0; k < repeat && outcome.wrong.empty(); ++k) {
      const auto& all = outcome.records.back();
      if (k >= all.size() || all[k].ended != program.users_of(i).size()) {
        outcome.wrong = fmt::format("{} has not ended in iteration {}", op.op->id, k);
      } else if (has_data(op.op->kind) && !all[k].wrong) {
        outcome.wrong = fmt::format("{} was not verified in iteration {}", op.op->id, k);
      } else if (all[k].wrong.value_or(0) != 0) {
        outcome.wrong = fmt::format("{}: {} wrong elements in iteration {}", op.op->id, *all[k].wrong, k);
      }
    }
  }
  if (outcome.wrong.empty()) outcome.wrong = unrest(machine, config::population(config));
  return outcome;
} catch (const std::exception& e) {
  return {e.what(), {}};
}

void check_orders(std::uint64_t seeds, const std::function<std::string(const sw::mock_options&)>& run) {
  for (const auto order : schedules) {
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      CAPTURE(sw::to_string(order), seed);
      CHECK(run({.order = order, .seed = seed}) == "");
    }
  }
}

}  // namespace diecast::test
