// SPDX-License-Identifier: Apache-2.0
// The checker of barriers, told what no machine need do: who escaped, how often, of which rank.
#include "models/analysis/barrier_checker.hpp"

#include "support/test.hpp"

namespace diecast::analysis {
namespace {

constexpr machine_shape shape{1, 3, 1, 2};

/// Three ranks of two PEs.
struct three_ranks {
  three_ranks() {
    std::vector<pe_coord> all;
    for (std::uint32_t i = 0; i < 6; ++i) all.push_back(shape.pe_at(i));
    checker.expect("b", all, {0, 0, 1, 1, 2, 2});
  }
  void mark(std::string_view what, std::uint32_t pe, double ns, std::uint32_t call = 0) {
    const std::string text = std::string(what) + " b";
    checker.on(events::step_entered{nanoseconds(ns), shape.pe_at(pe), text, call});
  }
  void enter(std::uint32_t pe, double ns, std::uint32_t call = 0) {
    mark(barrier_checker::enter, pe, ns, call);
  }
  void leave(std::uint32_t pe, double ns, std::uint32_t call = 0) {
    mark(barrier_checker::left, pe, ns, call);
  }

  barrier_checker checker{shape};
};

}  // namespace

TEST_CASE("barrier checker: nobody escapes who leaves behind the last that enters") {
  three_ranks b;
  for (const std::uint32_t pe : {4U, 0U, 5U, 1U, 3U, 2U}) b.enter(pe, 10 + pe);
  for (std::uint32_t pe = 0; pe < 6; ++pe) b.leave(pe, 15);  // the latest came at 15
  CHECK(b.checker.escapes() == 0);
  CHECK(b.checker.escaped_ranks() == 0);
  const auto seen = b.checker.of("b", 0, 1);
  CHECK(seen.entered == 6);
  CHECK(seen.left == 6);
}

TEST_CASE("barrier checker: escapes count by PE and, once for each call, by rank") {
  three_ranks b;
  for (const std::uint32_t pe : {0U, 2U, 3U, 4U, 5U}) b.enter(pe, 10);
  b.leave(2, 20);
  b.leave(3, 21);
  b.leave(5, 22);
  CHECK(b.checker.escapes() == 3);
  CHECK(b.checker.escaped_ranks() == 2);
  const std::string first = b.checker.first_escape();
  CHECK(first ==
        "pod.sip0.cube_1_0.pe0 left barrier b 0 of its launch at 20.000 ns; 1 of 6 PEs had not entered it, "
        "pod.sip0.cube_0_0.pe1 among them");
  b.enter(1, 30);
  b.leave(4, 31);  // rank 4 escaped an earlier barrier; it leaves this one in time
  b.leave(0, 32);
  b.leave(1, 33);
  CHECK(b.checker.escapes() == 3);
  b.enter(2, 40, 1);
  b.leave(2, 41, 1);
  CHECK(b.checker.escapes() == 4);
  CHECK(b.checker.escaped_ranks() == 3);
  CHECK(b.checker.of("b", 0, 1).escaped_ranks == 2);
  CHECK(b.checker.of("b", 1, 1).escaped_ranks == 1);
}

TEST_CASE("barrier checker: a mark that comes early with a later time is no entry yet") {
  three_ranks b;
  for (std::uint32_t pe = 0; pe < 5; ++pe) b.enter(pe, 10);
  b.enter(5, 50);  // its clock runs ahead
  b.leave(0, 20);
  CHECK(b.checker.escapes() == 1);
  b.leave(1, 50);
  CHECK(b.checker.escapes() == 1);
}

TEST_CASE("barrier checker: marks of strangers and of barriers nobody announced are refused") {
  three_ranks b;
  b.checker.expect("pair", {shape.pe_at(0), shape.pe_at(1)}, {0, 1});
  CHECK_THROWS_WITH(b.checker.on(events::step_entered{{}, shape.pe_at(2), "enter barrier pair", 0}),
                    "pod.sip0.cube_1_0.pe0 marks barrier \"pair\", of which it is no member");
  CHECK_THROWS_WITH(b.checker.on(events::step_entered{{}, shape.pe_at(2), "left barrier c", 0}),
                    "a PE marks barrier \"c\", which is not registered");
}

TEST_CASE("barrier checker: entries and leavings that differ are a complaint with both numbers") {
  three_ranks b;
  for (std::uint32_t pe = 0; pe < 6; ++pe) b.enter(pe, 10);
  for (std::uint32_t pe = 0; pe < 5; ++pe) b.leave(pe, 20);
  const auto seen = b.checker.of("b", 0, 1);
  CHECK(barrier_checker::complaint("b", seen, 6) ==
        "barrier b: PEs entered it 6 times and left it 5 times; expected 6 of both");
  b.leave(5, 30);
  CHECK(barrier_checker::complaint("b", b.checker.of("b", 0, 1), 6).empty());
  CHECK(!barrier_checker::complaint("b", b.checker.of("b", 0, 2), 12).empty());  // the second has not been
}

}  // namespace diecast::analysis
