// SPDX-License-Identifier: Apache-2.0
// Barriers as ops of workloads: beside collectives and each other, in teams of their own, hanging visibly.
#include <fmt/format.h>
#include <map>
#include <numeric>

#include "models/analysis/barrier_checker.hpp"
#include "models/comm/sync_layout.hpp"
#include "note_ledger.hpp"
#include "support/test.hpp"
#include "unit/sw/collectives/base/collective_bench.hpp"
#include "workload_bench.hpp"

namespace diecast::test {
namespace {

config::machine_config machine(std::uint32_t cubes, std::uint32_t pes) {
  matrix_row row;
  row.shape = {1, cubes, 1, pes};
  config::machine_config c = config_of(row);
  c.ipcq.queue_pairs = 64;
  return c;
}

comm::workload_op barrier(const std::string& id, const std::string& algorithm, std::uint64_t times = 1,
                          const std::string& ranks = "pe") {
  return local(id, "barrier",
               {{"algorithm", algorithm}, {"ranks", ranks}, {"times", times}, {"quiet", times % 2 == 0}});
}

comm::workload_op in_team(const std::string& id, std::vector<std::uint64_t> team, std::uint64_t times) {
  comm::workload_op o = barrier(id, "dissemination", times);
  o.fields["team"] = std::move(team);
  return o;
}

/// Runs the workload with a checker outside; what is wrong, escapes included. `calls`: of all PEs.
std::string run_watched(const comm::workload& w, const config::machine_config& c, sw::mock_options options,
                        const std::map<std::string, std::vector<std::uint32_t>>& members,
                        std::uint64_t calls) {
  analysis::barrier_checker checker(c.shape());
  for (const auto& [id, ranks] : members) {
    std::vector<pe_coord> pes;
    for (const std::uint32_t r : ranks) pes.push_back(c.shape().pe_at(r));
    checker.expect(id, pes, ranks);
  }
  std::uint64_t marks = 0;
  options.on_step = [&](pe_coord pe, const abi::step_marker& s) {
    checker.on(events::step_entered{femtoseconds(++marks), pe, s.name, s.index});
  };
  note_ledger notes;
  options.on_note = [&notes](pe_coord pe, const abi::operation_note& n) { notes.hear(pe, n); };
  const auto outcome = run_workload(w, c, options);
  if (!outcome.wrong.empty()) return outcome.wrong;
  if (!notes.complaint().empty()) return notes.complaint();
  if (checker.escapes() > 0) return checker.first_escape();
  if (notes.posted(abi::operation_kind::barrier) < calls) return "a barrier was not noted";
  std::uint64_t entered = 0, left = 0;
  for (const auto& [id, ranks] : members) {
    entered += checker.of(id, 0, UINT32_MAX).entered;
    left += checker.of(id, 0, UINT32_MAX).left;
  }
  if (entered == calls && left == calls) return {};
  return fmt::format("{} entered and {} left, expected {}", entered, left, calls);
}

TEST_CASE("workload barriers: overlapping groups, beside collectives, each other and work") {
  auto aside = barrier("aside", "centralized_pull", 3);
  aside.after.emplace();  // at any time beside the others of its stream
  const auto w = workload_of(
      {stream_on("a", {0, 1, 2, 3, 4}, {barrier("a0", "dissemination"), collective("a1", 64)}, 6),
       stream_on("b", {5, 4, 3, 2}, {barrier("b0", "group_dissemination", 2), aside, collective("b1", 128)},
                 4),
       stream_on("c", {3, 0},
                 {local("c0", "compute", {{"cycles", std::uint64_t{900}}}), barrier("c1", "auto")}, 5),
       stream_on("d", {3}, {local("d0", "delay", {{"ns", 3000.0}})}, 3)});
  const std::map<std::string, std::vector<std::uint32_t>> members = {
      {"a0", {0, 1, 2, 3, 4}}, {"b0", {2, 3, 4, 5}}, {"aside", {2, 3, 4, 5}}, {"c1", {0, 3}}};
  config::machine_config c = machine(1, 6);
  c.ccl.barrier_start = UINT32_MAX - 3;
  check_orders(8,
               [&](const auto& o) { return run_watched(w, c, o, members, 5 * 6 + 4 * 4 * (2 + 3) + 2 * 5); });
}

TEST_CASE("workload barriers: cubes arrive as ranks, two chains of a PE in core barriers at one time") {
  const auto w = workload_of(
      {stream_on("all", {0, 1, 2, 3, 4, 5, 6, 7, 8}, {barrier("x", "group_dissemination", 2, "cube")}, 5),
       stream_on("two", {3, 4, 5, 0, 1, 2}, {barrier("y", "centralized_pull", 1, "cube")}, 7)});
  const std::map<std::string, std::vector<std::uint32_t>> members = {{"x", {0, 1, 2, 3, 4, 5, 6, 7, 8}},
                                                                     {"y", {0, 1, 2, 3, 4, 5}}};
  check_orders(8, [&](const auto& o) { return run_watched(w, machine(3, 3), o, members, 9 * 10 + 6 * 7); });
}

TEST_CASE("workload barriers: teams that firmware makes in slots given back, beside a placed team") {
  const auto w = workload_of(
      {stream_on("teams", {0, 1, 2, 3},
                 {in_team("t0", {0, 1}, 5), in_team("t1", {2, 1}, 4), in_team("t2", {3, 0, 1}, 3)}, 2),
       stream_on("placed", {1, 3}, {barrier("p", "dissemination")}, 9)});
  const std::map<std::string, std::vector<std::uint32_t>> members = {
      {"t0", {0, 1}}, {"t1", {1, 2}}, {"t2", {0, 1, 3}}, {"p", {1, 3}}};
  check_orders(
      8, [&](const auto& o) { return run_watched(w, machine(1, 4), o, members, 2 * (10 + 8 + 9) + 18); });
}

TEST_CASE("workload barriers: a team in a slot that was not cleared hangs, and the report says why") {
  const auto w =
      workload_of({stream_on("s", {0, 1, 2}, {in_team("first", {0, 1}, 5), in_team("second", {1, 2}, 1)})});
  config::machine_config c = machine(1, 3);
  c.ccl.errata = "reused_team_state";
  for (const auto order : schedules)
    CHECK(run_workload(w, c, {.order = order}).wrong.find("counters disagree: in team slot 2") !=
          std::string::npos);
}

TEST_CASE("workload barriers: PEs whose chains all poll without success are found to be stuck") {
  const auto w =
      workload_of({stream_on("a", {0, 1, 2}, {barrier("x", "dissemination")}),
                   stream_on("b", {2, 1, 0}, {barrier("y", "centralized_pull")}),
                   stream_on("c", {0, 1}, {local("d", "delay", {{"ns", 5000.0}}), collective("r", 64)})});
  config::machine_config c = machine(1, 3);
  c.ccl.errata = "set_without_dcci";
  for (const auto order : schedules) {
    const auto outcome = run_workload(w, c, {.order = order});
    CAPTURE(sw::to_string(order));
    CHECK(outcome.wrong.find("nothing can move") != std::string::npos);
    CHECK(outcome.wrong.find("unflushed signal") != std::string::npos);
  }
}

TEST_CASE("workload barriers: the HBM of other ops lies above the flags") {
  auto copy =
      local("m", "memory",
            {{"bytes", std::uint64_t{100'000}}, {"where", std::string("hbm")}, {"read_fraction", 0.5}});
  copy.after.emplace();
  const auto w = workload_of({stream_on("s", {0, 1}, {barrier("b", "dissemination", 20), copy}, 2)});
  const config::machine_config c = machine(1, 2);
  CHECK(run_workload(w, c).wrong == "");
  config::machine_config small = c;
  small.hbm.port_mib = (comm::sync_port_bytes(c) >> 20) + 1;
  copy.fields["bytes"] = std::uint64_t{1} << 30;  // two areas of 256 KiB
  auto again = copy;
  again.id = "n";
  const auto big = workload_of(
      {stream_on("s", {0, 1}, {barrier("b", "dissemination"), copy}), stream_on("t", {0}, {again})});
  const std::string wrong = run_workload(big, small).wrong;
  INFO(wrong);
  CHECK(wrong.find("bytes of flags") != std::string::npos);
}

TEST_CASE("workload barriers: auto takes what the team and the group that makes it have flags for") {
  // Radix 22: one round, 21 flags, up to 22 ranks; two rounds, 42 of 40 flags, beyond.
  auto c = machine(3, 8);
  c.ccl.barrier_radix = 22;
  std::vector<std::uint64_t> group(23);
  std::iota(group.begin(), group.end(), std::uint64_t{0});
  for (const char* algorithm : {"auto", "group_dissemination"}) {
    comm::workload_op op = in_team("b", {0, 1, 2, 3, 4, 5, 6, 7}, 2);
    op.fields["algorithm"] = std::string(algorithm);
    const std::string wrong = run_workload(workload_of({stream_on("s", group, {op})}), c).wrong;
    CAPTURE(algorithm);
    if (op.get<std::string>("algorithm") == "auto") {
      CHECK(wrong == "");
    } else {
      CHECK(wrong.find("23 ranks need 42 flags") != std::string::npos);
    }
  }
}

TEST_CASE("workload barriers: what cannot be is refused") {
  const auto refused = [](const comm::workload& w, const config::machine_config& c, const std::string& why) {
    const std::string wrong = run_workload(w, c).wrong;
    INFO(wrong);
    CHECK(wrong.find(why) != std::string::npos);
  };
  const auto c = machine(2, 2);
  refused(workload_of({stream_on("s", {0, 1, 2}, {barrier("b", "auto", 1, "cube")})}), c,
          "the group lacks PEs of cube 1");
  refused(workload_of({stream_on("s", {0, 1}, {in_team("b", {0, 2}, 1)})}), c, "no such rank in the group");
  refused(workload_of({stream_on("s", {0, 1}, {in_team("b", {1, 1}, 1)})}), c, "rank named twice");
  refused(workload_of({stream_on("s", {0, 1}, {in_team("b", {}, 1)})}), c, "a team needs a rank");
  refused(workload_of({stream_on("s", {0, 1}, {in_team("b", {0}, 1)}),
                       stream_on("t", {1, 2}, {in_team("d", {0}, 1)})}),
          c, "two streams of a PE may create teams");
  refused(workload_of({stream_on("s", {0, 1}, {barrier("b", "auto", 3'000'000'000ULL)}, 2)}), c,
          "more barriers in a run than barrier counters can number");
  auto wide = c;
  wide.ccl.barrier_radix = 64;
  refused(workload_of({stream_on("s", {0, 1}, {barrier("b", "group_dissemination")})}), wide,
          "of which a team has 40");
}

}  // namespace
}  // namespace diecast::test
