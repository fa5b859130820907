// SPDX-License-Identifier: Apache-2.0
#include "platforms/result/flight_recorder.hpp"

#include "testbench/support/test.hpp"

using namespace diecast;

namespace {

const pe_coord pe{};

events::message_event message(events::message_phase phase, std::uint16_t qp, std::uint32_t sequence) {
  events::message_event e{};
  e.pe = pe;
  e.phase = phase;
  e.qp = qp;
  e.sequence = sequence;
  return e;
}

struct bench {
  observe::flight_recorder recorder;
  explicit bench(std::uint64_t kept) : recorder({1, 1, 1, 1}, kept) {}
  void send(std::uint16_t qp, std::uint32_t sequence) {
    recorder.on(message(events::message_phase::sent, qp, sequence));
  }
  /// A credit for everything before `sequence`.
  void credit(std::uint16_t qp, std::uint32_t sequence) {
    recorder.on(message(events::message_phase::credited, qp, sequence));
  }
  std::string states() const {
    std::string text;
    for (const auto& o : recorder.operations_of(pe))
      text += o.state == observe::flight_state::completed ? 'c' : 'o';
    return text;
  }
};

}  // namespace

TEST_CASE("flight recorder: a credit completes what came before it and no more, over a wrap too") {
  bench b(8);
  for (std::uint32_t s = 0; s < 4; ++s) b.send(0, s);
  b.credit(0, 2);
  CHECK(b.states() == "ccoo");
  b.credit(0, 1);  // one that was overtaken says nothing new
  CHECK(b.states() == "ccoo");
  bench wrapped(4);
  wrapped.send(0, 0xffffffff);
  wrapped.send(0, 0);
  wrapped.credit(0, 0);
  CHECK(wrapped.states() == "co");
}

TEST_CASE("flight recorder: an open operation stays open when the ring has lost those before it") {
  bench b(2);
  for (std::uint32_t s = 0; s < 4; ++s) b.send(0, s);  // the ring holds 2 and 3
  b.credit(0, 1);
  CHECK(b.states() == "oo");
  b.credit(0, 3);
  CHECK(b.states() == "co");
  // The next sequence number was never recorded: a message of another queue pair has its place.
  bench c(1);
  c.send(0, 0);
  c.send(1, 0);
  c.credit(0, 1);
  CHECK(c.states() == "o");
}

TEST_CASE("flight recorder: a launch begins before its first step") {
  bench b(4);
  events::step_entered e{};
  e.pe = pe;
  e.name = "ring";
  e.index = 3;
  b.recorder.on(e);
  b.send(0, 0);
  b.recorder.next_launch();
  b.send(0, 1);
  const auto all = b.recorder.operations_of(pe);
  CHECK(b.recorder.step_name(all[0].step) == "ring");
  CHECK(all[0].step_index == 3);
  CHECK(b.recorder.step_name(all[1].step).empty());
  CHECK(all[1].step_index == 0);
}

namespace {

diecast::abi::operation_note note(diecast::abi::operation_kind kind, diecast::abi::operation_phase phase,
                                  std::uint32_t id) {
  diecast::abi::operation_note n;
  n.kind = kind;
  n.phase = phase;
  n.id = id;
  return n;
}

}  // namespace

TEST_CASE("flight recorder: a receive from anybody gets its sender, tag and size when a message matches") {
  using diecast::abi::operation_kind, diecast::abi::operation_phase;
  bench b(4);
  const auto hear = [&b](const diecast::abi::operation_note& n, std::uint64_t fs) {
    b.recorder.on(events::operation_changed{femtoseconds(fs), pe, n});
  };
  diecast::abi::operation_note wanted = note(operation_kind::receive, operation_phase::posted, 7);
  wanted.bytes = 1024;
  hear(wanted, 10);
  auto o = b.recorder.operations_of(pe).front();
  CHECK(o.what == observe::flight_kind::message);
  CHECK(o.state == observe::flight_state::scheduled);
  CHECK_FALSE(o.peer);
  CHECK_FALSE(o.tag);
  diecast::abi::operation_note matched = note(operation_kind::receive, operation_phase::started, 7);
  matched.peer = pe_coord{sip_id{0}, cube_id{0}, pe_id{0}};
  matched.tag = 5;
  matched.bytes = 256;
  hear(matched, 20);
  hear(note(operation_kind::receive, operation_phase::completed, 7), 30);
  // What nobody posted has no record: a probe, or the same number after its end.
  hear(note(operation_kind::probe, operation_phase::awaited, 0), 31);
  hear(note(operation_kind::receive, operation_phase::completed, 7), 40);
  REQUIRE(b.recorder.operations_of(pe).size() == 1);
  o = b.recorder.operations_of(pe).front();
  CHECK(o.state == observe::flight_state::completed);
  CHECK(o.peer == matched.peer);
  CHECK(o.tag == 5U);
  CHECK(o.bytes == 256);
  CHECK(o.created.fs == 10);
  CHECK(o.started.fs == 20);
  CHECK(o.ended.fs == 30);
}

TEST_CASE("flight recorder: teams that take a slot one after the other are groups of their own") {
  using diecast::abi::operation_kind, diecast::abi::operation_phase;
  bench b(8);
  const std::vector<pe_coord> two{pe, {sip_id{0}, cube_id{0}, pe_id{1}}}, one{pe};
  const auto barrier = [&b](const std::vector<pe_coord>& members, bool leaves) {
    diecast::abi::operation_note n = note(operation_kind::barrier, operation_phase::posted, 3);
    n.group = 3;
    n.members = members;
    b.recorder.on(events::operation_changed{sim_time{}, pe, n});
    n.phase = operation_phase::completed;
    if (leaves) b.recorder.on(events::operation_changed{sim_time{}, pe, n});
  };
  barrier(two, true);
  barrier(one, true);
  barrier(two, false);
  REQUIRE(b.recorder.groups().size() == 2);
  CHECK(b.recorder.groups()[0].members == two);
  CHECK(b.recorder.barriers_of(pe, 0).entered == 2);
  CHECK(b.recorder.barriers_of(pe, 0).left == 1);
  CHECK(b.recorder.barriers_of(pe, 1).left == 1);
  const auto all = b.recorder.operations_of(pe);
  CHECK(all.back().group == 0);
  CHECK(all.back().sequence == 2);
}

TEST_CASE("flight recorder: a PE that no list tells is a member behind its rank's first, in any order") {
  using diecast::abi::operation_kind, diecast::abi::operation_phase;
  const auto at = [](std::uint32_t cube, std::uint32_t p) {
    return pe_coord{sip_id{0}, cube_id{cube}, pe_id{p}};
  };
  const std::vector<pe_coord> first_of_ranks{at(1, 0), at(0, 1)};  // a team of cubes, the second one first
  const std::vector<pe_coord> all{at(1, 0), at(1, 1), at(1, 2), at(0, 1), at(0, 2)};
  for (const std::vector<std::size_t>& order : {std::vector<std::size_t>{0, 1, 2, 3, 4}, {4, 2, 1, 3, 0}}) {
    observe::flight_recorder recorder({1, 2, 1, 3}, 4);
    for (const std::size_t i : order) {
      diecast::abi::operation_note n = note(operation_kind::barrier, operation_phase::posted, 0);
      n.members = first_of_ranks;
      recorder.on(events::operation_changed{sim_time{}, all[i], n});
    }
    REQUIRE(recorder.groups().size() == 1);
    CHECK(recorder.groups()[0].members == all);
  }
}
