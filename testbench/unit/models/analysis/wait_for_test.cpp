// SPDX-License-Identifier: Apache-2.0
#include "models/analysis/wait_for.hpp"

#include <fmt/format.h>
#include <optional>

#include <rapidcheck.h>

#include "support/test.hpp"
#include "unit/models/analysis/hung_program.hpp"
#include "unit/models/protocol/ipcq_harness.hpp"

using namespace diecast;
using namespace diecast::abi;
using namespace diecast::analysis;
using Catch::Contains;
using comm::east;
using comm::west;

namespace {

pe_coord waiting_pe(std::uint32_t p) { return {sip_id{0}, cube_id{0}, pe_id{p}}; }

/// Lock-step firmware on a ring, one way: send E, receive W, `rounds` times, arming whatever it
/// waits for. A PE listed in `dies_at` stops in that round.
class ring_program {
 public:
  ring_program(std::uint32_t ranks, std::uint32_t n_slots, std::uint32_t rounds,
               test::engines::policy match = protocol::match_by_address)
      : shape_{1, 1, 1, ranks},
        machine(comm::build_install_plan(test::ring_edges(ranks), test::ring_options(n_slots)), 16, match),
        rounds_(rounds),
        pcs_(ranks),
        dies_at(ranks) {}

  /// Returns true when every rank has finished.
  bool run() {
    bool moved = true;
    while (moved) {
      moved = false;
      for (std::size_t r = 0; r < pcs_.size(); ++r) {
        while (advance(r)) moved = true;
      }
      moved = moved || machine.steps() > 0;
      machine.deliver_all();
    }
    return std::all_of(pcs_.begin(), pcs_.end(), [&](std::uint32_t pc) { return pc == 2 * rounds_; });
  }

  wait_for_report report() {
    std::vector<pe_dump> dumps;
    for (std::size_t i = machine.size(); i-- > 0;) {  // in any order
      const bool done = pcs_[i] == 2 * rounds_;
      dumps.push_back({machine[i].self(), done ? events::core_state::done : events::core_state::asleep,
                       machine[i].queue_pairs(), firmware_tasks{fmt::format("round {}", pcs_[i] / 2)}});
    }
    return explain_waits(shape_, {dumps, {}});
  }

 private:
  bool advance(std::size_t r) {
    std::uint32_t& pc = pcs_[r];
    if (pc == 2 * rounds_ || dies_at[r] == pc / 2) return false;
    const bool sending = pc % 2 == 0;
    const auto dir = sending ? east : west;
    const auto& s = machine.qp(r, dir);
    if ((sending ? s.free_slots() : s.available()) == 0) {
      const std::uint64_t bit = sending ? arm_send_space : arm_receive;
      if ((s.armed & bit) == 0) machine.write(r, qp_register(dir, qp_arm), bit);
      return false;
    }
    while (machine[r].event_pending()) (void)machine.event(r);
    if (sending) {
      machine.write(r, qp_register(dir, qp_tx_doorbell), 8);
    } else {
      machine.write(r, qp_register(dir, qp_my_tail), s.space.next(s.my_tail));
    }
    ++pc;
    return true;
  }

  machine_shape shape_;

 public:
  test::engines machine;

 private:
  std::uint32_t rounds_;
  std::vector<std::uint32_t> pcs_;  ///< two per round

 public:
  std::vector<std::optional<std::uint32_t>> dies_at;
};

void arm(test::engines& m, std::uint32_t p, comm::direction d, std::uint64_t bits) {
  m.write(m.index_of(waiting_pe(p)), qp_register(d, qp_arm), bits);
}

/// `state`: of the PEs that wait for nothing.
wait_for_report report_of(test::engines& m, events::core_state state = events::core_state::done) {
  std::vector<pe_dump> dumps;
  for (std::size_t i = 0; i < m.size(); ++i) {
    const auto& qps = m[i].queue_pairs();
    const bool waits = std::any_of(qps.begin(), qps.end(), [](const auto& s) { return s.armed != 0; });
    dumps.push_back({m[i].self(), waits ? events::core_state::asleep : state, qps});
  }
  return explain_waits({1, 1, 1, static_cast<std::uint32_t>(m.size())}, {dumps, {}});
}

test::engines ring(std::uint32_t ranks, std::uint32_t n_slots = 2) {
  return {comm::build_install_plan(test::ring_edges(ranks), test::ring_options(n_slots)), 16};
}

}  // namespace

TEST_CASE("wait_for: a healthy program has no waits") {
  ring_program p(4, 2, 5);
  CHECK(p.run());
  const auto r = p.report();
  CHECK(r.edges.empty());
  CHECK(r.roots.empty());
  CHECK_THAT(r.text, Contains("0 of 4 PEs are not finished"));
}

TEST_CASE("wait_for: a crossed wait is a cycle, named queue pair by queue pair") {
  auto m = ring(4);
  for (std::uint32_t p = 0; p < 4; ++p) arm(m, p, west, arm_receive);
  const auto r = report_of(m);
  REQUIRE(r.roots.size() == 1);
  const wait_root& root = r.roots[0];
  CHECK(root.kind == root_kind::cycle);
  REQUIRE(root.waits.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(root.members[i] == root.waits[i].waiter);
    CHECK(root.waits[i].on == root.waits[(i + 1) % 4].waiter);
    CHECK(root.waits[i].dir == west);
    CHECK(root.waits[i].on_dir == east);
  }
  CHECK_THAT(r.text, Contains("root: a cycle of 4 waits") &&
                         Contains("pod.sip0.cube_0_0.pe0 W waits for a message in its ring") &&
                         Contains("from pod.sip0.cube_0_0.pe3 E"));
  CHECK_THAT(r.text, Contains("waiters receive") && Contains("peer_head_cache 0") &&
                         Contains(fmt::format("{:#018x}", m.qp(0, west).rx_base)));

  // In a run that was cut off, a core that goes on waits for nothing, whatever is armed.
  stopped_machine cut;
  cut.still = false;
  for (std::size_t i = 0; i < 4; ++i)
    cut.pes.push_back(
        {m[i].self(), i == 2 ? events::core_state::running : events::core_state::asleep, m[i].queue_pairs()});
  const auto open = explain_waits({1, 1, 1, 4}, cut);
  REQUIRE(open.roots.size() == 1);
  CHECK(open.roots[0].kind == root_kind::peer);
  CHECK(open.roots[0].members == std::vector{waiting_pe(2)});
}

TEST_CASE("wait_for: only the cycle is the root, not those who wait for it") {
  auto m = ring(4);
  arm(m, 1, west, arm_receive);  // 1 <-> 0 over W and E, 2 waits for 1, 3 for 2
  arm(m, 0, east, arm_receive);
  arm(m, 2, west, arm_receive);
  arm(m, 3, west, arm_receive);
  const auto r = report_of(m);
  CHECK(r.edges.size() == 4);
  REQUIRE(r.roots.size() == 1);
  CHECK(r.roots[0].members == std::vector{waiting_pe(0), waiting_pe(1)});
}

TEST_CASE("wait_for: over-sending deadlocks as a cycle of senders") {
  auto m = ring(3, 1);
  for (std::uint32_t p = 0; p < 3; ++p) m.write(p, qp_register(east, qp_tx_doorbell), 8);
  m.deliver_all();
  for (std::uint32_t p = 0; p < 3; ++p) arm(m, p, east, arm_send_space);
  const auto r = report_of(m);
  REQUIRE(r.roots.size() == 1);
  CHECK(r.roots[0].kind == root_kind::cycle);
  CHECK(r.roots[0].waits[0].kind == wait_kind::send_space);
  CHECK_THAT(r.text, Contains("waits for a free slot in ring") && Contains("has not released"));
}

TEST_CASE("wait_for: a receiver that has finished is the root of its senders") {
  ring_program p(3, 2, 4);
  p.dies_at[1] = 0;
  CHECK_FALSE(p.run());
  const auto r = p.report();
  REQUIRE(r.roots.size() == 1);
  CHECK(r.roots[0].kind == root_kind::peer);
  CHECK(r.roots[0].members == std::vector{waiting_pe(1)});
  CHECK_THAT(r.text,
             Contains("root: pod.sip0.cube_0_0.pe1 sleeps, but for none of its queue pairs (step round 0)"));
}

TEST_CASE("wait_for: the state of a root is said") {
  auto m = ring(3);
  arm(m, 0, west, arm_receive);
  for (const auto& [state, text] : {std::pair{events::core_state::done, "pe2 has finished its kernel"},
                                    {events::core_state::idle, "pe2 was never started"},
                                    {events::core_state::running, "pe2 is running or polling"}})
    CHECK_THAT(report_of(m, state).text, Contains(text));
}

TEST_CASE("wait_for: a wait for one's own DMA is its own root") {
  auto m = ring(3);
  m.write(0, qp_register(east, qp_tx_doorbell), 8);
  arm(m, 0, east, arm_source_read);
  const auto r = report_of(m);
  REQUIRE(r.roots.size() == 1);
  CHECK(r.roots[0].kind == root_kind::fault);
  CHECK(r.roots[0].waits[0].cause == wait_cause::own_dma);
  CHECK_THAT(r.text, Contains("pe0 E waits for its own DMA"));
}

TEST_CASE("wait_for: a ring that no queue pair writes is named") {
  auto m = ring(3);
  m[0].debug_write(qp_register(east, qp_peer_rx_base), 0x77);
  arm(m, 1, west, arm_receive);
  arm(m, 0, west, arm_receive);
  const auto r = report_of(m);
  REQUIRE(r.roots.size() == 2);
  CHECK(r.roots[0].waits[0].cause == wait_cause::unwired);
  CHECK_THAT(r.text,
             Contains("pe1 W waits for a message in its ring") && Contains("which no queue pair writes"));
  CHECK(r.roots[1].members == std::vector{waiting_pe(2)});
}

TEST_CASE("wait_for: sender matching on a ring of two is reported at the queue pair that starves") {
  ring_program p(2, 2, 5, protocol::match_by_sender);
  CHECK_FALSE(p.run());
  const auto r = p.report();
  REQUIRE(r.roots.size() == 2);
  for (std::uint32_t i = 0; i < 2; ++i) {
    CHECK(r.roots[i].kind == root_kind::fault);
    CHECK(r.roots[i].waits[0].cause == wait_cause::lost_message);
    CHECK(r.roots[i].waits[0].waiter == waiting_pe(i));
    CHECK(r.roots[i].waits[0].dir == west);
    CHECK(r.roots[i].waits[0].missing == 1);
  }
  CHECK_THAT(r.text, Contains("pe0 W waits for a message") && Contains("never became visible there"));
}

TEST_CASE("wait_for: the culprit of a hung program is named") {
  CHECK(rc::check("dead PE, lost message, lost credit", [] {
    const auto ranks = *rc::gen::inRange(3u, 9u);
    const auto rounds = *rc::gen::inRange(3u, 9u);
    const auto culprit = *rc::gen::inRange(0u, ranks);
    const auto when = *rc::gen::inRange(0u, rounds - 2);
    const auto fault = *rc::gen::inRange(0, 3);
    ring_program p(ranks, fault == 0 ? *rc::gen::inRange(1u, 3u) : 1, rounds);
    if (fault == 0) p.dies_at[culprit] = when;
    p.machine.lose = [&](std::size_t engine, const ipcq_fields& f, bool credit) {
      if (fault == 0 || engine != culprit || credit != (fault == 2)) return false;
      return f.sequence == (credit ? when + 1 : when);
    };
    RC_ASSERT_FALSE(p.run());
    const auto r = p.report();
    RC_ASSERT(r.roots.size() == 1u);
    const wait_root& root = r.roots[0];
    if (fault == 0) {
      RC_ASSERT(root.kind == root_kind::peer);
      RC_ASSERT(root.members == std::vector{waiting_pe(culprit)});
    } else {
      RC_ASSERT(root.kind == root_kind::fault);
      RC_ASSERT(root.waits[0].cause == (fault == 1 ? wait_cause::lost_message : wait_cause::lost_credit));
      RC_ASSERT(root.waits[0].on == waiting_pe(culprit));
      RC_ASSERT(root.waits[0].missing == 1u);
    }
  }));
}

TEST_CASE("wait_for: 200 generated programs hang, and the report names what only the generator knows") {
  std::map<test::defect, unsigned> hung;
  unsigned all = 0;
  for (std::uint32_t seed = 1; all < 200; ++seed) {
    REQUIRE(seed < 5000);
    test::hung_program program(seed);
    if (!program.hangs()) continue;  // what was broken was never needed
    const auto r = explain_waits(program.shape(), program.dump());
    CAPTURE(seed, static_cast<int>(program.secret().what), r.text);
    CHECK(test::misjudged(program.secret(), r) == "");
    ++hung[program.secret().what];
    ++all;
  }
  CHECK(hung.size() == test::defects);
  for (const auto& [what, count] : hung) CHECK(count >= 5);
}

TEST_CASE("wait_for: a message in flight explains a wait only while things move") {
  auto m = ring(3);
  m.lose = [](std::size_t, const ipcq_fields&, bool) { return true; };
  m.write(0, qp_register(east, qp_tx_doorbell), 8);
  m.deliver_all();
  arm(m, 1, west, arm_receive);
  stopped_machine stopped;
  for (std::size_t i = 0; i < m.size(); ++i)
    stopped.pes.push_back({m[i].self(), events::core_state::asleep, m[i].queue_pairs()});
  const ipcq_fields next{m.qp(1, west).rx_base, 0, 8, waiting_pe(0), east};
  const auto cause = [&] { return explain_waits({1, 1, 1, 3}, stopped).edges.at(0).cause; };
  CHECK(cause() == wait_cause::lost_message);

  stopped.flights = {{false, next, "in the fabric of sip0"}};
  const auto stuck = explain_waits({1, 1, 1, 3}, stopped);
  CHECK(stuck.edges.at(0).cause == wait_cause::in_flight);
  CHECK(stuck.roots.at(0).kind == root_kind::fault);
  CHECK_THAT(stuck.text, Contains("has sent 1, the next is in the fabric of sip0"));

  stopped.flights[0].fields.sequence = 1;  // the one after: it does not end the wait
  CHECK(cause() == wait_cause::lost_message);
  stopped.still = false;  // on a wire that no dump shows, perhaps
  CHECK(cause() == wait_cause::in_flight);
  const auto moving = explain_waits({1, 1, 1, 3}, stopped);
  CHECK(moving.roots.empty());
  CHECK_THAT(moving.text, Contains("the awaited messages may still arrive") && !Contains("nothing moves"));
}

TEST_CASE("wait_for: a PE that has stopped is a root though nobody waits for it") {
  auto m = ring(3);
  std::vector<pe_dump> dumps;
  for (std::size_t i = 0; i < m.size(); ++i) {
    const auto state = i == 1 ? events::core_state::running : events::core_state::done;
    dumps.push_back({m[i].self(), state, m[i].queue_pairs(), firmware_tasks{i == 1 ? "barrier 4" : ""}});
  }
  const auto r = explain_waits({1, 1, 1, 3}, {dumps, {}});
  REQUIRE(r.roots.size() == 1);
  CHECK(r.roots[0].kind == root_kind::peer);
  CHECK(r.roots[0].members == std::vector{waiting_pe(1)});
  CHECK_THAT(
      r.text,
      Contains("pe1 is running or polling (step barrier 4); 0 waits end there\n  hint: its core has stopped, "
               "waits for memory, or polls for a value that does not come: check its step\n"));
}

TEST_CASE("wait_for: a PE that waits for its own copy is a root of its own") {
  auto m = ring(3);
  std::vector<pe_dump> dumps;
  for (std::size_t i = 0; i < m.size(); ++i)
    dumps.push_back({m[i].self(), events::core_state::asleep, m[i].queue_pairs(), {}, true, {}});
  const auto r = explain_waits({1, 1, 1, 3}, {dumps, {}});
  REQUIRE(r.roots.size() == 3);
  CHECK(r.roots[1].waits[0].kind == wait_kind::copy);
  CHECK_THAT(r.text, Contains("root: pod.sip0.cube_0_0.pe1 waits for its own DMA to finish a copy"));
}

TEST_CASE("wait_for: polled words are waits for their expected writers") {
  auto m = ring(4);
  std::vector<pe_dump> dumps;
  for (std::size_t i = 0; i < m.size(); ++i)
    dumps.push_back({m[i].self(), events::core_state::running, m[i].queue_pairs()});
  // 0 -> 1 -> 0 by polling, 2 by its ring for 1, 3 for a PE that has no part in the run.
  dumps[0].polls = poll_request{0x40, compare::ge, 5, waiting_pe(1)};
  dumps[1].polls = poll_request{0x80, compare::eq, 6, waiting_pe(0)};
  arm(m, 2, west, arm_receive);
  dumps[2].queue_pairs = m[2].queue_pairs();
  dumps[3].polls = poll_request{0x40, compare::ne, 0, waiting_pe(9)};
  const auto r = explain_waits({1, 1, 1, 16}, {dumps, {}});
  REQUIRE(r.roots.size() == 2);
  CHECK(r.roots[0].kind == root_kind::fault);
  CHECK(r.roots[0].waits[0].cause == wait_cause::unwired);
  CHECK(r.roots[1].kind == root_kind::cycle);
  CHECK(r.roots[1].members == std::vector{waiting_pe(0), waiting_pe(1)});
  CHECK_THAT(r.text, Contains("hint: each waits for a word that another one of them sets") &&
                         !Contains("do not alternate"));
  CHECK_THAT(r.text,
             Contains("pe0 polls the word at 0x40 of its TCM until it is >= 5, which pod.sip0.cube_0_0.pe1 "
                      "is expected to write"));
  CHECK_THAT(r.text, Contains("pe9 is expected to write and has no part in this run"));
}

namespace {

diecast::abi::operation_note message(diecast::abi::operation_kind kind, std::optional<pe_coord> peer,
                                     std::uint32_t tag) {
  diecast::abi::operation_note n;
  n.kind = kind;
  n.phase = diecast::abi::operation_phase::awaited;
  n.peer = peer;
  n.tag = tag;
  n.bytes = 64;
  return n;
}

}  // namespace

TEST_CASE("wait_for: tag-matched messages are waits for their peers") {
  using diecast::abi::operation_kind;
  auto m = ring(6);
  std::vector<pe_dump> dumps;
  for (std::size_t i = 0; i < m.size(); ++i)
    dumps.push_back({m[i].self(), events::core_state::asleep, m[i].queue_pairs()});
  // 0 waits for 1, which waits for 2, which takes what anybody sends; 3 for itself; 4 for one outside; 5 for
  // 0.
  dumps[0].awaits = {message(operation_kind::receive, waiting_pe(1), 8)};
  dumps[1].awaits = {message(operation_kind::send, waiting_pe(2), 9)};
  dumps[2].awaits = {message(operation_kind::receive, std::nullopt, 7)};
  dumps[3].awaits = {message(operation_kind::receive, waiting_pe(3), 1)};
  dumps[4].awaits = {message(operation_kind::receive, waiting_pe(9), 1)};
  dumps[5].awaits = {message(operation_kind::receipt, waiting_pe(0), 0)};
  dumps.push_back({waiting_pe(6), events::core_state::asleep, {}, firmware_tasks{"end of messaging"}});
  dumps.push_back({waiting_pe(7), events::core_state::done, {}});
  dumps[6].awaits = {message(operation_kind::receipt, waiting_pe(7), 0)};
  const auto r = explain_waits({1, 1, 1, 16}, {dumps, {}});
  REQUIRE(r.roots.size() == 4);
  CHECK(r.roots[0].kind == root_kind::fault);
  CHECK(r.roots[0].waits[0].waiter == waiting_pe(4));
  CHECK(r.roots[0].waits[0].cause == wait_cause::unwired);
  CHECK(r.roots[1].kind == root_kind::fault);
  CHECK(r.roots[1].waits[0].waiter == waiting_pe(6));
  CHECK(r.roots[1].waits[0].cause == wait_cause::ended);
  CHECK(r.roots[2].kind == root_kind::peer);
  CHECK(r.roots[2].members == std::vector{waiting_pe(2)});
  CHECK(r.roots[3].kind == root_kind::cycle);
  CHECK(r.roots[3].members == std::vector{waiting_pe(3)});
  CHECK_THAT(
      r.text,
      Contains(
          "pod.sip0.cube_0_0.pe0 waits for a message of pod.sip0.cube_0_0.pe1, tag 8 of communicator 0"));
  CHECK_THAT(r.text, Contains("which has no part in this run"));

  // A packet that stands on a link is no loss, and no circle of waits; it comes before the other roots.
  diecast::analysis::other_packet held{{}, "held on a link", diecast::analysis::fabric_place::held};
  held.header.kind = diecast::abi::packet_kind::tag_message;
  held.header.tag.source = waiting_pe(7);
  const auto stuck = explain_waits({1, 1, 1, 16}, {dumps, {}, true, {held}}).roots.at(0);
  CHECK(stuck.waits.at(0).waiter == waiting_pe(6));
  CHECK(stuck.waits.at(0).cause == wait_cause::in_flight);
  CHECK(stuck.waits.at(0).where == "held on a link");
}

TEST_CASE("wait_for: a barrier says how far a PE is in it, and its flag is the wait") {
  auto m = ring(2);
  std::vector<pe_dump> dumps;
  for (std::size_t i = 0; i < m.size(); ++i)
    dumps.push_back(
        {m[i].self(), events::core_state::running, m[i].queue_pairs(), firmware_tasks{"enter barrier 3"}});
  diecast::abi::operation_note n;
  n.kind = diecast::abi::operation_kind::barrier;
  n.phase = diecast::abi::operation_phase::awaited;
  n.algorithm = "dissemination";
  n.count = 4;
  n.stage = "round";
  n.stage_number = 2;
  n.peer = waiting_pe(1);
  dumps[0].awaits = {n};
  dumps[0].watches = signal_watch{0x40, compare::eq, 4, true, waiting_pe(1)};
  CHECK(present_step(dumps[0]) == "enter barrier 3: dissemination of team 0, count 4, round 2");
  CHECK(present_step(dumps[1]) == "enter barrier 3");
  const auto r = explain_waits({1, 1, 1, 2}, {dumps, {}});
  CHECK(r.edges.size() == 1);  // not one more for the note
  REQUIRE(r.roots.size() == 1);
  CHECK(r.roots[0].members == std::vector{waiting_pe(1)});
  // What keeps it from seeing the word is the root, not the cycle of waits behind it.
  dumps[1].watches = signal_watch{0x80, compare::eq, 4, true, waiting_pe(0)};
  std::vector<watched_word> words{{waiting_pe(0), *dumps[0].watches, {}, 3, {}, {}},
                                  {waiting_pe(1), *dumps[1].watches, {}, 3, {}, {}}};
  const auto roots = [&] { return explain_waits({1, 1, 1, 2}, {dumps, {}, true, {}, words}).roots; };
  CHECK(roots().at(0).kind == root_kind::cycle);
  words[1].writer = cached_word{4, true};
  REQUIRE(roots().size() == 1);
  CHECK(roots()[0].kind == root_kind::fault);
  CHECK(roots()[0].waits.at(0).cause == wait_cause::signal);
}
