// SPDX-License-Identifier: Apache-2.0
#include "platforms/job/kernel_run.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "models/abi/address.hpp"
#include "models/comm/collective.hpp"
#include "models/types/error.hpp"
#include "platforms/job/algorithms.hpp"
#include "platforms/job/session.hpp"
#include "platforms/run/bound.hpp"
#include "platforms/run/simulate.hpp"
#include "sw/collectives/base/builtin.hpp"
#include "sw/host/collective.hpp"
#include "sw/host/hbm_tensors.hpp"
#include "sw/mock_machine/timed_run.hpp"

namespace diecast::platforms {
namespace {

/// TCM of the PE with the most rings, without them. Rings are at its top, whatever the tensors need.
std::uint64_t tcm_below_rings(const config::machine_config& c, const std::vector<comm::edge>& edges) {
  const std::uint64_t tcm = c.pe.tcm_kib * 1024;
  if (c.ipcq.rings != config::buffer_kind::tcm) return tcm;
  std::map<pe_coord, std::uint64_t> rings;
  std::uint64_t most = 0;
  for (const comm::queue_pair_install& q :
       comm::build_install_plan(edges, comm::options_from(c, 0)).queue_pairs)
    if (q.rx) most = std::max(most, ++rings[q.owner]);
  return tcm - most * c.ipcq.n_slots * c.ipcq.slot_bytes;
}

/// The plan, with `tensors` bytes of TCM kept free. Where the rings would fit without tensors, it throws
/// shortage_error; `can_move`: the tensors can be in HBM.
comm::install_plan place_rings(const std::vector<comm::edge>& edges, const config::machine_config& c,
                               std::uint64_t tensors, bool can_move) {
  try {
    return comm::build_install_plan(edges, comm::options_from(c, tensors));
  } catch (const user_error& e) {
    if (c.ipcq.rings != config::buffer_kind::tcm) throw;
    const std::uint64_t room = tcm_below_rings(c, edges);  // throws what the tensors are no cause of
    const std::uint64_t tcm = c.pe.tcm_kib * 1024;
    std::vector<problem> problems = e.problems();
    const std::string less = problems.front().expected;
    for (problem& p : problems) p.expected += can_move ? ", or ccl.tensor_kind=hbm" : "";
    throw shortage_error(std::move(problems),
                         {"TCM", tensors + tcm - room, tcm, can_move ? "ccl.tensor_kind=hbm" : "", less});
  }
}

/// The tree that a plan needs, proven free of cycles by itself, because it shares no VCs.
fabric::collective_tree tree_of(const fabric::topology& topology, const comm::tree_install& install) {
  const auto terminal_of = [&topology](pe_coord pe) { return topology.locate(abi::mailbox_of(pe)); };
  std::vector<abi::node_address> leaves;
  for (const comm::tree_install::member& m : install.members) leaves.push_back(terminal_of(m.pe));
  fabric::collective_tree tree = fabric::make_tree(topology, terminal_of(install.root), leaves);
  const auto cycle = fabric::find_tree_cycle(topology, std::span(&tree, 1));
  if (cycle.empty()) return tree;
  std::string text;
  for (const auto& link : cycle) text += "\n  waits for " + link;
  throw user_error(problem{"noc.multicast",
                           "the tree can deadlock: this cycle of buffers waits for itself" + text, "",
                           "routes without a cycle"});
}

}  // namespace

std::unique_ptr<host_side> kernel_run::hosts(std::optional<std::uint32_t> /*only*/, std::uint64_t sips,
                                             start_agreement& agreement,
                                             std::function<void()> on_round) const {
  return std::make_unique<session>(*this, sips, agreement, std::move(on_round));
}

void kernel_run::launch_with(sw::kernel_entry kernel, std::uint64_t count) {
  const auto what = comm::collective_named(point.collective);
  if (what && !comm::reduces(*what) && point.op != numeric::reduction::sum)
    notes.push_back(fmt::format("--op {} has no effect: {} reduces nothing", numeric::to_string(point.op),
                                point.collective));
  const config::machine_config& c = machine.config;
  launched_.emplace(kernel_launch{{c, c.shape(), members, count, point.type, point.op}, std::move(kernel)});
}

void kernel_run::wire(const app::registries& tables) {
  pattern_ = pattern_for(tables, machine.config, launched_->kernel);
  wire(pattern_.build(sw::pattern_context_of(launched_->arguments)), machine.config);
}

void kernel_run::wire(const std::vector<comm::edge>& edges, const config::machine_config& rings) {
  auto& [arguments, kernel] = *launched_;
  const bool in_hbm = sw::lies_in_hbm(kernel, arguments);
  if (in_hbm) arguments.tcm_room = tcm_below_rings(machine.config, edges);
  sw::check_launch(kernel, arguments);
  plan = place_rings(edges, rings, sw::lay_out(kernel, arguments).end, !in_hbm);
  spoil_plan();
  if (plan.tree) {
    plan.tree->arithmetic = sw::tree_arithmetic_of(kernel, arguments);
    tree = tree_of(machine.topology, *plan.tree);
  }
  if (const std::string what = sw::not_estimated(plan, kernel); !what.empty())
    refuse_messages(machine.config, {"--algorithm", what + " are", point.algorithm});
  complete();
}

void kernel_run::describe(run_outcome& o) const {
  prepared_run::describe(o);
  if (!bounded_) add_bound(*this, bounded_.emplace());
  o.bound_ns = bounded_->bound_ns;
  o.bound_kind = bounded_->bound_kind;
  o.bound_detail = bounded_->bound_detail;
}

}  // namespace diecast::platforms
