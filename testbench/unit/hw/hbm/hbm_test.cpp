// SPDX-License-Identifier: Apache-2.0
// HBM ports: latency and bandwidth in nanoseconds, order, back-pressure, data.
#include <Random123/philox.h>
#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "hw/hbm/hbm_controller.hpp"
#include "models/types/error.hpp"
#include "support/faults.hpp"
#include "support/sc_fixture.hpp"
#include "support/test.hpp"
#include "unit/hw/mem/at_driver.hpp"
#include "unit/hw/mem/protocol_checker.hpp"
#include "unit/models/timing/dram_blocks.hpp"
#include "unit/models/timing/dram_checker.hpp"

using namespace diecast;

namespace {

config::hbm_block bare() {
  config::hbm_block h;
  h.controller_ns = 0;
  h.refresh = config::hbm_refresh::none;
  return h;
}

struct bench {
  explicit bench(std::size_t outstanding, const config::hbm_block& h = bare())
      : driver("driver", outstanding), hbm("hbm", h, false, faults), commands(h) {
    driver.socket.bind(checker.in);
    checker.out.bind(hbm.socket);
    hbm.observe(&commands);
  }
  void run() {
    test::run_to_starvation();
    CHECK(driver.completed() == driver.accesses.size());
    CHECK(checker.violations() == std::vector<std::string>{});
    CHECK(checker.open() == 0);
    CHECK(commands.violations() == std::vector<std::string>{});
    CHECK(commands.commands() > 0);
  }
  [[nodiscard]] double gbytes_s() const {
    double bytes = 0;
    for (const auto& a : driver.accesses) bytes += static_cast<double>(a.data.size());
    return bytes / driver.last_done().ns();
  }
  test::watched_faults faults;
  test::at_driver driver;
  test::protocol_checker checker{"checker"};
  hw::hbm_controller hbm;
  test::dram_checker commands;
};

/// Counter-based random numbers: the k-th draw of a stream is always the same.
std::uint32_t draw(std::uint32_t stream, std::uint32_t k) {
  const r123::Philox4x32 rng;
  return rng({{k, 0, 0, 0}}, {{stream, 42}})[0];
}

constexpr double peak = 2 * 32 / 1.25;

}  // namespace

TEST_CASE("hbm: latency of a closed bank, a row hit and a row conflict") {
  bench b(1);
  b.driver.read(0, 32, nanoseconds(100));
  b.driver.read(256, 32, nanoseconds(300));  // next column
  b.driver.read(b.hbm.address_map().encode({0, 0, 0, 0, 1, 0}), 32, nanoseconds(500));
  b.driver.write(0, std::vector<unsigned char>(32), nanoseconds(700));
  b.run();
  const auto latency = [&](std::size_t i) {
    return (b.driver.accesses[i].done - b.driver.accesses[i].begun).ns();
  };
  // In ticks of half a clock: 100, 300, 500, 700 ns are even ticks, the next is a rising edge. An
  // activation takes one and a half clocks and its column command waits for a rising edge.
  constexpr double tick = 0.3125;
  constexpr double seen = 1, trcd_rd = 31 * 2 + 2, trcd_wr = 15 * 2 + 2, trp = 26 * 2 - 2, cl = 40, data = 4;
  CHECK(latency(0) == Approx((seen + trcd_rd + cl + data) * tick));
  CHECK(latency(1) == Approx((seen + cl + data) * tick));
  CHECK(latency(2) == Approx((seen + trp + trcd_rd + cl + data) * tick));
  CHECK(latency(3) == Approx((seen + trp + trcd_wr) * tick));  // posted
  CHECK(b.hbm.activates() == 3);
  CHECK(b.hbm.row_hits() == 1);
}

TEST_CASE("hbm: controller latency adds to each response") {
  auto h = bare();
  h.controller_ns = 20;
  bench b(1, h);
  b.driver.read(0, 32, nanoseconds(100));
  b.run();
  CHECK((b.driver.accesses[0].done - b.driver.accesses[0].begun).ns() == Approx(34.0625 + 20));
}

TEST_CASE("hbm: sequential packets reach the peak") {
  bench b(64);
  for (std::uint64_t i = 0; i < 2000; ++i) b.driver.read(i * 1024, 1024);
  b.run();
  CHECK(b.gbytes_s() == Approx(peak).epsilon(0.03));
  CHECK(b.gbytes_s() <= peak);
}

TEST_CASE("hbm: sequential single bursts reach the peak with enough of them outstanding") {
  bench b(256);
  for (std::uint64_t i = 0; i < 20000; ++i) b.driver.read(i * 32, 32);
  b.run();
  CHECK(b.gbytes_s() == Approx(peak).epsilon(0.03));
}

TEST_CASE("hbm: sequential writes reach the peak") {
  bench b(64);
  for (std::uint64_t i = 0; i < 2000; ++i) b.driver.write(i * 1024, std::vector<unsigned char>(1024, 3));
  b.run();
  CHECK(b.gbytes_s() == Approx(peak).epsilon(0.03));
}

TEST_CASE("hbm: row conflicts in one bank cost one row cycle each") {
  bench b(64);
  constexpr std::uint32_t n = 2000;
  for (std::uint32_t i = 0; i < n; ++i) b.driver.read(b.hbm.address_map().encode({0, 0, 1, 2, i, 0}), 32);
  b.run();
  CHECK(b.driver.last_done().ns() / n == Approx(45).epsilon(0.03));
  CHECK(b.hbm.activates() == n);
}

TEST_CASE("hbm: hits in one bank come at tCCD_L per pseudo-channel") {
  bench b(64);
  constexpr std::uint32_t n = 4000;
  for (std::uint32_t i = 0; i < n; ++i)
    b.driver.read(b.hbm.address_map().encode({i % 2, 0, 1, 2, 5, i / 2 % 32}), 32);
  b.run();
  CHECK(b.driver.last_done().ns() / n * 2 == Approx(2.5).epsilon(0.03));
}

TEST_CASE("hbm: faster row commands help conflicts by what they promise and sequential streams not") {
  auto h = bare();
  h.trp_ns = h.trp_ns / 2;
  h.trc_ns -= h.trp_ns;
  bench b(64, h);
  constexpr std::uint32_t n = 1000;
  for (std::uint32_t i = 0; i < n; ++i) b.driver.read(b.hbm.address_map().encode({0, 0, 1, 2, i, 0}), 32);
  b.run();
  CHECK(b.driver.last_done().ns() / n == Approx((45 + 13) * 0.625).epsilon(0.03));
}

TEST_CASE("hbm: a full queue holds END_REQ back") {
  auto h = bare();
  h.read_queue = 4;
  bench b(1000, h);
  for (std::uint64_t i = 0; i < 300; ++i)
    b.driver.read(b.hbm.address_map().encode({0, 0, 0, 0, static_cast<std::uint32_t>(i), 0}), 32);
  b.run();
  CHECK(b.hbm.statistics().held_requests == 296);
  // A request leaves the queue with its row's activation; up to then only 4 are in.
  CHECK(b.driver.accesses[3].accepted == sim_time{});
  CHECK(b.driver.accesses[4].accepted == picoseconds(312) + femtoseconds(500));
  CHECK(b.driver.accesses[5].accepted >= nanoseconds(45));
}

namespace {

/// Random reads and writes, many of them to the same bytes.
void check_random_traffic(const config::hbm_block& h) {
  bench b(48, h);
  constexpr std::uint64_t span = 1 << 16;
  std::vector<unsigned char> image(span, 0xff);
  std::vector<std::pair<std::size_t, std::vector<unsigned char>>> expected;
  sim_time when;
  for (std::uint32_t i = 0; i < 6000; ++i) {
    const std::uint64_t bytes = 1 + draw(1, i) % 300;
    // A quarter of the accesses share a few addresses, so that hazards are frequent.
    const std::uint64_t offset =
        draw(2, i) % 4 == 0 ? std::uint64_t{draw(3, i) % 4} * 100 : draw(3, i) % (span - 300);
    if (draw(4, i) % 8 == 0) when += nanoseconds(draw(5, i) % 100);
    if (draw(6, i) % 2 == 0) {
      std::vector<unsigned char> data(bytes, static_cast<unsigned char>(i));
      std::copy(data.begin(), data.end(), image.begin() + static_cast<std::ptrdiff_t>(offset));
      b.driver.write(offset, data, when);
    } else {
      const auto from = image.begin() + static_cast<std::ptrdiff_t>(offset);
      expected.emplace_back(i, std::vector<unsigned char>(from, from + static_cast<std::ptrdiff_t>(bytes)));
      b.driver.read(offset, bytes, when);
    }
  }
  b.run();
  std::size_t wrong = 0;
  for (const auto& [i, data] : expected) wrong += b.driver.accesses[i].data != data;
  CHECK(expected.size() > 2000);
  CHECK(wrong == 0);
  CHECK(b.checker.most_open() > 16);
}

}  // namespace

TEST_CASE("hbm: random traffic loses nothing and every read returns the last write before it") {
  check_random_traffic(bare());
}

TEST_CASE("hbm: so it does in HBM2 with closed pages and a refresh of all banks") {
  config::hbm_block h = test::hbm2();
  h.page_policy = config::hbm_page_policy::closed;
  h.read_queue = h.write_queue = 32;
  check_random_traffic(h);
}

TEST_CASE("hbm: so it does in HBM3E with a bank hash, strictly in order") {
  config::hbm_block h = test::hbm3e();
  h.bank_hash = config::hbm_bank_hash::row_xor;
  h.scheduler = config::hbm_scheduler::fcfs;
  check_random_traffic(h);
}

TEST_CASE("hbm: so it does in HBM4 with a bank hash, closed pages and a refresh per bank") {
  config::hbm_block h = test::hbm4();
  h.bank_hash = config::hbm_bank_hash::row_xor;
  h.page_policy = config::hbm_page_policy::closed;
  h.refresh = config::hbm_refresh::per_bank;
  check_random_traffic(h);
}

TEST_CASE("hbm: responses can pass each other") {
  bench b(8);
  b.driver.read(b.hbm.address_map().encode({0, 0, 0, 0, 0, 0}), 32);
  b.driver.read(b.hbm.address_map().encode({0, 0, 0, 0, 1, 0}), 32);  // conflicts with the first
  b.driver.read(b.hbm.address_map().encode({0, 0, 0, 0, 0, 1}), 32);  // hits the first one's row
  b.run();
  CHECK(b.driver.accesses[2].done < b.driver.accesses[1].done);
}

TEST_CASE("hbm simple: 8 pseudo-channels of 32 GB/s and 256-byte bursts") {
  config::hbm_block h;
  h.model = config::hbm_model::simple;
  h.pseudo_channels = 8;
  h.burst_bytes = 256;
  h.simple_latency_ns = 6;
  test::watched_faults faults;
  test::at_driver driver("driver", 64);
  test::protocol_checker checker("checker");
  const auto hbm = hw::make_hbm("hbm", h, false, faults);
  driver.socket.bind(checker.in);
  checker.out.bind(hbm->socket);
  driver.read(0, 2048, nanoseconds(100));  // every pseudo-channel once: 8 ns
  driver.read(0, 256, nanoseconds(200));
  driver.read(2048, 256, nanoseconds(200));  // address 2048 is in the pseudo-channel of address 0
  driver.read(256, 256, nanoseconds(200));   // the next one
  driver.read(128, 256, nanoseconds(300));   // halves of two bursts
  for (std::uint64_t i = 0; i < 1000; ++i) driver.read(i * 2048, 2048, nanoseconds(1000));
  test::run_to_starvation();
  const auto took = [&](std::size_t i) { return (driver.accesses[i].done - driver.accesses[i].begun).ns(); };
  CHECK(took(0) == Approx(14));
  CHECK(took(1) == Approx(14));
  CHECK(took(2) == Approx(22));
  CHECK(took(3) == Approx(14));
  CHECK(took(4) == Approx(10));
  CHECK(driver.last_done().ns() == Approx(1000 + 8000 + 6));
  CHECK(checker.violations().empty());
}

TEST_CASE("hbm: a bad block is refused before anything runs") {
  test::watched_faults faults;
  config::hbm_block h;
  h.banks_per_group = 5;
  CHECK_THROWS_WITH(hw::make_hbm("a", h, false, faults), Catch::Contains("hbm.banks_per_group"));
  h = {};
  h.model = config::hbm_model::simple;
  h.pseudo_channels = 3;
  h.burst_bytes = 48;
  h.simple_gbytes_s = 0;
  CHECK_THROWS_WITH(hw::make_hbm("b", h, false, faults), Catch::Contains("hbm.pseudo_channels") &&
                                                             Catch::Contains("hbm.burst_bytes") &&
                                                             Catch::Contains("hbm.simple_gbytes_s"));
}

TEST_CASE("hbm simple: what is no rate, latency or queue is refused, each by name") {
  test::watched_faults faults;
  const auto refusal = [&](auto change) -> std::string {
    config::hbm_block h;
    h.model = config::hbm_model::simple;
    change(h);
    try {
      (void)hw::make_hbm("a", h, false, faults);
    } catch (const user_error& e) {
      REQUIRE(e.problems().size() == 1);
      return e.problems().front().where;
    }
    return "";
  };
  const double infinite = std::numeric_limits<double>::infinity();
  const double none = std::numeric_limits<double>::quiet_NaN();
  for (const double rate : {0.0, -1.0, infinite, none}) {
    CHECK(refusal([=](config::hbm_block& h) { h.simple_gbytes_s = rate; }) == "hbm.simple_gbytes_s");
  }
  for (const double latency : {-1.0, infinite, none}) {
    CHECK(refusal([=](config::hbm_block& h) { h.simple_latency_ns = latency; }) == "hbm.simple_latency_ns");
  }
  CHECK(refusal([](config::hbm_block& h) { h.queue = 0; }) == "hbm.queue");
}

TEST_CASE("hbm: the order in which modules are made does not show") {
  test::watched_faults faults;
  auto h = bare();
  h.read_queue = 6;
  auto driver_first = std::make_unique<test::at_driver>("driver_a", 20);
  auto hbm_a = hw::make_hbm("hbm_a", h, false, faults);
  auto hbm_b = hw::make_hbm("hbm_b", h, false, faults);
  auto driver_last = std::make_unique<test::at_driver>("driver_b", 20);
  driver_first->socket.bind(hbm_a->socket);
  driver_last->socket.bind(hbm_b->socket);
  sim_time when;
  for (std::uint32_t i = 0; i < 4000; ++i) {
    // On the command clock, so that arrivals, commands and responses meet in one instant.
    if (draw(1, i) % 4 == 0) when += picoseconds(625) * (draw(2, i) % 200);
    for (test::at_driver* d : {driver_first.get(), driver_last.get()}) {
      d->read(draw(3, i) % (1 << 20), 1 + draw(4, i) % 256, when);
    }
  }
  test::run_to_starvation();
  std::size_t different = 0;
  for (std::size_t i = 0; i < 4000; ++i) {
    const auto& a = driver_first->accesses[i];
    const auto& b = driver_last->accesses[i];
    different += a.begun != b.begun || a.accepted != b.accepted || a.done != b.done;
  }
  CHECK(driver_first->completed() == 4000);
  CHECK(different == 0);
  CHECK(hbm_a->statistics().held_requests == hbm_b->statistics().held_requests);
  CHECK(hbm_a->statistics().held_requests > 100);
}
