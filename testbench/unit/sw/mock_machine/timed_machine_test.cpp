// SPDX-License-Identifier: Apache-2.0
// Times of collectives on the timed mock machine: against bounds and costs that follow from the config. How
// near they come to the SystemC machine is the matter of testbench/system/estimate_test.py.
#include "models/cost/lower_bound.hpp"
#include "models/cost/message_cost.hpp"
#include "models/types/error.hpp"
#include "support/machines.hpp"
#include "support/test.hpp"
#include "sw/mock_machine/timed_run.hpp"
#include "unit/sw/collectives/base/collective_bench.hpp"

namespace diecast::test {
namespace {

struct timed_run {
  timed_run(const config::machine_config& c, const sw::kernel_entry& k, comm::rank_set set,
            std::uint64_t count)
      : config(c),
        topology(config),
        members(comm::map_ranks(config.shape(), set)),
        kernel(k),
        launch{config, config.shape(), members, count, numeric::dtype::f16, numeric::reduction::sum} {}
  [[nodiscard]] sw::timed_outcome run() const {
    return sw::run_timed(topology, plan_for(kernel, launch), kernel, launch);
  }
  /// Of the algorithm, which is no less than that of the collective.
  [[nodiscard]] double bound_ns() const {
    const cost::bound_request r{*comm::collective_named(kernel.collective), members, launch.count * 2, 0};
    return cost::bound_of(topology, config, r, cost::lower_bound(topology, config, r), kernel.name).ns;
  }
  config::machine_config config;
  fabric::topology topology;
  comm::group members;
  sw::kernel_entry kernel;
  sw::argument_context launch;
};

config::machine_config small_pod() {
  config::machine_config c = machine_of({2, 2, 2, 2});
  c.ipcq.queue_pairs = 32;
  return c;
}

/// Neither powers of two nor squares.
config::machine_config odd_pod() {
  config::machine_config c = machine_of({3, 3, 1, 5});
  c.ipcq.queue_pairs = 64;
  return c;
}

TEST_CASE("timed machine: every kernel ends, twice at the same time, and never below its bound") {
  const bool odd = GENERATE(false, true);
  const config::machine_config c = odd ? odd_pod() : small_pod();
  std::size_t ran = 0;
  for (const sw::kernel_entry& k : sw::builtin_kernels()) {
    for (const std::uint64_t count : {std::uint64_t{64}, std::uint64_t{24'576}}) {
      const timed_run r(c, k, k.rank_sets.front(), count);
      CAPTURE(k.collective, k.name, count);
      comm::install_plan plan;
      try {
        plan = plan_for(r.kernel, r.launch);
      } catch (const user_error&) {
        continue;  // needs what this machine has not
      }
      if (!sw::not_estimated(plan, k).empty()) continue;
      const sw::timed_outcome once = r.run(), again = r.run();
      CAPTURE(once.why_not);
      REQUIRE(once.finished);
      CHECK(once.time_ns == again.time_ns);
      CHECK(once.messages == again.messages);
      CHECK(once.time_ns >= r.bound_ns());
      ++ran;
    }
  }
  CHECK(ran >= (odd ? 60U : 80U));
}

TEST_CASE("timed machine: a slot costs what its engines, the fabric and firmware say") {
  // One slot of one packet more on a chain that waits for each: what it adds is a packet on the slowest part.
  config::machine_config c = machine_of({1, 2, 1, 1});
  c.ipcq.n_slots = 64;
  const auto time_of = [&](std::uint64_t packets) {
    const std::uint64_t count = packets * c.ipcq.slot_bytes / 2;
    return timed_run(c, kernel_named("direct", "send_recv"), comm::rank_set::cube, count).run().time_ns;
  };
  const double slot_flits =
      double(c.ipcq.slot_bytes / c.noc.max_packet_bytes * cost::message_flits(c, c.noc.max_packet_bytes));
  const double cycle = 1 / c.noc.clock_ghz;
  // Behind the first slots the stream runs at the rate of the interface: header flits count.
  CHECK(time_of(24) - time_of(16) == Approx(8 * slot_flits * cycle).epsilon(0.02));
  // The first has both ends, and the fabric's idle latency in between.
  const timed_run one(c, kernel_named("direct", "send_recv"), comm::rank_set::cube,
                      c.noc.max_packet_bytes / 2);
  const pe_coord from = one.members.members[0], to = one.members.members[1];
  const cost::endpoint_costs e = cost::endpoint_costs_of(c);
  const double least =
      (e.send + e.departure + e.arrival + e.wake + e.release + e.drain +
       cost::message_idle(one.topology, c, from, to, cost::message_flits(c, c.noc.max_packet_bytes)))
          .ns();
  const double took = one.run().time_ns;
  CHECK(took > least);
  // Besides, firmware reads the registers of both halves of its queue pairs first, and looks for the end.
  CHECK(took < least + 30 * double(c.pe.register_cycles) * cycle + 6 * double(c.ccl.kernel_call_cycles));
}

TEST_CASE("timed machine: what a start is delayed by costs no less, and what is not modelled is refused") {
  config::machine_config c = small_pod();
  const auto time_of = [](const config::machine_config& machine) {
    return timed_run(machine, kernel_named("recursive_doubling", "all_reduce"), comm::rank_set::pe, 512)
        .run()
        .time_ns;
  };
  const double usual = time_of(c);
  c.ccl.start_delays = "pod.sip0.cube_0_0.pe0=5000";
  CHECK(time_of(c) >= 5000 + usual / 2);
  comm::install_plan tree;
  tree.tree.emplace();
  CHECK(sw::not_estimated(tree, kernel_named("in_network", "all_reduce")) == "trees in the network");
}

}  // namespace
}  // namespace diecast::test
