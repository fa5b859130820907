// SPDX-License-Identifier: Apache-2.0
// Workloads on the mock machine: streams side by side, order, memory, verification that can fail.
#include <algorithm>
#include <fmt/format.h>

#include "models/random/stream.hpp"
#include "models/types/error.hpp"
#include "support/test.hpp"
#include "sw/collectives/exchange/step_schedule.hpp"
#include "sw/host/collective.hpp"
#include "unit/sw/collectives/base/collective_bench.hpp"
#include "workload_bench.hpp"

namespace {

using namespace diecast;
using test::check_orders;
using test::collective;
using test::local;
using test::run_workload;
using test::schedules;
using test::stream_on;
using test::workload_of;

config::machine_config machine(std::uint32_t pes, std::uint64_t n_slots = 2) {
  test::matrix_row row;
  row.shape = {1, 1, 1, pes};
  row.n_slots = n_slots;
  config::machine_config c = test::config_of(row);
  c.ipcq.queue_pairs = 64;
  return c;
}

TEST_CASE("collectives over overlapping groups do not mix their messages") {
  const auto w = workload_of({stream_on("a", {0, 1, 2, 3}, {collective("a0", 252), collective("a1", 64)}, 3),
                              stream_on("b", {3, 1, 0}, {collective("b0", 512), collective("b1", 4)}, 2),
                              stream_on("c", {2, 3}, {collective("c0", 128, "ring_1d_unidir")}, 4)});
  check_orders(10, [&](const auto& o) { return run_workload(w, machine(4, 1 + o.seed % 3), o).wrong; });
}

TEST_CASE("a collective whose kernel has an image sums in f32, too") {
  test::matrix_row row;
  row.shape = {2, 2, 1, 2};
  config::machine_config c = test::config_of(row);
  c.ipcq.queue_pairs = 64;
  c.ccl.accumulate = config::accumulation::f32_acc;
  comm::workload_op sum = collective("sum", 512, "two_level");
  sum.fields["dtype"] = std::string("f16");
  const auto w = workload_of({stream_on("s", {0, 1, 2, 3, 4, 5, 6, 7}, {sum}, 2)});
  CHECK(run_workload(w, c).wrong == "");
}

TEST_CASE("a broadcast on packed trees has a queue pair for each edge in a workload") {
  test::matrix_row row;
  row.shape = {2, 3, 2, 1};
  row.n_slots = 1;
  config::machine_config c = test::config_of(row);
  c.ipcq.queue_pairs = 16;  // the trees alone would use them all
  const auto broadcast = [](const std::string& id, std::uint64_t root) {
    return local(id, "broadcast",
                 {{"bytes", std::uint64_t{2048}},
                  {"algorithm", std::string("packed_trees")},
                  {"dtype", std::string("f32")},
                  {"root", root}});
  };
  const auto w = workload_of({stream_on("s", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11},
                                        {broadcast("first", 0), broadcast("second", 7)}, 2)});
  check_orders(5, [&](const auto& o) { return run_workload(w, c, o).wrong; });
}

TEST_CASE("two all-to-alls by the clock run side by side") {
  test::matrix_row row;
  row.shape = {1, 4, 2, 1};
  row.n_slots = 1;
  config::machine_config c = test::config_of(row);
  c.ipcq.queue_pairs = 64;
  const comm::group g = comm::map_ranks(c.shape(), comm::rank_set::pe);
  REQUIRE(comm::step_times_of({c, c.shape(), g}, comm::step_load::blocks));
  const std::uint64_t bytes = 16 * c.ipcq.slot_bytes;  // two slots for each of 8 ranks
  const auto exchange = [bytes](const std::string& id) {
    return local(id, "all_to_all",
                 {{"bytes", bytes}, {"algorithm", std::string("mesh_steps")}, {"dtype", std::string("f32")}});
  };
  const std::vector<std::uint64_t> all{0, 1, 2, 3, 4, 5, 6, 7};
  const auto w =
      workload_of({stream_on("a", all, {exchange("x")}, 2), stream_on("b", all, {exchange("y")}, 2)});
  check_orders(5, [&](const auto& o) { return run_workload(w, c, o).wrong; });
}

TEST_CASE("ops of a stream run in order unless after says otherwise") {
  auto first = local("first", "memory", {{"bytes", std::uint64_t{20'000}}, {"where", std::string("hbm")}});
  auto beside = collective("beside", 128);
  beside.after.emplace();
  auto join = collective("join", 128);
  join.after = {"first", "beside"};
  const auto outcome =
      run_workload(workload_of({stream_on("s", {0, 1}, {first, beside, join}, 2)}), machine(2));
  REQUIRE(outcome.wrong == "");
  const auto& r = outcome.records;
  for (std::size_t k = 0; k < 2; ++k) {
    CHECK(r[1][k].start < r[0][k].end);  // side by side
    CHECK(r[2][k].end > std::max(r[0][k].end, r[1][k].end));
  }
  CHECK(r[0][1].end > r[2][0].start);
}

TEST_CASE("a PE that is not in the op's group passes over it when those before it have ended") {
  auto two = collective("two", 64);
  two.group = "two";
  two.after = {"all", "work"};
  auto work = local("work", "compute", {{"cycles", std::uint64_t{9000}}});
  auto next = local("next", "compute", {{"cycles", std::uint64_t{10}}});
  work.group = next.group = "one";
  next.after = {"two"};
  const std::vector<std::uint64_t> pes{0, 1, 2, 3};
  auto w = workload_of({stream_on("s", pes, {collective("all", 64), two}, 3), stream_on("t", pes, {work}, 3),
                        stream_on("u", pes, {next}, 3)});
  w.groups = {{"one", "one", comm::rank_set::pe, {{0}}}, {"two", "two", comm::rank_set::pe, {{1, 2}}}};
  check_orders(3, [&](const auto& o) -> std::string {
    const auto [wrong, r] = run_workload(w, machine(4), o);
    for (std::size_t k = 0; wrong.empty() && k < 3; ++k) {
      if (r[3][k].start < r[2][k].end) return "next begins before the work has ended";
      if (k > 0 && r[0][k].end < r[2][k - 1].end)
        return "an iteration begins before the one before has ended";
    }
    return wrong;
  });
}

TEST_CASE("computing and idling streams leave others their turns") {
  const auto w =
      workload_of({stream_on("work", {0, 1}, {local("c", "compute", {{"cycles", std::uint64_t{5000}}})}, 3),
                   stream_on("idle", {0, 1}, {local("d", "delay", {{"ns", 700.0}})}, 3),
                   stream_on("talk", {1, 0}, {collective("r", 256)}, 5)});
  for (const auto order : schedules) CHECK(run_workload(w, machine(2), {.order = order}).wrong == "");
}

TEST_CASE("streams wait for each other's ops on the same PE") {
  auto a = collective("a", 64);
  auto b = collective("b", 64);
  b.after = {"a"};
  auto c = collective("c", 64);
  c.after = {"b"};
  const auto w = workload_of({stream_on("one", {0, 1}, {a, c}, 2), stream_on("two", {0, 1}, {b}, 2)});
  const auto outcome = run_workload(w, machine(2));
  REQUIRE(outcome.wrong == "");
  CHECK(outcome.records[2][0].end > outcome.records[0][0].end);
  CHECK(outcome.records[1][0].end > outcome.records[2][0].end);
}

TEST_CASE("memory traffic is verified, whatever its direction and length") {
  for (const std::uint64_t bytes : {1ull, 63ull, 8192ull, 8193ull, 300'000ull}) {
    for (const double reads : {0.0, 0.3, 1.0}) {
      const auto w = workload_of({stream_on(
          "m", {0, 1},
          {local("m", "memory", {{"bytes", bytes}, {"where", std::string("hbm")}, {"read_fraction", reads}})},
          2)});
      CAPTURE(bytes, reads);
      CHECK(run_workload(w, machine(2)).wrong == "");
    }
    const auto w = workload_of(
        {stream_on("m", {0}, {local("m", "memory", {{"bytes", bytes}, {"where", std::string("tcm")}})})});
    CHECK(run_workload(w, machine(1)).wrong == "");
  }
}

/// An op of somebody else: spoils the TCM of the chain below its own.
class scribble final : public sw::planned_op {
 public:
  std::uint64_t tcm_bytes() const override { return 64; }
  void run(const sw::op_context& pe) const override {
    const std::byte junk[4]{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
    pe.hal().store(tcm() - 64, junk);
  }
};

TEST_CASE("an op kind of one's own joins in, and spoiled data is found") {
  sw::op_kind kind;
  kind.schema = {"scribble", "spoils data", {}};
  kind.plan = [](const sw::op_request&) { return std::make_unique<scribble>(); };
  // The tensor of "r" is the 64 bytes below; it is spoiled after it has been reduced and before it is read.
  auto late = local("x", "scribble", {});
  late.after = {"wait"};
  const auto w = workload_of({stream_on("talk", {0, 1}, {collective("r", 64)}),
                              stream_on("bad", {0}, {local("wait", "delay", {{"ns", 1.0}}), late})});
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const auto outcome = run_workload(w, machine(2), {.order = sw::schedule::random, .seed = seed}, {kind});
    if (outcome.wrong.find("wrong elements") != std::string::npos) ++found;
  }
  CHECK(found > 0);
}

/// A random workload: overlapping groups, chains and side paths, ops of every kind.
comm::workload random_workload(std::uint64_t seed, std::uint32_t pes) {
  random::sequence draw(random::stream(seed, "", "random workload"));
  std::vector<comm::workload_stream> streams;
  const std::uint64_t n = 1 + draw.below(4);
  for (std::uint64_t s = 0; s < n; ++s) {
    std::vector<std::uint64_t> ranks;
    for (std::uint64_t pe = 0; pe < pes; ++pe) {
      if (draw.below(3) > 0)
        ranks.insert(ranks.begin() + static_cast<std::ptrdiff_t>(draw.below(ranks.size() + 1)), pe);
    }
    if (ranks.empty()) ranks.push_back(draw.below(pes));
    std::vector<comm::workload_op> ops;
    const std::uint64_t length = 1 + draw.below(5);
    for (std::uint64_t k = 0; k < length; ++k) {
      const std::string id = fmt::format("s{}.{}", s, k);
      switch (draw.below(6)) {
        case 0: ops.push_back(local(id, "compute", {{"cycles", draw.below(1000)}})); break;
        case 1: ops.push_back(local(id, "delay", {{"ns", static_cast<double>(draw.below(500))}})); break;
        case 2:
          ops.push_back(
              local(id, "memory", {{"bytes", 1 + draw.below(30'000)}, {"where", std::string("hbm")}}));
          break;
        default:
          ops.push_back(
              collective(id, 4 * draw.below(100), draw.below(2) == 0 ? "ring_1d" : "ring_1d_unidir"));
      }
      if (k > 0 && draw.below(3) == 0) {
        ops.back().after.emplace();
        for (std::uint64_t a = 0; a < k; ++a) {
          if (draw.below(2) == 0) ops.back().after->push_back(fmt::format("s{}.{}", s, a));
        }
      }
    }
    streams.push_back(stream_on(fmt::format("s{}", s), std::move(ranks), std::move(ops), 1 + draw.below(3)));
  }
  return workload_of(std::move(streams));
}

TEST_CASE("random workloads end and verify, whatever the order of events") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const auto pes = static_cast<std::uint32_t>(1 + seed % 5);
    const auto w = random_workload(seed, pes);
    for (const auto order : schedules) {
      CAPTURE(seed, sw::to_string(order));
      CHECK(run_workload(w, machine(pes, 1 + seed % 3), {.order = order, .seed = seed}).wrong == "");
    }
  }
}

TEST_CASE("too few queue pairs name the key and the number") {
  config::machine_config c = machine(2);
  c.ipcq.queue_pairs = 3;
  const auto w = workload_of(
      {stream_on("a", {0, 1}, {collective("r", 64)}), stream_on("b", {0, 1}, {collective("q", 64)})});
  const std::string wrong = run_workload(w, c).wrong;
  CHECK(wrong.find("ipcq.queue_pairs is too small") != std::string::npos);
  CHECK(wrong.find("at least 4") != std::string::npos);
}

std::string resolve_error(const comm::workload& w) {
  try {
    (void)comm::resolve(w, machine_shape{1, 1, 1, 4});
  } catch (const user_error& e) {
    return e.what();
  }
  return "no error";
}

TEST_CASE("what cannot run is said before it runs, all at once") {
  auto a = collective("a", 64);
  auto b = collective("b", 64);
  SECTION("a cycle") {
    a.after = {"b"};
    const std::string e = resolve_error(workload_of({stream_on("s", {0, 1}, {a, b})}));
    CHECK(e.find("ops wait for each other") != std::string::npos);
    CHECK(e.find("a after b after a") != std::string::npos);
  }
  SECTION("unknown ids, ranks and groups together") {
    a.after = {"bb"};
    b.group = "none";
    const std::string e =
        resolve_error(workload_of({stream_on("s", {0, 9}, {a}), stream_on("t", {1, 1}, {b})}));
    CHECK(e.find("no such rank (value 9; expected below 4") != std::string::npos);
    CHECK(e.find("rank named twice") != std::string::npos);
    CHECK(e.find("no such group") != std::string::npos);
  }
  SECTION("an unknown id has a suggestion") {
    auto c = collective("collect", 64);
    b.after = {"colect"};
    const std::string e = resolve_error(workload_of({stream_on("s", {0}, {c, b})}));
    CHECK(e.find("did you mean collect?") != std::string::npos);
  }
  SECTION("a dependency on what another PE does") {
    b.after = {"a"};
    const std::string e =
        resolve_error(workload_of({stream_on("s", {0, 1}, {a}), stream_on("t", {1, 2}, {b})}));
    CHECK(e.find("pe2 runs this op but not stream s of op a") != std::string::npos);
  }
  SECTION("a group member that misses the collective") {
    comm::workload w = workload_of({stream_on("s", {0, 1}, {a})});
    w.groups.push_back({"g", "g", comm::rank_set::pe, {{1, 2}}});
    w.streams[0].ops[0].group = "g";
    CHECK(resolve_error(w).find("a member of the group is missing") != std::string::npos);
  }
  SECTION("an id twice") {
    const std::string e = resolve_error(workload_of({stream_on("s", {0}, {a, a})}));
    CHECK(e.find("two ops have this id") != std::string::npos);
  }
}

}  // namespace
