// SPDX-License-Identifier: Apache-2.0
#include "models/config/overrides.hpp"

#include "config_files.hpp"
#include "models/fabric/topology.hpp"
#include "support/test.hpp"

using namespace diecast;
using namespace diecast::test;
using Catch::Contains;

namespace {

std::vector<std::string> override_problems(const std::string& text) {
  const temporary_folder folder;
  return load_problems({folder.write("machine.json", text), {}, {}});
}

config::machine_config load_config_text(const std::string& text) {
  const temporary_folder folder;
  return platforms::load_config({folder.write("machine.json", text), {}, {}}).config;
}

}  // namespace

TEST_CASE("overrides: read, dumped and read again") {
  const std::string text = R"({"overrides": [
    {"match": "pod.sip0.cube_1_2.ucie_e", "set": {"enabled": false}},
    {"match": "pod.sip0.*", "set": {"latency_ns": 20, "modules": 1, "gt_s": 8.5, "ber": 1e-9}}]})";
  const config::machine_config c = load_config_text(text);
  REQUIRE(c.overrides.size() == 2);
  CHECK(c.overrides[0] == config::instance_override{.match = "pod.sip0.cube_1_2.ucie_e", .enabled = false});
  CHECK(c.overrides[1] ==
        config::instance_override{
            .match = "pod.sip0.*", .modules = 1, .gt_s = 8.5, .latency_ns = 20.0, .ber = 1e-9});
  CHECK(load_config_text(platforms::dump_config(c)).overrides == c.overrides);
  CHECK(platforms::config_sha256(c) != platforms::config_sha256({}));
  CHECK(load_config_text("{}").overrides.empty());
}

TEST_CASE("overrides: arrays replace, and --set replaces both") {
  const temporary_folder folder;
  folder.write("base.json", R"({"overrides": [{"match": "a", "set": {"enabled": false}}]})");
  const auto file = folder.write(
      "top.json", R"({"extends": "base.json", "overrides": [{"match": "b", "set": {"gt_s": 4}}]})");
  CHECK(platforms::load_config({file, {}, {}}).config.overrides ==
        std::vector<config::instance_override>{{.match = "b", .gt_s = 4.0}});
  CHECK(platforms::load_config({file, {R"(overrides=[{"match": "c", "set": {"ber": 0}}])"}, {}})
            .config.overrides == std::vector<config::instance_override>{{.match = "c", .ber = 0.0}});
  CHECK(platforms::load_config({file, {"overrides=[]"}, {}}).config.overrides.empty());
}

TEST_CASE("overrides: everything wrong is reported at once") {
  const auto problems = override_problems(R"({"overrides": [
    {"match": "x", "set": {"enabeld": false, "modules": 9, "gt_s": "fast", "frobnicate": 1}},
    {"math": "x", "set": {}},
    7]})");
  REQUIRE(problems.size() == 8);
  CHECK_THAT(problems[0], Contains("overrides[0].set.enabeld: unknown key; did you mean enabled?"));
  CHECK_THAT(problems[1], Contains("overrides[0].set.modules: value out of range (value 9; expected a whole "
                                   "number from 1 to 8)"));
  CHECK_THAT(problems[2], Contains("overrides[0].set.gt_s: wrong type"));
  CHECK_THAT(problems[3], Contains("one of enabled, modules, gt_s, ber, gbytes_s, latency_ns"));
  CHECK_THAT(problems[4], Contains("overrides[1].math: unknown key"));
  CHECK_THAT(problems[5], Contains("overrides[1]: has no match"));
  CHECK_THAT(problems[6], Contains("overrides[1]: sets nothing"));
  CHECK_THAT(problems[7], Contains("overrides[2]: wrong type"));
  CHECK_THAT(override_problems(R"({"overrides": {}})").at(0), Contains("overrides: wrong type"));
}

TEST_CASE("overrides: rules between keys hold at the overridden link") {
  const auto latency = override_problems(R"({"overrides": [{"match": "*", "set": {"latency_ns": 0.5}}]})");
  REQUIRE(!latency.empty());
  CHECK_THAT(latency[0], Contains("overrides[0].set: ucie.latency_ns: a crossing takes less than one cycle"));
  const auto raw = override_problems(
      R"({"ucie": {"flit_format": "raw"}, "overrides": [{"match": "*ucie*", "set": {"ber": 1e-6}}]})");
  REQUIRE(raw.size() == 1);
  CHECK_THAT(raw[0], Contains("flit_format raw has no CRC"));
}

TEST_CASE("overrides: keys of PEs and dies are read, dumped, and no better than their block") {
  const std::string text = R"({"overrides": [
    {"match": "pod.sip0.cube_0_0.pe1", "set": {"vector_lanes": 16, "tcm_read_cycles": 9, "register_cycles": 8,
     "dma_startup_cycles": 41, "dma_issue_cycles": 23, "dma_outstanding": 2}},
    {"match": "pod.sip0.cube_0_0", "set": {"hop_cycles": 12}}]})";
  const config::machine_config c = load_config_text(text);
  CHECK(load_config_text(platforms::dump_config(c)).overrides == c.overrides);
  const auto pe = config::pe_block_of(c, {sip_id{0}, cube_id{0}, pe_id{1}});
  REQUIRE(pe);
  CHECK(pe->vector_lanes == 16);
  CHECK(pe->dma_outstanding == 2);
  CHECK(pe->tcm_banks == c.pe.tcm_banks);
  CHECK_FALSE(config::pe_block_of(c, {sip_id{0}, cube_id{0}, pe_id{2}}));
  CHECK(c.overrides.back().hop_cycles == 12);

  const auto better = override_problems(R"({"overrides": [
    {"match": "*.pe1", "set": {"vector_lanes": 65, "dma_issue_cycles": 21}},
    {"match": "*.noc", "set": {"hop_cycles": 8}}]})");
  REQUIRE(better.size() == 3);
  CHECK_THAT(better[0], Contains("overrides[0].set.vector_lanes: override is faster than the block") &&
                            Contains("value 65; expected at most 64 (pe.vector_lanes)"));
  CHECK_THAT(better[1], Contains("value 21; expected at least 22 (pe.dma_issue_cycles)"));
  CHECK_THAT(better[2], Contains("value 8; expected at least 9 (noc.hop_cycles)"));
}

TEST_CASE("overrides: a delay for PEs that are left out is refused") {
  const auto problems = override_problems(R"({"ccl": {"start_delays": "pod.sip0.cube_0_0.pe1=5"},
    "overrides": [{"match": "pod.sip0.cube_0_0.pe1", "set": {"enabled": false}}]})");
  REQUIRE(problems.size() == 1);
  CHECK_THAT(problems[0], Contains("names no PE of this machine"));
}

TEST_CASE("ucie keys: package and lanes agree, raw flits have no errors, rates are those of UCIe") {
  CHECK_THAT(override_problems(R"({"ucie": {"package": "standard"}})").at(0),
             Contains("contradicts ucie.lanes"));
  CHECK(override_problems(R"({"ucie": {"package": "standard", "lanes": 16}})").empty());
  CHECK(override_problems(R"({"ucie": {"lanes": 16}})").empty());
  CHECK_THAT(override_problems(R"({"ucie": {"ber": 1e-9, "flit_format": "raw"}})").at(0), Contains("no CRC"));
  CHECK(override_problems(R"({"ucie": {"ber": 0, "flit_format": "raw"}})").empty());
  CHECK(override_problems(R"({"ucie": {"ber": "auto"}})").empty());
  for (const char* gt_s : {"3.9", "65"}) {
    CHECK_THAT(override_problems(std::string(R"({"ucie": {"gt_s": )") + gt_s + "}}").at(0),
               Contains("a number from 4 to 64 GT/s"));
  }
}
