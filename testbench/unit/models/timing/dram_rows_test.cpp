// SPDX-License-Identifier: Apache-2.0
// The command stream of every row that scripts/validate_hbm compares, under the checker of the standards'
// rules; the same traffic in every generation, refresh, page policy and bank hash; and the checker itself:
// it must see each time that is cut short by a clock.
#include <algorithm>
#include <array>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "dram_blocks.hpp"
#include "dram_checker.hpp"
#include "dram_replay.hpp"
#include "dram_traffic.hpp"
#include "models/config/text.hpp"
#include "support/test.hpp"

using namespace diecast;
using namespace diecast::test;

namespace {

using config::hbm_bank_hash;
using config::hbm_page_policy;
using config::hbm_refresh;
using timing::dram_command;

/// A measurement of testbench/data/hbm, as far as it says what to run.
struct reference_row {
  std::string refresh;
  std::string pattern;
  double rate{};  ///< above 0: open loop; below: requests outstanding

  [[nodiscard]] dram_pace pace() const {
    return rate > 0 ? dram_pace{rate, 0} : dram_pace{0, static_cast<std::uint64_t>(-rate)};
  }
};

std::vector<reference_row> read_rows(const std::string& refresh) {
  std::ifstream file(DIECAST_HBM_DATA "/hbm3_ramulator.csv");
  REQUIRE(file);
  std::string line;
  std::getline(file, line);
  REQUIRE(line.starts_with("model,config,pattern,requests,rate,"));
  std::vector<reference_row> rows;
  while (std::getline(file, line)) {
    const std::vector<std::string> cells = config::split(line, ',');
    reference_row row{config::split(cells.at(1), '|').at(2), cells.at(2), std::stod(cells.at(4))};
    if (row.refresh == refresh) rows.push_back(row);
  }
  return rows;
}

const dram_traffic& traffic_named(const std::string& name) {
  for (const dram_traffic& t : reference_traffic)
    if (t.name == name) return t;
  FAIL("no traffic named " << name);
  return reference_traffic[0];
}

/// Shortly before the first refresh of all banks, so that it falls into every run.
timing::dram_tick before_refresh(const config::hbm_block& h) {
  return timing::make_dram_parameters(h).refi * 9 / 10;
}

/// Runs traffic, and counts the commands of one kind.
std::uint64_t replay(const config::hbm_block& h, const dram_traffic& t, const dram_pace& pace,
                     std::uint64_t n, dram_command counted) {
  INFO(t.name << ", rate " << pace.rate << ", outstanding " << pace.outstanding << ", refresh "
              << static_cast<int>(h.refresh) << ", page policy " << static_cast<int>(h.page_policy)
              << ", bank hash " << static_cast<int>(h.bank_hash) << ", burst " << h.burst_ns << " ns");
  std::vector<dram_request> requests = make_traffic(t, h, n);
  dram_replay run(h);
  run.run(requests, pace, before_refresh(h));
  CHECK(run.problems() == std::vector<std::string>{});
  CHECK(run.checker().commands() > 0);
  return run.checker().count(counted);
}

void check_rows(const std::string& refresh, hbm_refresh how) {
  config::hbm_block h = hbm3();
  h.refresh = how;
  h.read_queue = 128;
  h.write_queue = 64;
  constexpr std::uint64_t n = 3000;
  const std::vector<reference_row> rows = read_rows(refresh);
  CHECK(rows.size() >= 100);
  for (const reference_row& row : rows) {
    INFO(row.pattern << " at " << row.rate);
    const auto refreshes = replay(h, traffic_named(row.pattern), row.pace(), n, dram_command::refresh_all);
    CHECK((refreshes >= h.pseudo_channels) == (how == hbm_refresh::all_bank));
  }
}

/// All traffic in all variations of one generation.
void check_generation(config::hbm_block h) {
  constexpr std::uint64_t n = 1200;
  for (const hbm_refresh refresh : {hbm_refresh::all_bank, hbm_refresh::per_bank, hbm_refresh::none}) {
    for (const hbm_page_policy page : {hbm_page_policy::open, hbm_page_policy::closed}) {
      for (const hbm_bank_hash hash : {hbm_bank_hash::none, hbm_bank_hash::row_xor}) {
        h.refresh = refresh;
        h.page_policy = page;
        h.bank_hash = hash;
        std::uint64_t refreshes = 0;
        const auto counted =
            refresh == hbm_refresh::per_bank ? dram_command::refresh_bank : dram_command::refresh_all;
        const auto all = [&](const auto& list) {
          for (const dram_traffic& t : list)
            for (const dram_pace& pace : {dram_pace{1, 0}, dram_pace{0.2, 0}, dram_pace{0, 16}})
              refreshes += replay(h, t, pace, n, counted);
        };
        all(reference_traffic);
        all(more_traffic);
        CHECK((refreshes > 0) == (refresh != hbm_refresh::none));
      }
    }
  }
}

}  // namespace

TEST_CASE("dram rows: the commands of every validation row with all-bank refresh break no rule") {
  check_rows("AllBank", hbm_refresh::all_bank);
}

TEST_CASE("dram rows: the commands of every validation row without refresh break no rule") {
  check_rows("NoRefresh", hbm_refresh::none);
}

TEST_CASE("dram rows: HBM2 breaks no rule under any traffic, refresh, page policy and bank hash", "[long]") {
  check_generation(hbm2());
}

TEST_CASE("dram rows: HBM3 breaks no rule under any traffic, refresh, page policy and bank hash") {
  check_generation(hbm3());
}

TEST_CASE("dram rows: HBM3E breaks no rule under any traffic, refresh, page policy and bank hash", "[long]") {
  check_generation(hbm3e());
}

TEST_CASE("dram rows: HBM4 breaks no rule under any traffic, refresh, page policy and bank hash") {
  check_generation(hbm4());
}

TEST_CASE("dram rows: refreshes keep up with tREFI over many milliseconds, every bank's") {
  constexpr std::uint64_t n = 1000;
  constexpr double span_ns = 1e7;
  for (config::hbm_block h : {hbm2(), hbm3(), hbm3e(), hbm4()}) {
    const double peak_per_ns = static_cast<double>(h.pseudo_channels) / h.burst_ns;
    for (const hbm_refresh refresh : {hbm_refresh::all_bank, hbm_refresh::per_bank}) {
      h.refresh = refresh;
      const dram_pace sparse{n / span_ns / peak_per_ns, 0};
      const bool all = refresh == hbm_refresh::all_bank;
      CHECK(replay(h, traffic_named("mix50_rand"), sparse, n,
                   all ? dram_command::refresh_all : dram_command::refresh_bank) > 5000);
    }
  }
}

TEST_CASE("dram rows: a bank that closes itself has its tRAS and tRP, however short tRC") {
  config::hbm_block h = hbm3();
  h.page_policy = hbm_page_policy::closed;
  h.trc_ns = 28.5;  // as long as tRAS, but not as both
  for (const hbm_refresh refresh : {hbm_refresh::all_bank, hbm_refresh::per_bank}) {
    h.refresh = refresh;
    for (const dram_traffic& t : reference_traffic)
      CHECK(replay(h, t, {1, 0}, 1200, dram_command::activate) > 0);
  }
}

namespace {

/// Keeps the commands of a channel.
class recorder : public timing::dram_command_observer {
 public:
  void on_command(const timing::dram_event& e) override { events.push_back(e); }
  std::vector<timing::dram_event> events;
};

std::vector<timing::dram_event> record(const config::hbm_block& h, const dram_traffic& t) {
  const timing::dram_parameters p = timing::make_dram_parameters(h);
  timing::dram_scheduler scheduler(p);
  recorder commands;
  scheduler.observe(&commands);
  std::vector<timing::served_burst> served;
  timing::dram_tick now = before_refresh(h);
  scheduler.run(now, served);
  for (const dram_request& r : make_traffic(t, h, 2500)) {
    if (!scheduler.has_room(r.burst.write)) now = scheduler.run_until_room(r.burst.write, served);
    scheduler.push(r.burst, now);
  }
  while (scheduler.waiting() != 0) scheduler.run(scheduler.next_tick(), served);
  return commands.events;
}

struct time_key {
  const char* name;
  double config::hbm_block::*member;
};

constexpr std::array checked_times{time_key{"cwl_ns", &config::hbm_block::cwl_ns},
                                   time_key{"trcd_rd_ns", &config::hbm_block::trcd_rd_ns},
                                   time_key{"trcd_wr_ns", &config::hbm_block::trcd_wr_ns},
                                   time_key{"trp_ns", &config::hbm_block::trp_ns},
                                   time_key{"tras_ns", &config::hbm_block::tras_ns},
                                   time_key{"trc_ns", &config::hbm_block::trc_ns},
                                   time_key{"trtp_ns", &config::hbm_block::trtp_ns},
                                   time_key{"twr_ns", &config::hbm_block::twr_ns},
                                   time_key{"tccd_l_ns", &config::hbm_block::tccd_l_ns},
                                   time_key{"tccd_r_ns", &config::hbm_block::tccd_r_ns},
                                   time_key{"trrd_s_ns", &config::hbm_block::trrd_s_ns},
                                   time_key{"trrd_l_ns", &config::hbm_block::trrd_l_ns},
                                   time_key{"tfaw_ns", &config::hbm_block::tfaw_ns},
                                   time_key{"twtr_s_ns", &config::hbm_block::twtr_s_ns},
                                   time_key{"twtr_l_ns", &config::hbm_block::twtr_l_ns},
                                   time_key{"trtw_ns", &config::hbm_block::trtw_ns},
                                   time_key{"tppd_ns", &config::hbm_block::tppd_ns},
                                   time_key{"trfc_ns", &config::hbm_block::trfc_ns},
                                   time_key{"trfcpb_ns", &config::hbm_block::trfcpb_ns},
                                   time_key{"trrefd_ns", &config::hbm_block::trrefd_ns}};

}  // namespace

TEST_CASE("dram checker: a clock less of any time is seen") {
  std::vector<std::pair<config::hbm_block, std::vector<timing::dram_event>>> streams;
  for (const hbm_refresh refresh : {hbm_refresh::all_bank, hbm_refresh::per_bank}) {
    for (const hbm_page_policy page : {hbm_page_policy::open, hbm_page_policy::closed}) {
      config::hbm_block h = hbm3();
      h.refresh = refresh;
      h.page_policy = page;
      for (const auto* name : {"mix50_rand", "mix50_seq", "bank_conflict", "same_bank_hit", "rand_read"})
        streams.emplace_back(h, record(h, traffic_named(name)));
      for (const dram_traffic& t : more_traffic) streams.emplace_back(h, record(h, t));
    }
  }
  const auto all_pass = [&](const time_key& key, double more_ns) {
    return std::ranges::all_of(streams, [&](const auto& stream) {
      config::hbm_block stricter = stream.first;
      stricter.*key.member += more_ns;
      dram_checker checker(stricter);
      for (const timing::dram_event& e : stream.second) checker.on_command(e);
      return checker.violations().empty();
    });
  };
  CHECK(all_pass(checked_times[0], 0));
  for (const time_key& key : checked_times) {
    INFO(key.name);
    CHECK_FALSE(all_pass(key, hbm3().burst_ns / 2));
  }
}
