// SPDX-License-Identifier: Apache-2.0
// Jobs that the diagnosis makes up, and what it makes of them.
#include <nlohmann/json.hpp>
#include <set>

#include "examined_target.hpp"
#include "platforms/diagnose/findings.hpp"
#include "platforms/diagnose/jobs.hpp"
#include "testbench/support/test.hpp"

using namespace diecast;
using nlohmann::json;
using test::script;

TEST_CASE("diagnosis: jobs it makes up") {
  const json some =
      json::parse(diagnose::workload_of({"all_reduce", "ring_1d", "", "max", "pe", {4, 5}, 4096}));
  CHECK(some["groups"]["tried"] == json{{"ranks", "pe"}, {"list", {4, 5}}});
  CHECK(some["streams"][0]["ops"] ==
        json::array({{{"op", "all_reduce"}, {"algorithm", "ring_1d"}, {"redop", "max"}, {"bytes", 4096}}}));
  const json barrier = json::parse(diagnose::workload_of({"barrier", "", "", "", "pe", {0, 1}, 0}));
  CHECK(barrier["streams"][0]["ops"] == json::array({{{"op", "barrier"}}}));
  // A group without a list is all PEs that the machine has: some may be missing.
  const json whole = json::parse(diagnose::workload_of({"all_reduce", "", "", "", "pe", {}, 4096}));
  CHECK(whole["groups"]["tried"] == json{{"ranks", "pe"}});
  const json ring = json::parse(diagnose::ring_of_messages(4096));
  CHECK(ring["groups"]["tried"] == json{{"ranks", "pe"}});
  std::vector<std::uint64_t> sent;
  for (const json& op : ring["streams"][0]["ops"]) {
    if (op["op"] == "isend") sent.push_back(op["bytes"]);
  }
  CHECK(sent == std::vector<std::uint64_t>{256, 4096});
  // Comments are allowed in workloads; a stream that says nothing runs once.
  const auto four = diagnose::repeated(
      "// two\n{\"streams\": [{\"name\": \"a\", \"repeat\": 3, \"ops\": []}, {\"name\": \"b\", \"ops\": "
      "[]}]}",
      4);
  REQUIRE(four);
  const json streams = json::parse(*four)["streams"];
  CHECK(streams[0]["repeat"] == 12);
  CHECK(streams[1]["repeat"] == 4);
  for (const char* text :
       {"", "<algo name=\"x\"/>", "[1]", "{\"streams\": 3}", "{\"streams\": [{\"repeat\": -1}]}"}) {
    CAPTURE(text);
    CHECK_FALSE(diagnose::repeated(text, 4));
  }
}

TEST_CASE("diagnosis: jobs of its own are for all PEs, in groups of neighbors that leave nobody alone") {
  const auto sizes_of = [](const std::string& workload) {
    std::vector<std::size_t> sizes;
    std::set<std::uint32_t> ranks;
    const json j = json::parse(workload);
    for (const json& stream : j["streams"]) {
      const json& list = j["groups"][stream["on"]]["list"];
      sizes.push_back(list.size());
      for (const json& rank : list) ranks.insert(rank.get<std::uint32_t>());
    }
    CHECK(*ranks.rbegin() + 1 == ranks.size());
    return sizes;
  };
  using sizes = std::vector<std::size_t>;
  CHECK(sizes_of(diagnose::barriers_among(2)) == sizes{2});
  CHECK(sizes_of(diagnose::barriers_among(65)) == sizes{65});
  CHECK(sizes_of(diagnose::barriers_among(256)) == sizes{64, 64, 64, 64});
  CHECK(sizes_of(diagnose::messages_to_each(15)) == sizes{15});
  CHECK(sizes_of(diagnose::messages_to_each(34)) == sizes{16, 16, 2});
  const json three = json::parse(diagnose::messages_to_each(3))["streams"][0]["ops"];
  REQUIRE(three.size() == 9);
  CHECK(three[3]["only"] == json{0, 2});
  CHECK(three[3]["peer"] == 1);
  CHECK(three[4]["only"] == json::array({1}));
  CHECK(three[4]["times"] == 2 * three[3]["times"].get<int>());
}

TEST_CASE("diagnosis: a machine that is right in its job is tried with barriers and messages") {
  const std::string map = "tcm pod.sip0.cube_0_0.pe0 on router_0_0\ntcm pod.sip0.cube_0_0.pe1 on router_1_0";
  // Only one of them goes wrong: a fault, each with its own workaround.
  const auto wrong_in = [](const char* op, const std::string& then) {
    return std::string("for job; do case $job in *diagnosis_job*) grep -q ") + op + " $job && { " + then +
           "; };; esac; done\nright\n";
  };
  const std::string stopped =
      "mkdir -p $OUT; echo '{\"signals\":[{\"finding\":\"stale "
      "line\",\"waiter\":\"pod.sip0.cube_0_0.pe1\"}]}' "
      "> $OUT/deadlock.json; exit 3";
  const diagnose::diagnosis d = script(wrong_in("centralized_pull", stopped), map).examine(60);
  const json j = json::parse(d.json);
  CHECK(j["verdict"] == "stale_cache_line");
  CHECK(j["findings"][0]["where"] == "pod.sip0.cube_0_0.pe1");
  CHECK(j["findings"][0]["only_in"] == json::array({"a few barriers"}));
  CHECK(d.text.find("not in the job as given, only in: a few barriers\n") != std::string::npos);
  CHECK(j["answers"]["in messages to each PE in turn"] == "right");
  CHECK(d.exit_code == 0);  // the run as given is right
  const std::string race =
      "case \"$*\" in *tag_match*) right; exit 0;; esac; "
      "fault tag_list_contradiction pod.sip0.cube_0_0.pe1; exit 4";
  const json k = json::parse(script(wrong_in("ANY", race), map).examine(60).json);
  CHECK(k["verdict"] == "tag_list_race");
  CHECK(k["answers"]["in messages to each PE in turn: matching in software removes it"] == "yes");
  CHECK_FALSE(k["answers"].contains("in a few barriers"));  // messages go wrong: it would tell nothing new
  // A job that goes wrong tells enough itself; of a single PE there is nothing to try.
  for (const auto& [lines, answer] : {std::pair{std::string("right\nexit 1\n"), map},
                                      {std::string("right\n"), map.substr(0, map.find('\n'))}}) {
    CHECK_FALSE(json::parse(script(lines, answer).examine(60).json)["answers"].contains("in a few barriers"));
  }
}

TEST_CASE("diagnosis: a link that little went over is loaded before it is judged") {
  const auto link = [](int few, int many) {
    return "load=" + std::to_string(few) + "; case \"$*\" in *65536*) load=" + std::to_string(many) +
           ";; esac\nright\necho \"m\n0,link_rate,pod.sip0.cube_0_0.ucie_east,$rate,118\" > $OUT/health.csv\n"
           "echo \"r\n0,pod.sip0.cube_0_0.ucie_east,$load,8\n0,pod.sip0.cube_0_0.pe0,1,1\" > "
           "$OUT/links.csv\n";
  };
  const auto verdict = [&link](const std::string& lines) {
    const json j = json::parse(script(lines + link(12, 2104)).examine(60, "", {}, 1024).json);
    return j["verdict"].get<std::string>();
  };
  CHECK(verdict("rate=59\n") == "link_degraded");
  CHECK(verdict("rate=59; case \"$*\" in *65536*) rate=126;; esac\n") == "healthy");
}

TEST_CASE("diagnosis: a job of its own takes the place of the one given") {
  diagnose::experiment_runner runner("/bin/true",
                                     {"--config", "c.json", "--collective", "barrier", "--team=0:1:4",
                                      "--no-data", "--set", "a=1", "--seed", "3"},
                                     {}, 10, nullptr, {}, "out");
  const std::string file = runner.keep("{}");
  CHECK(runner.command({"--workload", file}) ==
        "true --config c.json --set a=1 --seed 3 --workload out/diagnosis_job_0.json");
  CHECK(runner.kept().at("diagnosis_job_0.json") == "{}");
}
