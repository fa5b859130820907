// SPDX-License-Identifier: Apache-2.0
// What "auto" of a workload's collective takes where queue pairs are few.
#include "sw/workload/collective_choice.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>

#include "models/comm/install_plan.hpp"
#include "models/config/population.hpp"
#include "models/types/error.hpp"
#include "support/machines.hpp"
#include "support/test.hpp"
#include "sw/collectives/base/kernel_table.hpp"
#include "sw/host/collective.hpp"
#include "unit/sw/collectives/base/collective_bench.hpp"
#include "workload_bench.hpp"

namespace {

using namespace diecast;

/// A collective of all PEs of a machine.
class chosen {
 public:
  explicit chosen(const config::machine_config& c, const std::string& collective = "all_reduce")
      : machine_(c, comm::rank_set::pe), topology_(c) {
    op_.kind = collective;
    machine_.members = comm::map_ranks(config::population(c), comm::rank_set::pe);  // those that are there
  }

  /// What auto takes of `kernels`; empty when none can run.
  [[nodiscard]] std::string of(const sw::kernel_table& kernels) const {
    const sw::op_request r = request(kernels);
    try {
      return sw::choose_kernel(r, launch()).kernel.name;
    } catch (const user_error&) {
      return "";
    }
  }
  /// Why auto takes what it takes of `kernels`, or all that keeps it from taking any.
  [[nodiscard]] std::string reason(const sw::kernel_table& kernels) const {
    const sw::op_request r = request(kernels);
    try {
      return sw::choose_kernel(r, launch()).reason;
    } catch (const user_error& e) {
      return e.what();
    }
  }
  /// Directions in use at the PE that has most of them.
  [[nodiscard]] std::size_t needed(const sw::kernel_entry& kernel) const {
    const sw::kernel_table kernels{kernel};
    const sw::op_request r = request(kernels);
    std::vector<problem> problems;
    std::map<pe_coord, std::set<comm::direction>> in_use;
    std::size_t most = 0;
    const auto edges = sw::pattern_of(r, kernel).build(sw::pattern_context_of(launch()));
    for (const comm::queue_pair_half& h : comm::pair_directions(edges, problems)) {
      in_use[h.owner].insert(h.dir);
      most = std::max(most, in_use[h.owner].size());
    }
    return most;
  }

 private:
  [[nodiscard]] sw::op_request request(const sw::kernel_table& kernels) const {
    return {op_,
            machine_.members,
            0,
            machine_.config,
            machine_.shape,
            kernels,
            patterns_,
            [this]() -> const fabric::topology& { return topology_; },
            rules_};
  }
  [[nodiscard]] sw::argument_context launch() const {
    sw::argument_context launch{machine_.config,     machine_.shape,
                                machine_.members,    32 * machine_.members.members.size(),
                                numeric::dtype::f32, numeric::reduction::sum};
    launch.in_workload = true;
    return launch;
  }

  test::ranked_machine machine_;
  fabric::topology topology_;
  comm::workload_op op_ = test::collective("op", 4, "auto");
  std::vector<comm::pattern_entry> patterns_ = sw::builtin_patterns();
  std::vector<cost::algorithm_rule> rules_;
};

config::machine_config with_queue_pairs(config::machine_config c, std::uint64_t n) {
  c.ipcq.queue_pairs = n;
  return c;
}

/// SIPs with 16 and 15 PEs.
config::machine_config uneven() {
  config::machine_config c = test::machine_of({2, 2, 2, 4});
  config::instance_override& missing = c.overrides.emplace_back();
  missing.match = "pod.sip1.cube_1_1.pe3";
  missing.enabled = false;
  return c;
}

TEST_CASE("auto of a workload counts the queue pairs that an algorithm uses, whatever their numbers") {
  // Its trees' directions are numbered from 8 on.
  const config::machine_config c = test::machine_of({1, 2, 2, 4});
  const sw::kernel_entry trees = test::kernel_named("double_binary_tree");
  const std::size_t needed = chosen(c).needed(trees);
  REQUIRE(needed >= 3);
  REQUIRE(needed <= 6);
  CHECK(chosen(with_queue_pairs(c, 8)).of({trees}) == "double_binary_tree");
  CHECK(chosen(with_queue_pairs(c, needed)).of({trees}) == "double_binary_tree");
  CHECK(chosen(with_queue_pairs(c, needed - 1)).of({trees}).empty());
}

TEST_CASE("auto of a workload passes over what has too few queue pairs") {
  // One row, as the SIPs differ: everybody sends to everybody.
  const config::machine_config c = uneven();
  const auto all_to_all = [&c](std::uint64_t queue_pairs) {
    return chosen(with_queue_pairs(c, queue_pairs), "all_to_all");
  };
  const sw::kernel_entry levels = test::kernel_named("two_level", "all_to_all");
  CHECK(chosen(c, "all_to_all").needed(levels) == 30);
  CHECK(all_to_all(30).of({levels}) == "two_level");
  CHECK(all_to_all(29).of({levels}).empty());
  // Something else runs there.
  const std::string other = all_to_all(16).of(sw::builtin_kernels());
  CHECK_FALSE(other.empty());
  CHECK(other != "two_level");
}

TEST_CASE("auto of a workload estimates what a user adds, and says why nothing can run") {
  const config::machine_config c = test::machine_of({1, 2, 2, 4});
  sw::kernel_entry mine = test::kernel_named("ring_1d");
  mine.name = "mine";
  sw::kernel_entry trees = test::kernel_named("double_binary_tree");
  trees.name = "my_trees";
  CHECK(chosen(c).of({mine}) == "mine");
  CHECK(chosen(c).reason({mine}).starts_with("auto: mine expected to take "));
  // The trees need more queue pairs than a ring.
  CHECK(chosen(with_queue_pairs(c, 2)).of({mine, trees}) == "mine");
  CHECK_FALSE(chosen(c).of({mine, trees}).empty());
  // Neither can, for one reason.
  const std::string neither = chosen(with_queue_pairs(c, 1)).reason({mine, trees});
  CHECK(neither.find("mine, my_trees cannot run: a PE has too few queue pairs") != std::string::npos);
}

TEST_CASE("auto of a workload runs what it takes on eight queue pairs") {
  constexpr std::uint64_t few = 8;
  test::matrix_row row;
  row.shape = {1, 2, 2, 4};
  const config::machine_config plenty = with_queue_pairs(test::config_of(row), 64);
  const config::machine_config c = with_queue_pairs(plenty, few);
  std::vector<std::uint64_t> all(row.shape.pes());
  std::iota(all.begin(), all.end(), std::uint64_t{0});
  const auto needed = [](const config::machine_config& machine, const std::string& collective) {
    const chosen here(machine, collective);
    return here.needed(test::kernel_named(here.of(sw::builtin_kernels()), collective));
  };
  REQUIRE(needed(plenty, "all_to_all") > few);
  for (const char* const collective : {"all_reduce", "all_gather", "all_to_all"}) {
    CAPTURE(collective);
    CHECK(needed(c, collective) <= few);
    for (const std::uint64_t bytes : {64U, 1024U, 8192U}) {
      CAPTURE(bytes);
      comm::workload_op op = test::collective("op", bytes, "auto");
      op.kind = collective;
      CHECK(test::run_workload(test::workload_of({test::stream_on("s", all, {op})}), c).wrong == "");
    }
  }
}

}  // namespace
