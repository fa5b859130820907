// SPDX-License-Identifier: Apache-2.0
#include "unit/sw/collectives/barrier/barrier_bench.hpp"

#include <algorithm>

#include "models/abi/errata.hpp"
#include "models/random/stream.hpp"
#include "sw/host/barrier.hpp"
#include "sw/host/collective.hpp"
#include "sw/runtime/firmware_trap.hpp"
#include "unit/sw/collectives/base/collective_bench.hpp"

namespace diecast::test {
namespace {

config::machine_config case_machine(const barrier_case& c) {
  config::machine_config m;
  m.pod.sips = 1;
  m.sip.columns = c.world;
  m.sip.rows = 1;
  m.cube.pes = c.cores;
  m.pe.cache_sets = 8;  // small, so that lines leave by eviction, too
  m.pe.cache_ways = 2;
  m.ccl.barrier_radix = c.radix;
  m.ccl.barrier_start = c.start;
  m.sim.firmware_stack_kib = 64;
  m.overrides = c.overrides;
  return m;
}

}  // namespace

barrier_machine::barrier_machine(const barrier_case& c)
    : case_(c),
      config_(case_machine(c)),
      members_(comm::barrier_members(config::population(config_), comm::rank_set::cube, c.team)),
      cores_(members_),
      launch_{config_, config_.shape(), members_, 0, numeric::dtype::f16, numeric::reduction::sum},
      checker_(config_.shape()) {
  checker_.expect("", members_.members, cores_.rank_of());
  const sw::kernel_entry kernel = kernel_named("dissemination", "barrier");
  for (std::uint32_t i = 0; i < members_.members.size(); ++i) {
    arguments_.push_back(sw::make_arguments(kernel, launch_, i));
  }
  sw::mock_options options{c.order, c.seed};
  options.on_step = [this](pe_coord pe, const abi::step_marker& s) { stepped(pe, s); };
  options.max_steps = c.max_steps;
  machine_ = std::make_unique<sw::mock_machine>(config_, comm::install_plan{}, options);
  sw::prepare_barrier(machine_->host(sip_id{0}), launch_, arguments_);
  sw::set_errata(machine_->host(sip_id{0}), config_, members_.members, *abi::parse_errata(c.errata));
}

/// Marks come one by one: their number serves as the time.
void barrier_machine::stepped(pe_coord pe, const abi::step_marker& step) {
  checker_.on(events::step_entered{femtoseconds(++marks_), pe, step.name, step.index});
}

void barrier_machine::late(abi::hal& hal, std::uint32_t barrier) const {
  if (case_.skew == 0) return;
  const random::stream draws{case_.seed, std::to_string(config_.shape().pe_index(hal.self())), "late"};
  for (std::uint64_t i = draws.below(barrier, case_.skew + 1ULL); i > 0; --i) hal.pause(1);
}

barrier_result barrier_machine::run() {
  return run([this](sw::barrier_runtime& r, abi::hal& hal) {
    for (std::uint32_t i = 0; i < case_.repeats; ++i) {
      late(hal, i);
      hal.mark_step({analysis::barrier_checker::enter, i});
      r.barriers.barrier(r.world, case_.how);
      hal.mark_step({analysis::barrier_checker::left, i});
    }
  });
}

barrier_result barrier_machine::run(const std::function<void(sw::barrier_runtime&, abi::hal&)>& code) {
  std::vector<sw::mock_program> programs;
  for (std::size_t i = 0; i < members_.members.size(); ++i) {
    const std::uint32_t rank = cores_.rank_of()[i];
    if (std::find(case_.absent.begin(), case_.absent.end(), rank) != case_.absent.end()) continue;
    programs.push_back({members_.members[i], [&code, a = arguments_[i]](abi::hal& hal) {
                          sw::barrier_runtime r(hal, a);
                          code(r, hal);
                        }});
  }
  barrier_result result;
  try {
    result.outcome = machine_->run(programs);
  } catch (const sw::firmware_trap& e) {
    result.trap = e.what();
  }
  result.escapes = checker_.escapes();
  result.escaped_ranks = checker_.escaped_ranks();
  result.left.assign(cores_.ranks(), true);
  for (std::size_t i = 0; i < members_.members.size(); ++i) {
    const std::uint32_t rank = cores_.rank_of()[i];
    const bool here = std::find(case_.absent.begin(), case_.absent.end(), rank) == case_.absent.end();
    result.left[rank] = result.left[rank] && here && machine_->idle(members_.members[i]);
  }
  const auto counted = [this](abi::firmware_count what) { return machine_->counted(what); };
  result.signals_set = counted(abi::firmware_count::signals_set);
  result.flags_checked = counted(abi::firmware_count::flags_checked);
  result.core_signals_set = counted(abi::firmware_count::core_signals_set);
  result.core_flags_checked = counted(abi::firmware_count::core_flags_checked);
  result.polls = counted(abi::firmware_count::polls);
  return result;
}

}  // namespace diecast::test
