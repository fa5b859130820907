// SPDX-License-Identifier: Apache-2.0
// Memory studies below the command line: patterns under real address maps, rates, presets' peaks.
#include <vector>

#include "models/timing/address_map.hpp"
#include "models/types/error.hpp"
#include "platforms/hbm/options.hpp"
#include "platforms/hbm/study.hpp"
#include "platforms/io/config_json.hpp"
#include "platforms/io/paths.hpp"
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
