// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "config_files.hpp"
#include "models/config/check.hpp"
#include "models/config/field.hpp"
#include "platforms/config_io/config_json.hpp"
#include "platforms/run/prepare.hpp"
#include "support/test.hpp"

using namespace diecast;
using namespace diecast::test;

TEST_CASE("config load: no file and no keys give the defaults") {
  const auto defaults = platforms::dump_config({});
  CHECK(platforms::dump_config(platforms::load_config({}).config) == defaults);
  CHECK(platforms::dump_config(load_text("{}")) == defaults);
}

TEST_CASE("config load: every type of key, comments included") {
  const auto c = load_text(R"({
    // a line
    "pod": { "sips": 3, "topology": "list", "links": [[0, 1], [1, 2]] }, /* a block */
    "noc": { "clock_ghz": 2, "leg_vcs": false, "vc_buffer_flits": 40, "sideband_buffer_flits": "auto" },
    "ucie": { "latency_ns": 1.25e1 },
    "sim": { "build_order": "shuffle:12", "seed": 18446744073709551615 },
    "ccl": { "root": "centre" }
  })");
  CHECK(c.pod.sips == 3);
  REQUIRE(c.pod.links.size() == 2);
  CHECK((c.pod.links[1].from == 1 && c.pod.links[1].to == 2));
  CHECK(c.noc.clock_ghz == 2.0);
  CHECK_FALSE(c.noc.leg_vcs);
  CHECK(c.noc.vc_buffer_flits == 40u);
  CHECK_FALSE(c.noc.sideband_buffer_flits.has_value());
  CHECK(c.ucie.latency_ns == 12.5);
  CHECK(c.sim.build_order == "shuffle:12");
  CHECK(c.sim.seed == UINT64_MAX);
  CHECK(c.ccl.root == config::root_place::center);
}

TEST_CASE("config load: all problems of a file at once, with path, value and expectation") {
  const lines problems = problems_of_text(R"({
    "noc": { "hop_cycels": 2, "columns": "4", "rows": 4.5, "credit_cycles": -1, "clock_ghz": 0 },
    "pod": { "sips": 0, "topology": "star", "columns": null },
    "ipcq": { "n_slots": -4.7, "slot_bytes": 4100, "n_slots": 2 },
    "nocc": {},
    "pe": [],
    "sim": { "seed": 18446744073709551616, "strict_memory": 1, "build_order": "random" },
    "ucie": { "buffer_flits": "some", "latency_ns": "11" },
    "noc.columns": 4,
    "ccl.algorithms": {}
  })");
  CHECK(
      problems ==
      lines{
          "m.json: ipcq.n_slots: duplicate key (expected each key once)",
          "m.json: noc.hop_cycels: unknown key; did you mean noc.hop_cycles?",
          "m.json: noc.columns: wrong type (value \"4\"; expected a whole number from 1 to 128)",
          "m.json: noc.rows: wrong type (value 4.5; expected a whole number from 1 to 128)",
          "m.json: noc.credit_cycles: wrong type (value -1; expected a whole number from 1 to 1000 cycles)",
          "m.json: noc.clock_ghz: value out of range (value 0; expected a number from 0.001 to 100 GHz)",
          "m.json: pod.sips: value out of range (value 0; expected a whole number from 1 to 256)",
          "m.json: pod.topology: value out of range (value \"star\"; expected one of ring, mesh_2d, "
          "torus_2d, "
          "fully_connected, list)",
          "m.json: pod.columns: wrong type (value null; expected a whole number from 0 to 256)",
          "m.json: ipcq.n_slots: wrong type (value -4.7; expected a whole number from 1 to 65536)",
          "m.json: nocc: unknown block; did you mean noc?",
          "m.json: pe: wrong type (value []; expected an object)",
          "m.json: sim.seed: wrong type (value 18446744073709551616; expected a whole number from 0 to "
          "18446744073709551615)",
          "m.json: sim.strict_memory: wrong type (value 1; expected true or false)",
          "m.json: sim.build_order: value out of range (value \"random\"; expected text that matches "
          "forward|reverse|shuffle:[0-9]{1,18})",
          "m.json: ucie.buffer_flits: wrong type (value \"some\"; expected a whole number from 1 to "
          "1048576 flits, "
          "or auto)",
          "m.json: ucie.latency_ns: wrong type (value \"11\"; expected a number from 0.001 to 1000000 ns)",
          "m.json: noc.columns: a file has keys within their blocks (expected {\"noc\": {\"columns\": ...}})",
          "m.json: ccl.algorithms: a file has keys within their blocks (expected {\"ccl\": {\"algorithms\": "
          "...}})",
          "m.json: ipcq.slot_bytes: slots of a ring would share 64-byte lines (value 4100; expected a "
          "multiple of "
          "64 B: a slot starts on a line of its own, and every element type and memory burst is aligned in "
          "it)"});
}

TEST_CASE("config load: texts of any length are refused or taken, and messages stay short") {
  const std::string names(2'000'000, 'a');
  const auto text_of = [](const char* block, const char* key, const std::string& text) {
    return fmt::format(R"({{"{}": {{"{}": "{}"}}}})", block, key, text);
  };
  for (const auto& [block, key] : {std::pair{"trace", "vcd_scope"}, {"ccl", "tuner"}, {"ccl", "errata"}}) {
    const lines problems = problems_of_text(text_of(block, key, names));
    REQUIRE(problems.size() == 1);
    CHECK(problems[0].find("at most 4096 characters") != std::string::npos);
    CHECK(problems[0].size() < 1000);
  }
  // Words of a command line are cut by their length, between letters.
  std::string accents;
  for (int i = 0; i < 1000; ++i) accents += "\u00e9";
  const lines cut = problems_of_text("{}", {"trace.vcd_scope=a" + accents});
  REQUIRE(cut.size() == 1);
  CHECK(cut[0].find("... (2003 characters)") != std::string::npos);
  CHECK(cut[0].find("\u00e9...") != std::string::npos);
  std::string delays = "*.pe0=1";
  for (int i = 0; i < 20'000; ++i) delays += ",*.pe1=2.5";
  CHECK(load_text(text_of("ccl", "start_delays", delays)).ccl.start_delays == delays);
  CHECK(problems_of_text(text_of("ccl", "start_delays", "*.pe0=1,")).size() == 1);
}

TEST_CASE("config load: the place of a schema says nothing about the machine") {
  const temporary_folder folder;
  const auto file =
      folder.write("m.json", R"({"$schema": "./diecast.schema.json", "noc": {"hop_cycles": 2}})");
  const auto loaded = platforms::load_config({file, {}, {}});
  CHECK(loaded.config.noc.hop_cycles == 2);
  CHECK(platforms::dump_config(loaded.config).find("$schema") == std::string::npos);
  CHECK(problems_of_text(R"({"$schema": 7})") ==
        lines{"m.json: $schema: wrong type (value 7; expected the place of a JSON Schema, as text)"});
  CHECK_THAT(problems_of_text(R"({"noc": {"$schema": "x"}})").at(0),
             Catch::Contains("noc.$schema: unknown key"));
}

TEST_CASE("config load: broken JSON gives line and column") {
  CHECK_THAT(problems_of_text("{\n  \"pod\": { \"sips\": 2,, }\n}").at(0),
             Catch::StartsWith("m.json: line 2, column 22: broken JSON:"));
  CHECK_THAT(problems_of_text("{\n  \"pod\": {").at(0), Catch::StartsWith("m.json: line 2, column "));
  CHECK_THAT(problems_of_text("").at(0), Catch::StartsWith("m.json: line 1, column 1: broken JSON:"));
  CHECK_THAT(problems_of_text("{} {}").at(0), Catch::Contains("line 1, column 4"));
  CHECK_THAT(problems_of_text("{ \"pod\": { \"sips\": 1e999 } }").at(0), Catch::Contains("broken JSON"));
  CHECK_THAT(problems_of_text("{ /* no end").at(0), Catch::Contains("broken JSON"));
  CHECK_THAT(problems_of_text("{\"a\":\"\xff\"}").at(0), Catch::Contains("broken JSON"));
  CHECK_THAT(problems_of_text(std::string(100000, '[')).at(0), Catch::Contains("nested too deeply"));
  CHECK(problems_of_text("[1]") == lines{"m.json: wrong type (value [1]; expected an object with blocks)"});
}

TEST_CASE("config load: files that cannot be read") {
  const temporary_folder folder;
  CHECK_THAT(load_problems({folder.path() / "none.json", {}, {}}).at(0),
             Catch::Contains("none.json: cannot be read: No such file"));
  CHECK_THAT(load_problems({folder.path(), {}, {}}).at(0), Catch::Contains("a folder"));
}

TEST_CASE("config load: default < preset < extends < file < --set") {
  const temporary_folder folder;
  const auto presets = folder.path() / "presets";
  folder.write("presets/ucie/slow.json",
               R"({"source": "test", "latency_ns": 50, "lanes": 16, "gt_s": 4, "modules": 4})");
  folder.write("presets/ucie/other.json", R"({"source": "test", "latency_ns": 99, "flit_format": "raw"})");
  folder.write("base/base.json", R"({"ucie": {"lanes": 32, "gt_s": 8, "modules": 1, "preset": "other"},
                                     "pod": {"topology": "list", "sips": 3, "links": [[0, 1], [1, 2]]}})");
  const auto file = folder.write("top.json", R"({"extends": "base/base.json",
      "ucie": {"preset": "slow", "gt_s": 12, "modules": 2}, "pod": {"links": [[0, 2], [2, 1]]}})");
  const auto loaded = platforms::load_config({file, {"ucie.modules=8", "noc.rows=2", "noc.rows=3"}, presets});
  CHECK(loaded.config.ucie.latency_ns == 50);  // the preset named last, over the default
  CHECK(loaded.config.ucie.format == config::flit_format::flit_256);  // the earlier preset is gone
  CHECK(loaded.config.ucie.lanes == 32);                              // extends over preset
  CHECK(loaded.config.ucie.gt_s == 12);                               // file over extends
  CHECK(loaded.config.ucie.modules == 8);                             // --set over file
  CHECK(loaded.config.noc.rows == 3);                                 // the later --set
  CHECK(loaded.config.pod.sips == 3);                                 // objects merge
  REQUIRE(loaded.config.pod.links.size() == 2);                       // arrays replace
  CHECK(loaded.config.pod.links[0].to == 2);

  CHECK(loaded.origins.at("ucie.latency_ns") == (presets / "ucie/slow.json").string());
  CHECK_THAT(loaded.origins.at("ucie.lanes"), Catch::EndsWith("base/base.json"));
  CHECK(loaded.origins.at("ucie.gt_s") == file.string());
  CHECK(loaded.origins.at("ucie.modules") == "--set ucie.modules=8");
  CHECK(loaded.origins.count("noc.columns") == 0);
}

TEST_CASE("config load: a preset by --set, and presets that are wrong") {
  const temporary_folder folder;
  const auto presets = folder.path() / "presets";
  folder.write("presets/noc/bad.json", R"({"hop_cycels": 2, "rows": 0})");
  folder.write("presets/noc/good.json", R"({"source": "test", "hop_cycles": 2})");
  const auto file = folder.write("m.json", R"({"noc": {"preset": "bad"}, "pe": {"preset": 3}})");
  CHECK(platforms::load_config({{}, {"noc.preset=good"}, presets}).config.noc.hop_cycles == 2);
  CHECK(load_problems({file, {"ucie.preset=fast"}, presets}) ==
        lines{"m.json: pe.preset: wrong type (value 3; expected the name of a preset, as text)",
              "presets/noc/bad.json: source: missing or not a text (expected where the numbers come from)",
              "presets/noc/bad.json: noc.hop_cycels: unknown key; did you mean noc.hop_cycles?",
              "presets/noc/bad.json: noc.rows: value out of range (value 0; expected a whole number from 1 "
              "to 128)",
              "--set ucie.preset=fast: unknown preset (value fast; expected block ucie has no presets)"});
  CHECK(load_problems({folder.write("n.json", R"({"noc": {"preset": "../noc/good"}})"), {}, presets}) ==
        lines{"n.json: noc.preset: unknown preset (value ../noc/good; expected one of bad, good)"});
}

TEST_CASE("config load: extends finds files relative to itself and refuses cycles") {
  const temporary_folder folder;
  folder.write("a/one.json", R"({"extends": "../b/two.json", "pod": {"sips": 4}})");
  folder.write("b/two.json", R"({"extends": "three.json", "noc": {"rows": 2}})");
  folder.write("b/three.json", R"({"noc": {"rows": 8, "columns": 8}})");
  const auto c = platforms::load_config({folder.path() / "a/one.json", {}, {}}).config;
  CHECK((c.pod.sips == 4 && c.noc.rows == 2 && c.noc.columns == 8));

  folder.write("x.json", R"({"extends": "y.json", "pod": {"sips": 0}})");
  folder.write("y.json", R"({"extends": "./x.json"})");
  CHECK(load_problems({folder.path() / "x.json", {}, {}}) ==
        lines{"y.json: extends: extends itself (value x.json -> y.json -> x.json; expected a "
              "file that does "
              "not lead back)",
              "x.json: pod.sips: value out of range (value 0; expected a whole number from 1 to 256)"});
  CHECK_THAT(load_problems({folder.write("z.json", R"({"extends": "none.json"})"), {}, {}}).at(0),
             Catch::Contains("z.json: extends: ") && Catch::Contains("none.json: cannot be read"));
  CHECK_THAT(problems_of_text(R"({"extends": ["a.json"]})").at(0), Catch::Contains("extends: wrong type"));
}

TEST_CASE("config load: --set is as strict as a file") {
  const auto message = [](const std::string& set) {
    const lines problems = problems_of_text("{}", {set});
    return problems.empty() ? std::string() : problems.front();
  };
  CHECK(message("ipcq.slot_bytes=4KiB").empty());
  CHECK(message("pod.sips=-1") ==
        "--set pod.sips: not an accepted value (value '-1'; expected a whole number from 1 to 256)");
  CHECK_THAT(message("pod.sips=4.5"), Catch::Contains("value '4.5'"));
  CHECK_THAT(message("pod.sips="), Catch::Contains("value ''"));
  CHECK_THAT(message("pod.sips=2KiB"), Catch::Contains("whole number"));
  CHECK_THAT(message("noc.clock_ghz=fast"), Catch::Contains("a number from"));
  CHECK_THAT(message("noc.leg_vcs=yes"), Catch::Contains("true or false"));
  CHECK_THAT(message("ccl.root=middle"), Catch::Contains("one of center, corner"));
  CHECK_THAT(message("noc.hop_cycels=2"), Catch::Contains("did you mean noc.hop_cycles?"));
  CHECK_THAT(message("pod.sips"), Catch::Contains("no PATH=VALUE"));
  CHECK_THAT(message("=2"), Catch::Contains("no PATH=VALUE"));
  CHECK_THAT(message("noc=2"), Catch::Contains("is a block, not a key"));
  CHECK_THAT(message("ccl.algorithms.ring_1d.cube_layot=replicate"),
             Catch::Contains("did you mean cube_layout?"));
  CHECK_THAT(message("ccl.algorithms.ring_1d=replicate"), Catch::Contains("an object with settings"));
  CHECK_THAT(message("pod.links=0-1"), Catch::Contains("pod.topology list"));
  CHECK_THAT(message("pod.links=0:1"), Catch::Contains("pairs of SIPs"));
  const auto c = load_text("{}", {"pod.topology=list", "pod.sips=3", "pod.links=0-1,1-2",
                                  "noc.vc_buffer_flits=20", "noc.vc_buffer_flits=auto", "ccl.root=corner"});
  CHECK(c.pod.links.size() == 2);
  const auto as_in_a_file = load_text("{}", {"pod.topology=list", "pod.sips=3", "pod.links=[[0, 1],[1,2]]"});
  REQUIRE(as_in_a_file.pod.links.size() == 2);
  CHECK(as_in_a_file.pod.links[1].from == 1);
  CHECK(as_in_a_file.pod.links[1].to == 2);
  CHECK(load_text("{}", {"pod.links=[]"}).pod.links.empty());
  for (const char* bad :
       {"pod.links=[", "pod.links=[[]]", "pod.links=[[0,1]", "pod.links=[[0,1],]", "pod.links=[0,1]",
        "pod.links=[[0,1],[1-2]]", "pod.links=[[0,1 2]]", "pod.links=[[0,1,2]]", "pod.links=[[0,-1]]",
        "pod.links=]]", "pod.links=[[0,1],[]]", "pod.links=[[],[0,1]]", "pod.links=[[0,1],[],[1,2]]",
        "pod.links=0-1,", "pod.links=,0-1", "pod.links=0-1,,1-2", "pod.links=,"})
    CHECK_THAT(message(bad), Catch::Contains("pairs of SIPs"));
  CHECK_FALSE(c.noc.vc_buffer_flits.has_value());
  CHECK(c.ccl.root == config::root_place::corner);
}

TEST_CASE("config load: --set reaches into tables of named objects") {
  const temporary_folder folder;
  const auto file = folder.write("c.json", R"({"ccl": {"algorithms": {"ring_1d": {"mapper": "all_pes"}}}})");
  const std::vector<std::string> sets{"ccl.algorithms.ring_1d.cube_layout=replicate",
                                      R"(ccl.algorithms.swing.members=["sip0.cube0.pe0"])",
                                      R"(ccl.algorithms.ring_1d={"pe_layout": "row_wise"})"};
  const auto found = platforms::load_config({file, sets, {}}).config.ccl_named.algorithms;
  REQUIRE(found.size() == 2);
  CHECK(found[0].mapper == "all_pes");  // objects merge
  CHECK(found[0].cube_layout == config::layout::replicate);
  CHECK(found[0].pe_layout == config::layout::row_wise);
  CHECK(found[1].name == "swing");
  CHECK(found[1].members.size() == 1);
}

TEST_CASE("config load: problems of file and --set come together; a rule names where its key was set") {
  const temporary_folder folder;
  const auto file = folder.write("m.json", R"({"noc": {"link_cycles": 5, "row": 1}, "pe": {"tcm_kib": 64}})");
  CHECK(load_problems({file, {"noc.hop_cycles=3", "pod.spis=2", "ipcq.slot_bytes=1MiB"}, {}}) ==
        lines{"m.json: noc.row: unknown key; did you mean noc.rows?",
              "--set pod.spis: unknown key; did you mean pod.sips?",
              "--set ipcq.slot_bytes: one receive ring (ipcq.n_slots x ipcq.slot_bytes) is larger than its "
              "memory (value "
              "4 x 1048576 = 4194304 B; expected at most 65536 B (pe.tcm_kib))",
              "m.json: noc.link_cycles: leaves no cycle for the router within noc.hop_cycles (value 5; "
              "expected less than "
              "noc.hop_cycles = 3)"});
  CHECK_THAT(load_problems({{}, {"noc.flit_bytes=48"}, {}}).at(0),
             Catch::StartsWith("noc.max_packet_bytes (default): the longest packet"));
}

TEST_CASE("config load: the name of a direction stands in tables and holds nothing that parts their cells") {
  const temporary_folder folder;
  const auto problems_of = [&folder](const std::string& direction, const std::string& reverse) {
    const auto file = folder.write(
        "m.json", R"({"ccl": {"patterns": {"mine": [{"from": "sip0.cube0.pe0", "to": "sip0.cube0.pe1", )"
                  R"("direction": ")" +
                      direction + R"(", "reverse": ")" + reverse + R"("}]}}})");
    return load_problems({file, {}, {}});
  };
  CHECK(problems_of("out left", "back").empty());
  for (const char* wrong : {"a,b", "a\\\"b", "a\\nb", "a\\rb"}) {
    INFO(wrong);
    CHECK_THAT(problems_of("out", wrong).at(0),
               Catch::Contains("ccl.patterns.mine[0].reverse: holds a comma, a quote or the end of a line"));
    CHECK_THAT(
        problems_of(wrong, "back").at(0),
        Catch::Contains("ccl.patterns.mine[0].direction: holds a comma, a quote or the end of a line"));
  }
}

TEST_CASE("machine model: buffers without room for a launch packet are refused before anything is written") {
  config::machine_config c;
  c.noc.max_packet_bytes = 128;
  c.noc.vc_buffer_flits = 4;
  CHECK(config::check(c).empty());
  CHECK_THROWS_WITH(platforms::machine_model(c),
                    Catch::Contains("noc.vc_buffer_flits") && Catch::Contains("5 or more"));
  c.noc.flow = config::noc_flow::wormhole;  // a packet lies in several buffers at a time
  CHECK_NOTHROW(platforms::machine_model(c));
}
