// SPDX-License-Identifier: Apache-2.0
// The files that ship: configs, presets, generated pages.
#include <algorithm>

#include "config_files.hpp"
#include "models/abi/registers.hpp"
#include "models/config/field.hpp"
#include "models/fabric/topology.hpp"
#include "models/timing/link.hpp"
#include "platforms/config_io/config_json.hpp"
#include "support/test.hpp"
#include "unit/models/timing/dram_blocks.hpp"

using namespace diecast;
using namespace diecast::test;

namespace {

config::machine_config shipped(const std::string& name) {
  return platforms::load_config({platforms::configs_dir() / (name + ".json"), {}, {}}).config;
}

}  // namespace

TEST_CASE("shipped configs: all load and can be wired") {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(platforms::configs_dir())) {
    if (entry.path().extension() != ".json") continue;
    INFO(entry.path());
    // A network study's routers may have more VCs than the classes and legs of a pod leave room for.
    const bool study = entry.path().filename().string().find("noc") != std::string::npos;
    const auto what = study ? fabric::purpose::network_study : fabric::purpose::machine;
    CHECK_NOTHROW(fabric::topology(platforms::load_config({entry.path(), {}, {}}).config, what));
    ++files;
  }
  CHECK(files >= 7);
}

TEST_CASE("shipped configs: the platforms' own") {
  CHECK(platforms::dump_config(shipped("pod_default")) == platforms::dump_config({}));
  CHECK(shipped("pod_default").shape().pes() == 256);
  CHECK(shipped("sip_default").shape().pes() == 128);
  CHECK(shipped("cube_default").shape().pes() == 8);
  for (const char* platform : {"pod", "sip", "cube"}) {
    CHECK(std::filesystem::exists(platforms::default_config(std::string(platform) + "_default.json")));
  }
  CHECK_THROWS_AS(platforms::default_config("toaster_default.json"), user_error);
}

TEST_CASE("shipped configs: the seed machine has round rates") {
  const auto c = shipped("seed_machine");
  CHECK(c.shape().pes() == 256);
  CHECK(timing::ucie_payload_gbytes_s(c.ucie) == Approx(128));
  CHECK(c.ucie.latency_ns == 16);
  CHECK(static_cast<double>(c.noc.flit_bytes) * c.noc.clock_ghz == Approx(128));
  CHECK(static_cast<double>(c.pe.tcm_banks * c.pe.tcm_bank_bytes) * c.noc.clock_ghz == Approx(512));
  CHECK(c.pe.tcm_kib == 16 * 1024);
  CHECK(c.hbm.ports == c.cube.pes);
  CHECK(static_cast<double>(c.hbm.pseudo_channels) * c.hbm.simple_gbytes_s == Approx(256));
  CHECK(c.hbm.burst_bytes == 256);
  CHECK((c.ipcq.n_slots == 4 && c.ipcq.slot_bytes == 4096));
  const auto six = shipped("seed_machine_6sip");
  CHECK((six.pod.sips == 6 && six.pod.columns == 3 && six.pod.topology == config::pod_topology::torus_2d));
  CHECK(six.ucie.latency_ns == 16);
  CHECK(six.sip_link.gbytes_s == 128);
}

TEST_CASE("shipped presets: each loads, changes its block only and names its source") {
  const auto presets = platforms::list_presets(platforms::presets_dir());
  std::vector<std::string> names;
  for (const auto& p : presets) {
    names.push_back(p.block + "." + p.name);
    INFO(names.back());
    CHECK(p.source.size() > 10);
    const auto loaded = platforms::load_config({{}, {p.block + ".preset=" + p.name}, {}});
    CHECK_FALSE(loaded.origins.empty());
    for (const auto& [path, origin] : loaded.origins) CHECK(path.starts_with(p.block + "."));
  }
  for (const char* name : {"noc.lean", "ucie.rebel100", "ucie.spec", "ucie.x64_advanced", "ucie.x16_standard",
                           "sip_link.seed_ucie", "sip_link.ucie_retimer", "sip_link.serdes_112g",
                           "hbm.HBM2_2000", "hbm.HBM3_6400", "hbm.HBM3E_9600", "hbm.HBM4_8000"}) {
    CHECK(std::find(names.begin(), names.end(), name) != names.end());
  }
}

TEST_CASE("shipped presets: those that are the defaults change nothing") {
  for (const char* set : {"ucie.preset=rebel100", "hbm.preset=HBM3_6400"}) {
    CHECK(platforms::config_sha256(platforms::load_config({{}, {set}, {}}).config) ==
          platforms::config_sha256({}));
  }
}

TEST_CASE("shipped presets: tests without files use the same HBM generations") {
  const auto same = [](const std::string& preset, config::hbm_block block, std::uint64_t channels,
                       std::uint64_t channel_mib) {
    INFO(preset);
    config::machine_config expected;
    expected.hbm = block;
    expected.hbm.ports = channels;
    expected.hbm.port_mib = channel_mib;
    expected.hbm.controller_ns = config::hbm_block{}.controller_ns;
    const auto loaded = platforms::load_config({{}, {"hbm.preset=" + preset}, {}}).config;
    CHECK(platforms::dump_config(loaded) == platforms::dump_config(expected));
  };
  same("HBM2_2000", hbm2(), 8, 512);
  same("HBM3_6400", hbm3(), 16, 1024);
  same("HBM3E_9600", hbm3e(), 16, 1024);
  same("HBM4_8000", hbm4(), 32, 1024);
}

TEST_CASE("shipped presets: peak of each HBM generation") {
  const auto peak = [](const std::string& preset) {
    const auto c = platforms::load_config({{}, {"hbm.preset=" + preset}, {}}).config;
    return static_cast<double>(c.hbm.ports * c.hbm.pseudo_channels * c.hbm.burst_bytes) / c.hbm.burst_ns;
  };
  CHECK(peak("HBM2_2000") == Approx(256));
  CHECK(peak("HBM3_6400") == Approx(819.2));
  CHECK(peak("HBM3E_9600") == Approx(1228.8));
  CHECK(peak("HBM4_8000") == Approx(2048));
}

TEST_CASE("generated pages: every key and register once, no broken table row") {
  const std::string keys = platforms::config_markdown();
  for (const config::block_table& table : config::tables()) {
    for (const config::field& f : table.fields) {
      const std::string cell = "| `" + f.path() + "` |";
      const std::size_t at = keys.find(cell);
      INFO(f.path());
      REQUIRE(at != std::string::npos);
      CHECK(keys.find(cell, at + 1) == std::string::npos);
      std::string row = keys.substr(at, keys.find('\n', at) - at);
      for (std::size_t bar = row.find("\\|"); bar != std::string::npos; bar = row.find("\\|"))
        row.erase(bar, 2);
      CHECK(std::count(row.begin(), row.end(), '|') == 7);
    }
  }
  const std::string registers = platforms::registers_markdown();
  for (const diecast::abi::register_description& r : diecast::abi::register_map()) {
    INFO(r.name);
    CHECK(registers.find("`" + std::string(r.name) + "`") != std::string::npos);
  }
  CHECK(registers.find("| 0x10000 | `QP_CONTROL` | read, write |") != std::string::npos);
}
