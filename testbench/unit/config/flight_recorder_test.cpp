// SPDX-License-Identifier: Apache-2.0
#include "platforms/observe/flight_recorder.hpp"

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
    for (const auto& o : recorder.operations_of(pe)) text += o.completed ? 'c' : 'o';
    return text;
  }
};

}  // namespace

TEST_CASE("flight recorder: a credit completes what came before it and no more") {
  bench b(8);
  for (std::uint32_t s = 0; s < 4; ++s) b.send(0, s);
  b.credit(0, 2);
  CHECK(b.states() == "ccoo");
  b.credit(0, 1);  // one that was overtaken says nothing new
  CHECK(b.states() == "ccoo");
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

TEST_CASE("flight recorder: sequence numbers wrap") {
  bench b(4);
  b.send(0, 0xffffffff);
  b.send(0, 0);
  b.credit(0, 0);
  CHECK(b.states() == "co");
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
