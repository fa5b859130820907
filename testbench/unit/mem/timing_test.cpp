// SPDX-License-Identifier: Apache-2.0
// The arithmetic below the memories: servers, banks, DRAM state and scheduling.
#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <rapidcheck.h>

#include "dram_checker.hpp"
#include "models/timing/dram.hpp"
#include "models/timing/fr_fcfs.hpp"
#include "models/timing/servers.hpp"
#include "models/types/error.hpp"
#include "support/test.hpp"

using namespace diecast;
using namespace diecast::timing;

TEST_CASE("rate server: bytes take their time, one after the other") {
  rate_server s(512.0);
  CHECK(s.serve(nanoseconds(10), 1024) == nanoseconds(12));
  CHECK(s.serve(nanoseconds(10), 512) == nanoseconds(13));
  CHECK(s.serve(nanoseconds(20), 512) == nanoseconds(21));
  CHECK(s.busy() == nanoseconds(4));
}

TEST_CASE("bank array: equals serving block by block") {
  const bool ok = rc::check("closed form equals the loop", [] {
    const auto banks = *rc::gen::inRange(1u, 9u);
    const auto bank_bytes = *rc::gen::element(1u, 8u, 16u);
    bank_array fast(banks, bank_bytes);
    std::vector<std::uint64_t> free(banks, 0);
    std::uint64_t at = 0;
    for (int k = 0; k < 20; ++k) {
      at += *rc::gen::inRange<std::uint64_t>(0, 5);
      const auto offset = *rc::gen::inRange<std::uint64_t>(0, 300);
      const auto bytes = *rc::gen::inRange<std::uint64_t>(1, 400);
      std::uint64_t finish = 0;
      for (std::uint64_t b = offset / bank_bytes; b <= (offset + bytes - 1) / bank_bytes; ++b) {
        auto& f = free[b % banks];
        f = std::max(f, at) + 1;
        finish = std::max(finish, f);
      }
      RC_ASSERT(fast.serve(at, offset, bytes) == finish);
    }
  });
  CHECK(ok);
}

TEST_CASE("dram: the address map is a bijection and documents its order") {
  const config::hbm_block hbm;
  const dram_address_map map(hbm);
  CHECK(map.decode(0) == dram_location{0, 0, 0, 0, 0});
  CHECK(map.decode(32) == dram_location{1, 0, 0, 0, 0});
  CHECK(map.decode(64) == dram_location{0, 1, 0, 0, 0});
  CHECK(map.decode(256) == dram_location{0, 0, 0, 0, 1});
  CHECK(map.decode(8192) == dram_location{0, 0, 1, 0, 0});
  CHECK(map.decode(32768) == dram_location{0, 0, 0, 1, 0});
  CHECK(std::uint64_t{map.rows()} * 32768 == std::uint64_t{1} << 30);
  const bool ok = rc::check("round trip", [&] {
    const auto offset = *rc::gen::inRange<std::uint64_t>(0, std::uint64_t{1} << 30) / 32 * 32;
    RC_ASSERT(map.encode(map.decode(offset)) == offset);
    RC_ASSERT(map.decode(offset) == map.decode(offset + 31));
  });
  CHECK(ok);
}

TEST_CASE("dram: data-sheet times become whole clocks") {
  const dram_parameters p = make_dram_parameters({});
  CHECK(p.tck == picoseconds(625));
  CHECK(p.trcd == 31);
  CHECK(p.trp == 26);
  CHECK(p.tras == 45);
  CHECK(p.cl == 20);
  CHECK(p.cwl == 10);
  CHECK(p.tccd_l == 4);
  CHECK(p.twr == 33);
  CHECK(command_clocks(1.3, nanoseconds(1)) == 2);
}

TEST_CASE("dram: a bad block is refused with all its problems") {
  config::hbm_block hbm;
  hbm.bank_groups = 3;
  hbm.trp_ns = 0;
  hbm.cl_ns = -1;
  hbm.queue = 0;
  try {
    (void)make_dram_parameters(hbm);
    FAIL("accepted");
  } catch (const user_error& e) {
    CHECK(e.problems().size() == 4);
    CHECK_THAT(e.what(), Catch::Contains("hbm.bank_groups") && Catch::Contains("hbm.trp_ns"));
  }
  config::hbm_block tiny;
  tiny.page_bytes = 16;
  CHECK_THROWS_AS(dram_address_map(tiny), user_error);
  config::hbm_block no_row;
  no_row.port_mib = 1;
  no_row.page_bytes = 1 << 20;
  CHECK_THROWS_WITH(dram_address_map(no_row), Catch::Contains("hbm.port_mib"));
}

namespace {

void need(bool ok, const std::string& what) {
  if (!ok) throw std::logic_error("expected: " + what);
}

/// Serves `bursts` on one pseudo-channel under the checker; returns the clock of the last data.
dram_clock serve(const dram_parameters& p, const std::vector<dram_burst>& bursts, std::uint32_t depth,
                 std::vector<std::uint64_t>* order = nullptr) {
  test::dram_checker checker(p);
  fr_fcfs scheduler(p, depth);
  scheduler.observe(&checker);
  for (const dram_burst& b : bursts) scheduler.push(b);
  std::vector<served_burst> served;
  dram_clock now = bursts.empty() ? never_clock : bursts.front().from;
  std::size_t steps = 0;
  while (now != never_clock) {
    const dram_clock next = scheduler.step(now, served);
    need(next > now, "time goes on");
    now = next;
    need(++steps < 10 * bursts.size() + 100, "work gets done");
  }
  need(scheduler.idle(), "nothing is left");
  need(served.size() == bursts.size(), "every burst is served");
  for (const auto& violation : checker.violations()) need(false, violation);
  dram_clock last = 0;
  std::set<std::uint64_t> tags;
  for (const served_burst& s : served) {
    last = std::max(last, s.data_end);
    tags.insert(s.tag);
    if (order != nullptr) order->push_back(s.tag);
  }
  need(tags.size() == bursts.size(), "no burst is served twice");
  return last;
}

}  // namespace

TEST_CASE("fr-fcfs: random traffic never breaks a constraint, loses a burst or reorders an address") {
  const bool ok = rc::check("any bursts", [] {
    config::hbm_block hbm;
    hbm.bank_groups = *rc::gen::element(1u, 2u, 4u);
    hbm.banks_per_group = *rc::gen::element(1u, 2u, 4u);
    const dram_parameters p = make_dram_parameters(hbm);
    const auto n = *rc::gen::inRange<std::size_t>(1, 300);
    const auto rows = *rc::gen::inRange(1u, 5u);
    std::vector<dram_burst> bursts;
    dram_clock from = 1;
    for (std::size_t i = 0; i < n; ++i) {
      from += *rc::gen::element<dram_clock>(0, 0, 0, 1, 7, 40);
      bursts.push_back({i, *rc::gen::inRange(0u, p.banks()), *rc::gen::inRange(0u, rows),
                        *rc::gen::arbitrary<bool>(), from});
    }
    std::vector<std::uint64_t> order;
    serve(p, bursts, *rc::gen::element(1u, 4u, 64u), &order);
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> last;
    for (const std::uint64_t tag : order) {
      const auto key = std::pair{bursts[tag].bank, bursts[tag].row};
      const auto it = last.find(key);
      const bool in_order = it == last.end() || it->second < tag;
      RC_ASSERT(in_order);
      last[key] = tag;
    }
  });
  CHECK(ok);
}

TEST_CASE("fr-fcfs: a stream of hits cannot starve a miss") {
  const dram_parameters p = make_dram_parameters({});
  std::vector<dram_burst> bursts;
  bursts.push_back({0, 0, 1, false, 1});
  bursts.push_back({1, 0, 2, false, 1});
  for (std::uint64_t i = 2; i < 4000; ++i) bursts.push_back({i, 0, 1, false, 1});
  std::vector<std::uint64_t> order;
  serve(p, bursts, 8, &order);
  const auto place = std::ranges::find(order, 1u) - order.begin();
  CHECK(place > 8);
  CHECK(place <= 1 + 4 * 8);
}

TEST_CASE("fr-fcfs: closed forms of single-limit streams") {
  const dram_parameters p = make_dram_parameters({});
  constexpr std::uint64_t n = 4000;
  std::vector<dram_burst> same_bank_hit, bank_conflict, sequential;
  for (std::uint64_t i = 0; i < n; ++i) {
    same_bank_hit.push_back({i, 5, 9, false, 1});
    bank_conflict.push_back({i, 5, static_cast<std::uint32_t>(i), false, 1});
    sequential.push_back({i, static_cast<std::uint32_t>(i % 4 * 4 + i / 128 % 4),
                          static_cast<std::uint32_t>(i / 512), false, 1});
  }
  const auto per_access = [&](const std::vector<dram_burst>& b) {
    return static_cast<double>(serve(p, b, 64)) / static_cast<double>(n);
  };
  CHECK(per_access(same_bank_hit) == Approx(static_cast<double>(p.tccd_l)).epsilon(0.03));
  CHECK(per_access(bank_conflict) == Approx(static_cast<double>(p.tras + p.trp)).epsilon(0.03));
  CHECK(per_access(sequential) == Approx(static_cast<double>(p.burst)).epsilon(0.03));
}
