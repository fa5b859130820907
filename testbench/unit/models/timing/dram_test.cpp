// SPDX-License-Identifier: Apache-2.0
// DRAM without a simulator: address maps, parameters, and the command scheduler under a checker of its
// command stream.
#include "models/timing/dram.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include <rapidcheck.h>

#include "dram_blocks.hpp"
#include "dram_checker.hpp"
#include "dram_replay.hpp"
#include "models/timing/fr_fcfs.hpp"
#include "models/types/error.hpp"
#include "support/test.hpp"

using namespace diecast;
using namespace diecast::timing;

TEST_CASE("dram: the default address map documents its order") {
  const dram_address_map map(config::hbm_block{});
  CHECK(map.decode(0) == dram_location{0, 0, 0, 0, 0, 0});
  CHECK(map.decode(31) == dram_location{0, 0, 0, 0, 0, 0});
  CHECK(map.decode(32) == dram_location{1, 0, 0, 0, 0, 0});
  CHECK(map.decode(64) == dram_location{0, 0, 1, 0, 0, 0});
  CHECK(map.decode(256) == dram_location{0, 0, 0, 0, 0, 1});
  CHECK(map.decode(8192) == dram_location{0, 0, 0, 1, 0, 0});
  CHECK(map.decode(32768) == dram_location{0, 1, 0, 0, 0, 0});
  CHECK(map.decode(65536) == dram_location{0, 0, 0, 0, 1, 0});
  CHECK(map.rows() == 16384);
  CHECK(map.columns() == 32);
}

TEST_CASE("dram: every address map is one to one, hashed or not") {
  const bool ok = rc::check("round trips both ways", [] {
    std::vector<std::string> fields{"pc", "sid", "bank_group", "bank", "row", "column"};
    for (std::size_t i = fields.size(); i > 1; --i)
      std::swap(fields[i - 1], fields[*rc::gen::inRange<std::size_t>(0, i)]);
    config::hbm_block h;
    h.address_map = fmt::format("{}", fmt::join(fields, ","));
    h.bank_hash = *rc::gen::element(config::hbm_bank_hash::none, config::hbm_bank_hash::row_xor);
    h.pseudo_channels = *rc::gen::element(1u, 2u, 4u);
    h.sids = *rc::gen::element(1u, 2u, 4u);
    h.bank_groups = *rc::gen::element(1u, 2u, 4u);
    h.banks_per_group = *rc::gen::element(1u, 4u);
    h.port_mib = 1;
    const dram_address_map map(h);
    const auto bursts = map.capacity() / h.burst_bytes;
    std::vector<bool> seen(bursts);
    const dram_parameters p = make_dram_parameters(h);
    for (std::uint64_t k = 0; k < bursts; ++k) {
      const dram_location l = map.decode(k * h.burst_bytes);
      RC_ASSERT(map.encode(l) == k * h.burst_bytes);
      RC_ASSERT(l.row < map.rows() && l.column < map.columns());
      const std::uint64_t place =
          ((std::uint64_t{l.pseudo_channel} * p.banks_per_pc() + bank_index(p, l)) * map.rows() + l.row) *
              map.columns() +
          l.column;
      RC_ASSERT(place < bursts);
      RC_ASSERT(!seen[place]);
      seen[place] = true;
    }
  });
  CHECK(ok);
}

TEST_CASE("dram: the row hash spreads rows at a stride over the banks") {
  config::hbm_block h;
  h.bank_hash = config::hbm_bank_hash::row_xor;
  const dram_address_map map(h);
  std::set<std::pair<std::uint32_t, std::uint32_t>> banks;
  for (std::uint64_t row = 0; row < 16; ++row) {
    const dram_location l = map.decode(row * 65536);
    banks.emplace(l.bank_group, l.bank);
  }
  CHECK(banks.size() == 16);
}

TEST_CASE("dram: data-sheet times become whole clocks, shifted by the length of the commands") {
  const dram_parameters p = make_dram_parameters({});
  CHECK(p.tick == femtoseconds(312'500));
  CHECK(p.burst == 2 * 2);
  CHECK(p.read_end == (20 + 2) * 2);
  CHECK(p.act_to_read == 31 * 2 + 2 - 1);
  CHECK(p.act_to_write == 15 * 2 + 2 - 1);
  CHECK(p.act_to_pre == 45 * 2 + 2);
  CHECK(p.act_to_act == 72 * 2);
  CHECK(p.pre_to_act == 26 * 2 - 2);
  CHECK(p.faw == 24 * 2);
  CHECK(p.refi == 6240 * 2);
  CHECK(p.refi_bank == 195 * 2);
  CHECK(command_clocks(1.3, nanoseconds(1)) == 2);
  const dram_parameters two = make_dram_parameters(test::hbm2());
  CHECK(two.tick == nanoseconds(1));
  CHECK(two.act_to_read == 14 + 1);
  CHECK(two.pre_to_act == 14 - 1);
  CHECK(two.read_to_write == 13);
  // Refreshes of all banks share tREFI: 243.75 clocks each, and may not fall behind.
  CHECK(two.refi == 3900);
  CHECK(two.refi_bank == 243);
  CHECK(make_dram_parameters(test::hbm3e()).refi == 9360 * 2);
}

TEST_CASE("dram: a bad block is refused with all its problems") {
  config::hbm_block hbm;
  hbm.bank_groups = 0;
  hbm.cl_ns = 0;
  hbm.trfc_ns = hbm.trefi_ns;
  try {
    (void)make_dram_parameters(hbm);
    FAIL("accepted");
  } catch (const user_error& e) {
    CHECK(e.problems().size() == 3);
    CHECK_THAT(e.what(), Catch::Contains("hbm.bank_groups") && Catch::Contains("hbm.cl_ns") &&
                             Catch::Contains("hbm.trfc_ns"));
  }
  config::hbm_block tiny;
  tiny.page_bytes = 16;
  tiny.address_map = "pc,bank,bank,sid,row,column";
  CHECK_THROWS_WITH(dram_address_map(tiny),
                    Catch::Contains("hbm.address_map") && Catch::Contains("hbm.page_bytes"));
  config::hbm_block seven;
  seven.address_map += ",row";
  CHECK_THROWS_WITH(dram_address_map(seven), Catch::Contains("hbm.address_map"));
  config::hbm_block no_row;
  no_row.port_mib = 1;
  no_row.page_bytes = 1 << 16;
  CHECK_THROWS_WITH(dram_address_map(no_row), Catch::Contains("hbm.port_mib"));
}

namespace {

using request = test::dram_request;

struct dram_outcome {
  std::vector<std::string> problems;
  dram_tick last{};
  dram_counters counters;
};

/// Serves the requests, `patience` ticks between calls of the scheduler (1: every tick), and checks the
/// command stream, the queues, and the order of accesses to one burst.
dram_outcome serve_all(const config::hbm_block& h, std::vector<request>& requests, dram_tick patience,
                       bool every_tick = false) {
  const dram_parameters p = make_dram_parameters(h);
  test::dram_checker checker(h);
  dram_scheduler scheduler(p);
  scheduler.observe(&checker);
  if (every_tick) scheduler.look_at_every_tick();
  dram_outcome result;
  std::vector<served_burst> served;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (i % patience == 0) scheduler.run(requests[i].arrived, served);
    requests[i].burst.tag = i;
    scheduler.push(requests[i].burst, requests[i].arrived);
    if (scheduler.queued(false) > p.read_queue || scheduler.queued(true) > p.write_queue)
      result.problems.emplace_back("a queue is overfull");
  }
  const dram_tick end = requests.back().arrived + requests.size() * 600 + 100'000;
  scheduler.run(end, served);
  if (scheduler.waiting() != 0) result.problems.push_back(fmt::format("{} left", scheduler.waiting()));
  for (const served_burst& s : served) result.last = std::max(result.last, s.done);
  test::match_answers(requests, served, p, checker, result.problems);
  test::check_order(requests, result.problems);
  if (const double owed = checker.refreshes_owed((p.tick * end).ns()); owed > 2)
    result.problems.push_back(fmt::format("{} refreshes owed", owed));
  result.counters = scheduler.counters();
  test::check_counters(result.counters, checker, result.problems);
  return result;
}

/// When each request was done.
std::vector<dram_tick> done_times(const config::hbm_block& h, std::vector<request> requests,
                                  dram_tick patience, bool every_tick = false) {
  serve_all(h, requests, patience, every_tick);
  std::vector<dram_tick> done;
  for (const request& r : requests) done.push_back(r.done);
  return done;
}

config::hbm_block random_block() {
  config::hbm_block h = *rc::gen::element(test::hbm2(), test::hbm3(), test::hbm3e(), test::hbm4());
  h.refresh = *rc::gen::element(config::hbm_refresh::all_bank, config::hbm_refresh::per_bank,
                                config::hbm_refresh::none);
  h.page_policy = *rc::gen::element(config::hbm_page_policy::open, config::hbm_page_policy::closed);
  h.scheduler = *rc::gen::element(config::hbm_scheduler::fr_fcfs, config::hbm_scheduler::fr_fcfs,
                                  config::hbm_scheduler::fcfs);
  h.read_queue = *rc::gen::element(1u, 4u, 32u, 128u);
  h.write_queue = *rc::gen::element(1u, 4u, 32u, 64u);
  return h;
}

std::vector<request> random_requests(const dram_parameters& p) {
  const auto n = *rc::gen::inRange<std::size_t>(1, 400);
  const auto rows = *rc::gen::element(1u, 2u, 5u, 1000u);
  const auto columns = *rc::gen::element(1u, 2u, 32u);
  const auto banks = *rc::gen::element(1u, 2u, 4u);
  std::vector<request> requests;
  dram_tick at = 1;
  for (std::size_t i = 0; i < n; ++i) {
    at += *rc::gen::element<dram_tick>(0, 0, 0, 1, 2, 7, 40, 300, 20'000);
    const dram_location l{*rc::gen::inRange(0u, p.pseudo_channels),
                          *rc::gen::inRange(0u, p.sids),
                          *rc::gen::inRange(0u, std::min(banks, p.bank_groups)),
                          *rc::gen::inRange(0u, std::min(banks, p.banks_per_group)),
                          *rc::gen::inRange(0u, rows),
                          *rc::gen::inRange(0u, columns)};
    requests.push_back({{i, l, *rc::gen::arbitrary<bool>()}, at, 0, 0});
  }
  return requests;
}

}  // namespace

TEST_CASE("dram: random traffic breaks no constraint, loses no burst and reorders no address") {
  const bool ok = rc::check("any generation, refresh, page policy, scheduler, queue", [] {
    const config::hbm_block h = random_block();
    std::vector<request> requests = random_requests(make_dram_parameters(h));
    dram_outcome result = serve_all(h, requests, 1);
    if (!result.problems.empty()) RC_FAIL(fmt::format("{}", fmt::join(result.problems, "\n")));
  });
  CHECK(ok);
}

TEST_CASE("dram: neither skipped ticks nor a late call show") {
  const bool ok = rc::check("every tick, at each arrival, or in one go", [] {
    const config::hbm_block h = random_block();
    const std::vector<request> requests = random_requests(make_dram_parameters(h));
    const std::vector<dram_tick> clocked = done_times(h, requests, 1, true);
    RC_ASSERT(done_times(h, requests, 1) == clocked);
    RC_ASSERT(done_times(h, requests, 1000) == clocked);
  });
  CHECK(ok);
}

TEST_CASE("dram: a read that arrives as a refresh falls due does not end writing before it") {
  config::hbm_block h = test::hbm2();
  h.write_queue = 4;  // one write is not below the low mark
  const dram_tick due = make_dram_parameters(h).refi;
  const std::vector<request> requests{{{0, {0, 0, 0, 0, 1, 0}, false}, due - 1, 0, 0},
                                      {{1, {0, 0, 0, 0, 2, 0}, true}, due + 1, 0, 0}};
  const std::vector<dram_tick> clocked = done_times(h, requests, 1, true);
  CHECK(clocked[1] < clocked[0]);
  CHECK(done_times(h, requests, 1) == clocked);
  CHECK(done_times(h, requests, 1000) == clocked);
}

TEST_CASE("dram: a stream of hits cannot starve a miss") {
  config::hbm_block h = test::hbm3();
  h.refresh = config::hbm_refresh::none;
  h.read_queue = 8;
  std::vector<request> requests;
  for (std::uint32_t i = 0; i < 4000; ++i)
    requests.push_back({{i, {0, 0, 0, 0, i == 1 ? 2U : 1U, i % 32}, false}, 1, 0, 0});
  const std::vector<dram_tick> done = done_times(h, requests, 1);
  const auto place = std::ranges::count_if(done, [&](dram_tick t) { return t < done[1]; });
  CHECK(place > 8);
  CHECK(place <= 1 + 4 * 8);
}

TEST_CASE("dram: closed forms of single-limit streams") {
  constexpr std::uint32_t n = 8000;
  const auto per_access = [&](const config::hbm_block& h,
                              const std::function<dram_location(std::uint32_t)>& at) {
    std::vector<request> requests;
    for (std::uint32_t i = 0; i < n; ++i) requests.push_back({{i, at(i), false}, 1, 0, 0});
    const dram_outcome result = serve_all(h, requests, n);
    CHECK(result.problems == std::vector<std::string>{});
    return static_cast<double>(result.last) / n;
  };
  for (config::hbm_block h : {test::hbm2(), test::hbm3(), test::hbm3e(), test::hbm4()}) {
    h.refresh = config::hbm_refresh::none;
    const dram_parameters p = make_dram_parameters(h);
    const auto ticks = [](dram_tick t) { return Approx(static_cast<double>(t)).epsilon(0.03); };
    CHECK(per_access(h, [](std::uint32_t i) { return dram_location{0, 0, 1, 2, 7, i % 32}; }) ==
          ticks(p.col_to_col_l));
    CHECK(per_access(h, [](std::uint32_t i) { return dram_location{0, 0, 1, 2, i, 0}; }) ==
          ticks(std::max(p.act_to_act, p.act_to_pre + p.pre_to_act)));
    const std::uint32_t groups = p.bank_groups;
    CHECK(per_access(h, [&](std::uint32_t i) {
            return dram_location{
                i % 2, 0, i / 2 % groups, i / 64 / groups % 4, i / 256 / groups, i / 2 / groups % 32};
          }) == ticks(p.burst / 2));
    // A row per access over all banks: four activations per tFAW in each of two pseudo-channels, or an
    // activation and a precharge after the other on the row bus they share (at a rising edge each).
    const auto window = static_cast<double>(std::max(p.faw, 4 * p.act_to_act_s)) / 8;
    const double bus = p.clock == 2 ? 4 : 3;
    CHECK(per_access(h, [&](std::uint32_t i) {
            const std::uint32_t bank = i / 2 % 16;
            return dram_location{i % 2, 0, bank % groups, bank / groups % p.banks_per_group, i / 32, 0};
          }) == Approx(std::max(window, bus)).epsilon(0.03));
  }
}
