// SPDX-License-Identifier: Apache-2.0
#include "models/abi/firmware_tasks.hpp"

#include <algorithm>

#include "models/analysis/wait_for.hpp"
#include "support/test.hpp"
#include "unit/models/protocol/ipcq_harness.hpp"

using namespace diecast;
using namespace diecast::abi;
using namespace diecast::analysis;
using Catch::Contains;
using Catch::EndsWith;
using comm::east;
using comm::west;

namespace {

pe_coord pe_of_task(std::uint32_t p) { return {sip_id{0}, cube_id{0}, pe_id{p}}; }

firmware_tasks two_tasks() {
  firmware_tasks t;
  t.mark("begin", 0);
  t.hear({task_phase::begun, 1});
  t.hear({task_phase::begun, 2});
  return t;
}

/// PEs of a ring whose firmware runs two tasks each; all their waits are armed here.
class two_task_ring {
 public:
  explicit two_task_ring(std::uint32_t ranks)
      : machine_(comm::build_install_plan(test::ring_edges(ranks), test::ring_options(1)), 16),
        tasks_(ranks, two_tasks()) {}

  void write(std::uint32_t p, task_id task, register_offset reg, std::uint64_t value) {
    tasks_[p].hear({task_phase::resumed, task});
    tasks_[p].wrote(reg, value);
    machine_.write(p, reg, value);
  }
  void mark(std::uint32_t p, task_id task, std::string_view step) {
    tasks_[p].hear({task_phase::resumed, task});
    tasks_[p].mark(step, 0);
  }
  test::engines& machine() { return machine_; }

  wait_for_report report() {
    std::vector<pe_dump> dumps;
    for (std::size_t i = 0; i < machine_.size(); ++i) {
      tasks_[i].hear({task_phase::idle});
      const auto& qps = machine_[i].queue_pairs();
      const bool waits = std::any_of(qps.begin(), qps.end(), [](const auto& q) { return q.armed != 0; });
      dumps.push_back({machine_[i].self(), waits ? events::core_state::asleep : events::core_state::done, qps,
                       tasks_[i]});
    }
    return explain_waits({1, 1, 1, static_cast<std::uint32_t>(machine_.size())}, {dumps, {}});
  }

 private:
  test::engines machine_;
  std::vector<firmware_tasks> tasks_;
};

constexpr register_offset arm_of(comm::direction d) { return qp_register(d, qp_arm); }

}  // namespace

TEST_CASE("firmware tasks: a task is in the step of the one that ran it until it marks its own") {
  firmware_tasks t = two_tasks();
  CHECK(t.find(1)->step() == "begin 0");
  t.hear({task_phase::resumed, 2});
  t.mark("all_gather", 4);
  t.hear({task_phase::resumed, 1});
  CHECK(t.running() == 1);
  CHECK(t.find(1)->step() == "begin 0");
  CHECK(t.find(2)->step() == "all_gather 4");
  CHECK(t.has_children(kernel_task));
  t.hear({task_phase::ended, 1});
  t.hear({task_phase::ended, 2});
  t.hear({task_phase::resumed, kernel_task});
  REQUIRE(t.live().size() == 1);
  CHECK(t.find(kernel_task)->step() == "all_gather 4");  // the kernel is past its tasks
}

TEST_CASE("firmware tasks: who writes a queue pair's registers uses it") {
  firmware_tasks t = two_tasks();
  t.hear({task_phase::resumed, 1});
  CHECK(t.wrote(qp_register(east, qp_tx_doorbell), 64)->send);
  CHECK_FALSE(t.wrote(qp_register(east, qp_tx_doorbell), 64));  // it does already
  t.hear({task_phase::resumed, 2});
  CHECK_FALSE(t.wrote(arm_of(east), arm_receive)->send);
  CHECK_FALSE(t.wrote(qp_register(east, qp_tx_source), 64));
  const queue_pair_use use = t.use_of(east);
  CHECK(use.sender == 1);
  CHECK(use.receiver == 2);
  CHECK(use.armed[0] == 2);
  CHECK_FALSE(t.use_of(west).sender);
}

TEST_CASE("wait_for: a cycle that a lost credit explains is no root") {
  // Every PE receives from the one before it. PE 0 cannot send on, for its credit is lost.
  test::engines m{comm::build_install_plan(test::ring_edges(4), test::ring_options(1)), 16};
  m.lose = [](std::size_t, const ipcq_fields&, bool credit) { return credit; };
  m.write(0, qp_register(east, qp_tx_doorbell), 8);
  m.deliver_all();
  m.write(1, qp_register(west, qp_my_tail), 1);
  m.deliver_all();
  m.write(0, arm_of(east), arm_send_space);
  for (std::uint32_t p = 0; p < 4; ++p) m.write(p, arm_of(west), arm_receive);
  std::vector<pe_dump> dumps;
  for (std::size_t i = 0; i < m.size(); ++i)
    dumps.push_back({m[i].self(), events::core_state::asleep, m[i].queue_pairs()});
  const auto r = explain_waits({1, 1, 1, 4}, {dumps, {}});
  REQUIRE(r.roots.size() == 1);
  CHECK(r.roots[0].kind == root_kind::fault);
  CHECK(r.roots[0].waits[0].cause == wait_cause::lost_credit);
  CHECK_THAT(r.text, !Contains("receives before it sends"));
}

TEST_CASE("wait_for: a cycle of two tasks is a root beside a fault that holds other tasks of their PEs") {
  two_task_ring b(4);
  // Task 2 of PE 0 waits for a credit that is lost; task 1 of PE 0 and of PE 1 receive first, both.
  b.machine().lose = [](std::size_t, const ipcq_fields&, bool credit) { return credit; };
  b.mark(0, 1, "crossed");
  b.mark(0, 2, "loses");
  b.write(3, 2, qp_register(east, qp_tx_doorbell), 8);
  b.machine().deliver_all();
  b.write(0, 2, qp_register(west, qp_my_tail), 1);
  b.machine().deliver_all();
  b.write(3, 2, arm_of(east), arm_send_space);
  b.write(0, 1, arm_of(east), arm_receive);
  b.write(1, 1, arm_of(west), arm_receive);
  const auto r = b.report();
  REQUIRE(r.roots.size() == 2);
  CHECK(r.roots[0].kind == root_kind::fault);
  CHECK(r.roots[0].members == std::vector{pe_of_task(3)});
  CHECK(r.roots[1].kind == root_kind::cycle);
  REQUIRE(r.roots[1].waits.size() == 2);
  for (const wait_edge& e : r.roots[1].waits) CHECK(e.task == 1);
  CHECK_THAT(r.text, Contains("(step crossed 0)") && !Contains("(step loses 0)"));
}

TEST_CASE("wait_for: waits of two tasks of a PE make no cycle") {
  // Task 1 of PEs 0 and 1 each waits for what task 2 of the other sends; these wait for PE 2 and PE 3.
  two_task_ring b(4);
  b.mark(0, 1, "waits");
  b.mark(0, 2, "sends");
  b.write(0, 2, qp_register(east, qp_tx_doorbell), 8);
  b.write(1, 2, qp_register(west, qp_tx_doorbell), 8);
  b.machine().deliver_all();
  b.write(1, 1, qp_register(west, qp_my_tail), 1);
  b.write(0, 1, qp_register(east, qp_my_tail), 1);
  b.machine().deliver_all();
  b.write(0, 1, arm_of(east), arm_receive);
  b.write(1, 1, arm_of(west), arm_receive);
  b.machine().lose = [](std::size_t, const ipcq_fields&, bool) { return true; };
  b.write(3, 2, qp_register(east, qp_tx_doorbell), 8);
  b.write(2, 2, qp_register(west, qp_tx_doorbell), 8);
  b.machine().deliver_all();
  b.write(0, 2, arm_of(west), arm_receive);
  b.write(1, 2, arm_of(east), arm_receive);
  const auto r = b.report();
  REQUIRE(r.roots.size() >= 2);
  for (const wait_root& root : r.roots) {
    CHECK(root.kind != root_kind::cycle);
    if (root.kind == root_kind::fault) CHECK(root.waits[0].task == 2);
  }
  for (const wait_edge& e : r.edges)
    if (e.waiter == pe_of_task(0)) CHECK(e.step == (e.task == 1 ? "waits 0" : "sends 0"));
}

TEST_CASE("wait_for: at most ten lines go to stderr, the last of which names the file with all") {
  const std::uint32_t ranks = 64;
  test::engines m{comm::build_install_plan(test::ring_edges(ranks), test::ring_options(1)), 16};
  for (std::uint32_t p = 0; p < ranks; ++p) m.write(p, arm_of(west), arm_receive);
  std::vector<pe_dump> dumps;
  for (std::size_t i = 0; i < m.size(); ++i)
    dumps.push_back({m[i].self(), events::core_state::asleep, m[i].queue_pairs()});
  const auto r = explain_waits({1, 1, 1, ranks}, {dumps, {}});
  CHECK(std::count(r.summary.begin(), r.summary.end(), '\n') == 8);  // and a line in front of it says when
  CHECK_THAT(r.summary, Contains("root: a cycle of 64 waits\n  hint: every PE of it receives") &&
                            EndsWith("see deadlock.json (written with --out)"));
  CHECK(std::count(r.text.begin(), r.text.end(), '\n') > 192);
}

TEST_CASE("wait_for: a message of which only a part is left is lost, not in flight") {
  test::engines m{comm::build_install_plan(test::ring_edges(3), test::ring_options(2)), 16};
  m.lose = [](std::size_t, const ipcq_fields&, bool) { return true; };
  m.write(0, qp_register(east, qp_tx_doorbell), 8);
  m.deliver_all();
  m.write(1, arm_of(west), arm_receive);
  stopped_machine stopped;
  for (std::size_t i = 0; i < m.size(); ++i)
    stopped.pes.push_back({m[i].self(), events::core_state::asleep, m[i].queue_pairs()});
  const ipcq_fields next{m.qp(1, west).rx_base, 0, 8, pe_of_task(0), east};
  stopped.flights = {
      {false, next, "half received by the DMA engine of pe1", false, flight_state::part_arrived}};
  const auto r = explain_waits({1, 1, 1, 3}, stopped);
  CHECK(r.edges.at(0).cause == wait_cause::lost_message);
  CHECK_THAT(r.text, Contains("the next is half received by the DMA engine of pe1 and nothing of it is in "
                              "flight") &&
                         Contains("one of the message's packets was lost") && !Contains("does not move"));
  for (const auto state : {flight_state::under_way, flight_state::held_behind}) {
    stopped.flights[0].state = state;
    const auto held = explain_waits({1, 1, 1, 3}, stopped);
    CHECK(held.edges.at(0).cause == wait_cause::in_flight);
    CHECK((held.text.find("does not move") == std::string::npos) == (state == flight_state::held_behind));
  }
  stopped.flights[0].state = flight_state::part_arrived;
  stopped.still = false;
  CHECK(explain_waits({1, 1, 1, 3}, stopped).edges.at(0).cause == wait_cause::in_flight);
}
