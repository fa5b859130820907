// SPDX-License-Identifier: Apache-2.0
// Memory studies below the command line: patterns under real address maps, rates, presets' peaks.
#include <vector>

#include "models/timing/dram.hpp"
#include "models/timing/lost_time.hpp"
#include "models/types/error.hpp"
#include "platforms/config_io/config_json.hpp"
#include "platforms/hbm/app.hpp"
#include "platforms/hbm/study.hpp"
#include "support/test.hpp"

using namespace diecast;
using traffic::memory_pattern;

namespace {

config::hbm_block reference(const std::vector<std::string>& sets = {}) {
  return platforms::load_config({platforms::configs_dir() / "hbm_reference.json", sets, {}}).config.hbm;
}

std::vector<std::string> rates(const std::string& text) {
  std::vector<std::string> list;
  for (const auto& p : hbm::parse_rates(text)) list.push_back(hbm::to_string(p));
  return list;
}

}  // namespace

TEST_CASE("memory study: a pattern means the same coordinates under every address map") {
  for (const char* map : {"pc,bank_group,column,bank,sid,row", "column,row,bank,bank_group,sid,pc",
                          "sid,bank,pc,row,bank_group,column"}) {
    for (const char* hash : {"none", "row_xor"}) {
      for (const char* preset : {"HBM2_2000", "HBM3_6400", "HBM4_8000"}) {
        INFO(map << " " << hash << " " << preset);
        const auto h = reference({std::string("hbm.address_map=") + map, std::string("hbm.bank_hash=") + hash,
                                  std::string("hbm.preset=") + preset, "hbm.port_mib=64"});
        const timing::dram_address_map decoder(h);
        for (const auto pattern : {memory_pattern::seq, memory_pattern::bank_conflict,
                                   memory_pattern::same_bank_hit, memory_pattern::page_stride}) {
          traffic::pattern_requests source(hbm::geometry_of(h), {pattern, 0, 3000, 32, 1.0, 1, "test"});
          traffic::memory_request r;
          bool same = true;
          for (std::uint64_t k = 0; source.next(r); ++k) {
            const auto at = decoder.decode(r.address);
            const auto p = source.place(k);
            same = same && at.pseudo_channel == p.pseudo_channel && at.sid == p.sid &&
                   at.bank_group == p.bank_group && at.bank == p.bank && at.row == p.row &&
                   at.column == p.column;
          }
          INFO(traffic::to_string(pattern));
          CHECK(same);
        }
      }
    }
  }
}

TEST_CASE("memory study: the reference config is one channel without controller latency") {
  const auto h = reference();
  CHECK(h.ports == 1);
  CHECK(h.controller_ns == 0);
  CHECK(h.address_map == "pc,bank_group,column,bank,sid,row");
  CHECK(h.bank_hash == config::hbm_bank_hash::none);
  const auto g = hbm::geometry_of(h);
  CHECK((g.pseudo_channels == 2 && g.sids == 2 && g.bank_groups == 4 && g.banks == 4));
  CHECK((g.rows == 16384 && g.columns == 32 && g.burst_bytes == 32));
}

TEST_CASE("memory study: peaks of the presets") {
  CHECK(timing::port_gbytes_s(reference({"hbm.preset=HBM2_2000"})) == Approx(32.0));
  CHECK(timing::port_gbytes_s(reference({"hbm.preset=HBM3_6400"})) == Approx(51.2));
  CHECK(timing::port_gbytes_s(reference({"hbm.preset=HBM3E_9600"})) == Approx(76.8));
  CHECK(timing::port_gbytes_s(reference({"hbm.preset=HBM4_8000"})) == Approx(64.0));
}

TEST_CASE("memory study: what a limit costs is the time without it") {
  config::machine_config c;
  c.hbm = reference();
  hbm::study_point point;
  point.check_data = true;
  std::vector<config::hbm_block> run_on;
  const auto runner = [&](const hbm::study_point& p, const config::machine_config& of) {
    CHECK_FALSE(p.check_data);  // what was right with the limit is not asked again
    run_on.push_back(of.hbm);
    hbm::study_outcome o;
    o.time_ns = 100.0 - 10.0 * static_cast<double>(run_on.size());
    o.wall_s = 1;
    return o;
  };
  hbm::study_outcome o;
  o.time_ns = 100;
  hbm::add_savings(point, c, runner, o);
  REQUIRE(run_on.size() == timing::removable_limits.size() + 1);
  REQUIRE(o.time_saved.size() == run_on.size());
  for (std::size_t i = 0; i < run_on.size(); ++i) {
    CHECK(o.time_saved[i].second == Approx(10.0 * static_cast<double>(i + 1)));
  }
  CHECK(o.time_saved.back().first == hbm::all_limits);
  CHECK(o.wall_s == 0);  // the time of the point alone
  CHECK((run_on[0].refresh == config::hbm_refresh::none && run_on[0].tfaw_ns == c.hbm.tfaw_ns));
  CHECK((run_on[1].tfaw_ns == 0 && run_on[1].refresh == c.hbm.refresh));
  CHECK((run_on[4].refresh == config::hbm_refresh::none && run_on[4].tfaw_ns == 0 && run_on[4].trc_ns == 0));
}

TEST_CASE("memory study: a run without a limit that does not end well is told") {
  config::machine_config c;
  c.hbm = reference();
  int runs = 0;
  const auto runner = [&](const hbm::study_point&, const config::machine_config&) {
    hbm::study_outcome o;
    o.time_ns = 50;
    if (++runs == 2) {
      o.status = platforms::run_status::interrupted;
      o.message = "interrupted at 5 us";
    }
    return o;
  };
  hbm::study_outcome o;
  o.time_ns = 100;
  hbm::add_savings({}, c, runner, o);
  CHECK(runs == 2);
  CHECK(o.time_saved.size() == 1);  // what was measured stays
  CHECK(o.status == platforms::run_status::interrupted);
  CHECK(o.message == "without faw_rrd: interrupted at 5 us");
}

TEST_CASE("memory study: rates as lists and ranges") {
  CHECK(rates("80%") == std::vector<std::string>{"80%"});
  CHECK(rates("max") == std::vector<std::string>{"max"});
  CHECK(rates("10%,max,12.5%") == std::vector<std::string>{"10%", "max", "12.5%"});
  CHECK(rates("10%:50%:+20%") == std::vector<std::string>{"10%", "30%", "50%"});
  CHECK(rates("0.1%:0.5%:+0.1%").size() == 5);  // sums of tenths fall a hair beside their end
  const auto tenths = hbm::parse_rates("0.1%:0.5%:+0.1%");
  CHECK(tenths.at(2).percent == hbm::parse_rates("0.3%").at(0).percent);  // not 0.30000000000000004
  CHECK(rates("10%:55%:+20%,max") == std::vector<std::string>{"10%", "30%", "50%", "max"});
  for (const char* bad : {"", "80", "%", "80 %", "-1%", "0%", "10%:20%", "20%:10%:+1%", "1%:1000%:+0.1%",
                          "10%:20%:5%", "max%", "10%,,20%", "1001%"}) {
    INFO(bad);
    CHECK_THROWS_AS(hbm::parse_rates(bad), user_error);
  }
}
