// SPDX-License-Identifier: Apache-2.0
// The diagnosis on targets that are scripts: what it makes of runs that take too long or are refused.
#include "platforms/diagnose/examination.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <future>
#include <nlohmann/json.hpp>
#include <set>
#include <unistd.h>

#include "examined_target.hpp"
#include "platforms/diagnose/findings.hpp"
#include "platforms/diagnose/narrowing.hpp"
#include "testbench/support/test.hpp"

using namespace diecast;
using nlohmann::json;
using test::script;

namespace {

/// The diagnosis of a target that would take a minute or for ever. Near the budget on an idle computer; how
/// near is no matter of these tests.
constexpr double far_below_s = 30;

double seconds(const std::function<void()>& body) {
  const auto begun = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
}

}  // namespace

TEST_CASE("diagnosis: of a healthy machine two algorithms of other kinds are tried that the ranks can use") {
  const std::string list =
      "collective     algorithm       ranks          description\n"
      "all_reduce     ring_1d         pe, cube, sip  round a ring\n"
      "all_reduce     ring_1d_unidir  pe, cube, sip  one way\n"
      "all_reduce     intercube       cube           pe in the description only\n"
      "all_reduce     mesh_2d         cube, pe, sip  rows, then columns\n"
      "all_gather     bruck           pe, cube, sip  another collective\n"
      "all_reduce     three_level     pe             three rings";
  const std::string runs =
      R"(mkdir -p $OUT; echo '{"runs":[{"fingerprint":"7","time_ns":5,"algorithm":"ring_1d","rank_set":"pe"}]}' )"
      "> $OUT/result.json\n";
  const auto tried = [&runs](const std::string& answer) {
    const script healthy(runs, answer);
    std::vector<std::string> names;
    const json diagnosis = json::parse(healthy.examine(20).json);
    for (const json& e : diagnosis["experiments"]) {
      const std::string name = e["name"];
      if (name.starts_with("algorithm ")) names.push_back(name.substr(10));
    }
    return names;
  };
  CHECK(tried(list) == std::vector<std::string>{"mesh_2d", "three_level"});
  // Of known kinds where there are no others.
  CHECK(tried(list.substr(0, list.find("all_reduce     mesh"))) ==
        std::vector<std::string>{"ring_1d_unidir"});
}

TEST_CASE("diagnosis: a run that is only slow is called that") {
  const script slow("exec sleep 60\n");
  diagnose::diagnosis d;
  CHECK(seconds([&] { d = slow.examine(2); }) < far_below_s);
  const json j = json::parse(d.json);
  CHECK(j["verdict"] == "timed_out");
  CHECK(j["findings"].size() == 1);
  CHECK(j["answers"].empty());
  CHECK(j["budget_s"] == 2.0);
  CHECK(d.exit_code == 143);
  CHECK(d.text.find("stopped") != std::string::npos);
}

TEST_CASE("diagnosis: a run that does not end when told to is ended") {
  const script stubborn("trap '' TERM\nwhile :; do sleep 0.1; done\n");
  diagnose::diagnosis d;
  CHECK(seconds([&] { d = stubborn.examine(1); }) < far_below_s);
  CHECK(json::parse(d.json)["verdict"] == "timed_out");
}

TEST_CASE("diagnosis: experiments that time ran out for are listed, not answered") {
  // The first run is quick, all others hang.
  const script later("case $OUT in *run0) right; exit 0;; esac\nexec sleep 60\n");
  const json j = json::parse(later.examine(4).json);
  CHECK(j["verdict"] == "healthy");
  CHECK(j["answers"].empty());
  CHECK(j["not_tried"].size() >= 3);
  CHECK(j["not_tried"][0] == "once more");
}

TEST_CASE("diagnosis: what a changed machine refuses is no finding") {
  const script picky(
      "case \"$*\" in *checksum*|*slot_bytes*) echo 'no such thing' >&2; exit 2;; esac\nright\n");
  const json j = json::parse(picky.examine(100).json);
  CHECK(j["verdict"] == "healthy");
  CHECK(j["answers"]["with checksums"] == "is refused: no such thing");
  CHECK_FALSE(j["answers"].contains("checksums see it"));
  CHECK(json::parse(script("echo 'no such key' >&2; exit 2\n").examine(100).json)["verdict"] ==
        "config_error");
}

TEST_CASE("diagnosis: the size matters when fewer bytes do not show it") {
  // Wrong from 1024 bytes on; wrong whatever is split, read later or staged.
  const script sized(
      "bytes=65536\nwhile [ $# -gt 0 ]; do [ \"$1\" = --bytes ] && bytes=$2; shift; done\nright\n"
      "[ $bytes -lt 1024 ]\n");
  const json j = json::parse(sized.examine(100).json);
  CHECK(j["answers"]["fewest bytes that show it"] == "1024");
  CHECK(j["answers"]["depends on the size"] == "yes: 128 bytes do not show it");
  const script always("right\nexit 1\n");
  const json k = json::parse(always.examine(100).json);
  CHECK(k["answers"]["fewest bytes that show it"] == "128");
  CHECK(k["answers"]["depends on the size"] == "not as far as was tried");
}

TEST_CASE("diagnosis: a workload has no sizes to try") {
  const script always("case \"$*\" in *--bytes*) exit 70;; esac\nright\nexit 1\n");
  const json j = json::parse(always.examine(100, "w.json").json);
  CHECK_FALSE(j["answers"].contains("fewest bytes that show it"));
  CHECK(j["answers"].contains("staging removes it"));
  // Nothing that was tried makes it right: no class is guessed.
  CHECK(j["verdict"] == "wrong_data");
}

TEST_CASE("diagnosis: two faults that hide each other's mitigations are both named") {
  const script two(
      "case \"$*\" in *sendrecv=split*match_cycles*|*match_cycles*sendrecv=split*) right; exit 0;; esac\n"
      "right\nexit 1\n");
  const json j = json::parse(two.examine(100).json);
  std::set<std::string> classes;
  for (const json& f : j["findings"]) classes.insert(f["class"]);
  CHECK(classes == std::set<std::string>{"sendrecv_alias", "token_before_data"});
}

TEST_CASE("diagnosis: where the run as given takes too long a smaller one is looked into") {
  // 4096 bytes are quick, and wrong; the rest takes for ever.
  const script large(
      "bytes=65536\nwhile [ $# -gt 0 ]; do [ \"$1\" = --bytes ] && bytes=$2; shift; done\n"
      "[ $bytes -gt 4096 ] && exec sleep 60\nright\nexit 1\n");
  const diagnose::diagnosis d = large.examine(10);
  const json j = json::parse(d.json);
  CHECK(j["verdict"] == "wrong_data");
  CHECK(j["findings"].back()["class"] == "timed_out");
  CHECK(j["answers"]["examined instead, for lack of time"] == "4096 bytes");
  CHECK(j["experiments"][1]["name"] == "smaller: 4096 bytes");
  CHECK(d.exit_code == 143);
}

TEST_CASE(
    "diagnosis: a run that leaves time for few experiments is looked into in a smaller one that shows the "
    "same") {
  const std::string slow =
      "bytes=65536\nwhile [ $# -gt 0 ]; do [ \"$1\" = --bytes ] && bytes=$2; shift; done\n"
      "[ $bytes -gt 4096 ] && sleep 3\nright\n";
  const script wrong(slow + "exit 1\n"), right_when_small(slow + "[ $bytes -le 4096 ]\n"),
      // Another fault of a smaller run is none of the run as given.
      trapped(slow + "[ $bytes -gt 4096 ] && exit 1\nfault bad_call\nexit 4\n");
  // At the same time: they sleep.
  const auto examined = [](const script& s) {
    return std::async(std::launch::async, [&s] { return s.examine(12); });
  };
  auto first = examined(wrong), second = examined(right_when_small), third = examined(trapped);
  const diagnose::diagnosis alike = first.get();
  const json j = json::parse(alike.json);
  CHECK(j["verdict"] == "wrong_data");
  CHECK(j["findings"].size() == 1);
  CHECK(j["answers"]["examined instead, for lack of time"] == "4096 bytes");
  CHECK(alike.exit_code == 1);
  const json k = json::parse(second.get().json);
  CHECK_FALSE(k["answers"].contains("examined instead, for lack of time"));
  CHECK(k["experiments"][1]["name"] == "smaller: 4096 bytes");
  CHECK(json::parse(third.get().json)["verdict"] == "wrong_data");
}

TEST_CASE("diagnosis: a smaller run has no more bytes than the one given") {
  const script slow("case $OUT in *run0) sleep 3;; esac\nright\n");
  const json j = json::parse(slow.examine(12, "", {}, 512).json);
  CHECK(j["experiments"][1]["name"] == "smaller: 512 bytes, a rank per cube");
}

namespace {

/// 33 ranks with an algorithm of their number, slow and wrong as given; $1 is what a job on some of them
/// does.
std::string of_33_ranks(const std::string& on_some) {
  return "case \"$*\" in *--workload*) " + on_some +
         ";; esac\nright\n"
         "echo "
         "'{\"runs\":[{\"fingerprint\":\"7\",\"time_ns\":5,\"algorithm\":\"ring\",\"rank_set\":\"pe\","
         "\"ranks\":33}]}' "
         "> $OUT/result.json\ncase $OUT in *run0) sleep 2.1;; esac\nexit 1\n";
}

}  // namespace

TEST_CASE(
    "diagnosis: few ranks that are refused are asked for with the default algorithm, a single one never") {
  const json j = json::parse(script(of_33_ranks("echo 'not so few' >&2; exit 2")).examine(60).json);
  for (const char* some : {"ranks 0 to 15", "ranks 16 to 31", "ranks 31, 32"}) {
    CAPTURE(some);
    CHECK(j["answers"][some] == "is refused: not so few");
    CHECK(j["answers"][std::string(some) + ", the default algorithm"] == "is refused: not so few");
  }
}

TEST_CASE("diagnosis: few ranks that take too long are not asked for once more") {
  const json j = json::parse(script(of_33_ranks("exec sleep 60")).examine(12).json);
  const auto skipped = j["not_tried"].get<std::set<std::string>>();
  CHECK(skipped.contains("ranks 0 to 15"));
  CHECK_FALSE(skipped.contains("ranks 0 to 15, the default algorithm"));
}

TEST_CASE("diagnosis: what is not known of ranks' places is said") {
  const script lost(
      "fault bad_call pod.sip0.cube_0_0.pe0\n"
      "sed -i 's/\"time_ns\"/\"rank_set\":\"pe\",\"ranks\":2,\"time_ns\"/' $OUT/result.json\n"
      "printf 'run,measure,where,value,expected,unit\\n0,core_clock,pod.sip0.cube_0_0.pe0,1,1,GHz\\n' "
      "> $OUT/health.csv\n"
      "exit 4\n");
  const json j = json::parse(lost.examine(60).json);
  CHECK(j["answers"]["what is wrong without the place of the first finding"].get<std::string>().starts_with(
      "skipped: "));
}

TEST_CASE("diagnosis: a smaller run without a fault is no healthy machine") {
  const script large(
      "bytes=65536\nwhile [ $# -gt 0 ]; do [ \"$1\" = --bytes ] && bytes=$2; shift; done\n"
      "[ $bytes -gt 4096 ] && exec sleep 60\nright\n");
  const diagnose::diagnosis d = large.examine(10);
  const json j = json::parse(d.json);
  CHECK(j["verdict"] == "no_fault_in_a_smaller_run");
  CHECK(j["healthy"] == false);
  CHECK(j["answers"]["examined instead, for lack of time"] == "4096 bytes");
  CHECK(d.exit_code == 143);
}

TEST_CASE("diagnosis: where a sixteenth of the bytes is too much a smaller part is looked into") {
  const script large(
      "bytes=65536\nwhile [ $# -gt 0 ]; do [ \"$1\" = --bytes ] && bytes=$2; shift; done\n"
      "[ $bytes -gt 256 ] && exec sleep 60\nright\n");
  const json j = json::parse(large.examine(10).json);
  CHECK(j["verdict"] == "no_fault_in_a_smaller_run");
  CHECK(j["answers"]["examined instead, for lack of time"] == "256 bytes");
}

TEST_CASE("diagnosis: an experiment that takes for ever leaves time for the others") {
  // Only four launches hang; what is right when split is asked for all the same.
  const script target(
      "case \"$*\" in *--iters*) exec sleep 200;; *sendrecv=split*) right; exit 0;; esac\nright\nexit 1\n");
  const json j = json::parse(target.examine(60).json);
  CHECK(j["verdict"] == "sendrecv_alias");
  CHECK(j["not_tried"] == json{"four launches"});
  CHECK(j["answers"].contains("staging removes it"));
}

TEST_CASE("diagnosis: no experiment that was not made is in the evidence") {
  // Quick once, then for ever: nothing can be said of what makes it right.
  const script target("case $OUT in *run0) right; exit 1;; esac\nexec sleep 60\n");
  const json j = json::parse(target.examine(5).json);
  CHECK(j["verdict"] == "wrong_data");
  const std::string evidence = j["findings"][0]["evidence"].dump();
  CHECK(evidence.find("checksum") == std::string::npos);
  CHECK(evidence.find("not every mitigation was tried") != std::string::npos);
}

TEST_CASE("diagnosis: what needs a long delay to be seen is given one") {
  const script target("case \"$*\" in *ipcq.match_cycles=1000000*) right; exit 0;; esac\nright\nexit 1\n");
  const json j = json::parse(target.examine(100).json);
  CHECK(j["verdict"] == "token_before_data");
  CHECK(j["findings"][0]["evidence"][0].get<std::string>().find("(2,000,000 cycles later)") !=
        std::string::npos);
  CHECK(j["answers"]["waiting between token and data removes it"] == "yes");
}

TEST_CASE("diagnosis: what shows in an experiment only is said to") {
  const script target(
      "case \"$*\" in *--iters*) fault bad_call; exit 4;; "
      "esac\nright\n");
  const diagnose::diagnosis d = target.examine(100);
  const json j = json::parse(d.json);
  CHECK(d.exit_code == 0);
  CHECK(j["verdict"] == "dispatch_corruption");
  CHECK(j["findings"][0]["only_in"] == json{"four launches"});
  CHECK(d.text.find("not in the job as given, only in: four launches") != std::string::npos);
}

TEST_CASE("diagnosis: wrong results of an experiment only are said to be its own") {
  const script target(
      "case \"$*\" in *iters*match_cycles*) right; exit 0;; *--iters*) right; exit 1;; esac\nright\n");
  const json j = json::parse(target.examine(100).json);
  CHECK(j["verdict"] == "token_before_data");
  CHECK(j["findings"][0]["only_in"] == json{"four launches"});
  // Checksums looked at the job as given, which is right.
  CHECK(j["findings"][0]["evidence"].dump().find("checksum") == std::string::npos);
  const json k =
      json::parse(script("case \"$*\" in *--iters*) right; exit 1;; esac\nright\n").examine(100).json);
  CHECK(k["verdict"] == "wrong_data");
  CHECK(k["findings"][0]["evidence"].dump().find("checksum") == std::string::npos);
}

TEST_CASE("diagnosis: a config that is refused for the default job gets one that it takes") {
  const std::string target = "case \"$*\" in *barrier*) right; exit 0;; esac\nrefuse barriers_only\n";
  const diagnose::diagnosis d = script(target).examine(100);
  const json j = json::parse(d.json);
  CHECK(j["verdict"] == "healthy");
  CHECK(d.exit_code == 0);
  CHECK(j["answers"]["job"] == "a barrier: none was given, and the config is refused for the default one");
  CHECK(j["experiments"][0]["command"].get<std::string>().find("--collective barrier") != std::string::npos);
  CHECK(json::parse(script(target).examine(100, "w.json").json)["verdict"] == "config_error");
}

namespace {

/// Wrong in every draw of the faults' chances whose number leaves less than `wrong` when divided by 5, unless
/// it is staged.
std::string by_draws(int wrong) {
  return "draw=0; for word; do case $word in sim.fault_draw=*) draw=${word#*=};; esac; done\nright\n"
         "case \"$*\" in *comm.path=staged*) exit 0;; esac\n"
         "if [ $((draw % 5)) -lt " +
         std::to_string(wrong) + " ]; then exit 1; fi\n";
}

const json* question(const json& diagnosis, const std::string& id) {
  for (const json& q : diagnosis["questions"]) {
    if (q["id"] == id) return &q;
  }
  return nullptr;
}

}  // namespace

TEST_CASE("diagnosis: a fault that acts by chance has a rate, and what removes it is told from rates") {
  for (const int wrong : {1, 3}) {
    CAPTURE(wrong);
    const json j = json::parse(script(by_draws(wrong)).examine(100).json);
    CHECK(j["determinism"] == "stochastic");
    const json& rate = j["failure_rate"];
    CHECK(rate["low"] < wrong / 5.0);
    CHECK(rate["high"] > wrong / 5.0);
    CHECK(rate["high"].get<double>() - rate["low"].get<double>() <= 0.3);
    REQUIRE(question(j, "staging"));
    CHECK((*question(j, "staging"))["answer"] == "yes");
    CHECK((*question(j, "staging"))["before"]["draws"] == rate["draws"]);
    CHECK((*question(j, "staging"))["after"]["rate"] == 0.0);
    CHECK((*question(j, "staging"))["after"]["draws"] > 2);
    // A single draw of the others is right, too.
    CHECK((*question(j, "split_sendrecv"))["answer"] == "no");
    CHECK((*question(j, "mr_cache_monitor"))["answer"] == "not applicable");
    CHECK(j["verdict"] == "wrong_data");
  }
}

TEST_CASE("diagnosis: staging is asked of tag-matched messages, too") {
  const json j = json::parse(
      script("mkdir -p $OUT; echo '{\"runs\":[{\"fingerprint\":\"7\",\"stats\":{\"tag_posted\":4}}]}' > "
             "$OUT/result.json\nexit 1\n")
          .examine(60, "w.json")
          .json);
  CHECK((*question(j, "staging"))["answer"] == "no");
  CHECK(j["answers"]["staging removes it"] == "no");
}

TEST_CASE("diagnosis: rates that time does not tell apart are not distinguishable") {
  // Staged runs take for ever but the first, which is right.
  const json j = json::parse(
      script("case \"$*\" in *comm.path=staged*sim.fault_draw=*) exec sleep 60;; esac\n" + by_draws(3))
          .examine(25)
          .json);
  CHECK(j["determinism"] == "stochastic");
  CHECK((*question(j, "staging"))["answer"] == "not distinguishable");
}

TEST_CASE("diagnosis: what every draw shows is deterministic") {
  const json bad = json::parse(script("right\nexit 1\n").examine(100).json);
  CHECK(bad["determinism"] == "deterministic");
  CHECK(bad["failure_rate"]["rate"] == 1.0);
  CHECK(bad["failure_rate"]["draws"] >= 20);
  CHECK((*question(bad, "staging"))["answer"] == "no");
  CHECK((*question(bad, "staging"))["after"]["draws"] >= 2);
  const json good = json::parse(script("right\n").examine(100).json);
  CHECK(good["determinism"] == "deterministic");
  CHECK(good["failure_rate"]["rate"] == 0.0);
  CHECK(good["questions"].size() == 10);
}

TEST_CASE("diagnosis: a run that differs with equal draws is nondeterminism") {
  const std::string count = (std::filesystem::temp_directory_path() / "diecast-runs-XXXXXX").string();
  std::string name = count;
  REQUIRE(mkdtemp(name.data()) != nullptr);
  const script moody("touch " + name + "/$$\nright\n[ $(($(ls " + name + " | wc -l) % 2)) = 1 ]\n");
  const json j = json::parse(moody.examine(20).json);
  std::filesystem::remove_all(name);
  const auto& found = j["findings"];
  CHECK(
      std::any_of(found.begin(), found.end(), [](const json& f) { return f["class"] == "nondeterminism"; }));
  CHECK(j["determinism"] == "stochastic");
}

TEST_CASE("diagnosis: what is left without a place") {
  std::vector<std::string> pes;
  for (const char* cube : {"sip0.cube_0_0", "sip0.cube_1_0", "sip1.cube_0_0", "sip1.cube_1_0"}) {
    for (const char* pe : {"pe0", "pe1"}) pes.push_back(std::string("pod.") + cube + "." + pe);
  }
  using lists = std::vector<diagnose::rank_list>;
  const lists of_a_pe{{0, 1, 2, 4, 5, 6, 7}, {0, 1, 4, 5, 6, 7}, {4, 5, 6, 7}};
  CHECK(diagnose::without_place(pes, "pod.sip0.cube_1_0.pe1") == of_a_pe);
  CHECK(diagnose::without_place(pes, "pod.sip0.cube_1_0.ucie_east") ==
        lists{{0, 1, 4, 5, 6, 7}, {2, 3, 4, 5, 6, 7}, {2, 3}});
  CHECK(diagnose::without_place(pes, "pod.sip0.e-sip1.w") == lists{{0, 1, 2, 3}, {4, 5, 6, 7}});
  CHECK(diagnose::without_place(pes, "").empty());
  CHECK(diagnose::without_place({}, "").empty());
  CHECK(diagnose::without_place({pes[0], pes[1]}, "pod.sip0.e-sip1.w").empty());
}

TEST_CASE("diagnosis: what only its experiments get is in no command line") {
  const script target("case \"$*\" in *secret*) ;; *) exit 70;; esac\nright\n");
  const json j = json::parse(target.examine(100, "", {"--set", "secret"}).json);
  CHECK(j["verdict"] == "healthy");
  for (const json& e : j["experiments"]) {
    CHECK(e["command"].get<std::string>().find("secret") == std::string::npos);
  }
}

namespace {

/// Two PEs wait for each other's messages, by the operations given.
diagnose::observation circle(const std::string& of_first, const std::string& of_second) {
  const auto wait = [](const char* waiter, const char* on, const std::string& operation) -> json {
    return {{"waiter", waiter}, {"on", on}, {"for", "message"}, {"cause", "peer"}, {"operation", operation}};
  };
  diagnose::observation o;
  o.exit_code = 3;
  o.deadlock = {{"still", true},
                {"roots", json::array({{{"kind", "cycle"},
                                        {"members", {"a", "b"}},
                                        {"waits", {wait("a", "b", of_first), wait("b", "a", of_second)}}}})}};
  return o;
}

}  // namespace

TEST_CASE("diagnosis: what one end has sent and the other one waits for is lost, no circle") {
  for (const auto& [first, second] :
       {std::pair{"receive", "send"}, {"receipt", "receive"}, {"send", "probe"}, {"probe", "receipt"}}) {
    CAPTURE(first, second);
    CHECK(diagnose::names(diagnose::signs_of(circle(first, second)), "hang"));
    CHECK_FALSE(diagnose::names(diagnose::signs_of(circle(first, second)), "deadlock_cycle"));
  }
  for (const auto& [first, second] :
       {std::pair{"receive", "receive"}, {"send", "send"}, {"send", "receipt"}}) {
    CAPTURE(first, second);
    CHECK(diagnose::names(diagnose::signs_of(circle(first, second)), "deadlock_cycle"));
  }
}

TEST_CASE("diagnosis: a PE that has ended is not dead") {
  diagnose::observation o;
  o.exit_code = 3;
  o.deadlock = {{"pes", json::array({{{"pe", "pod.sip0.cube_0_0.pe1"}, {"state", "done"}, {"step", "x 1"}}})},
                {"roots", json::array({{{"kind", "peer"}, {"members", {"pod.sip0.cube_0_0.pe1"}}}})}};
  CHECK(diagnose::names(diagnose::signs_of(o), "hang"));
  CHECK_FALSE(diagnose::names(diagnose::signs_of(o), "dead_pe"));
  o.deadlock["pes"][0]["state"] = "running";
  CHECK(diagnose::names(diagnose::signs_of(o), "dead_pe"));
  o.deadlock["in_flight"] = json::array({{{"kind", "write_request"}, {"in_fabric", true}}});
  CHECK(diagnose::names(diagnose::signs_of(o), "stuck_packets"));
  CHECK_FALSE(diagnose::names(diagnose::signs_of(o), "dead_pe"));
}

TEST_CASE(
    "diagnosis: what is lost only among messages in a row is a barrier let go too early, where it is lost") {
  const auto finding = [](const char* kind, const char* where) {
    diagnose::finding f;
    f.kind = kind;
    f.where = where;
    f.evidence = {{{}, std::string("of ") + kind}};
    return f;
  };
  std::vector<diagnose::finding> found{finding("half_message", "pod.sip1.cube_0_0.pe0"),
                                       finding("missing_packets", "pod.sip0.e-sip1.w"),
                                       finding(diagnose::overrun, "")};
  auto lost = found;
  diagnose::resolve(found);
  REQUIRE(found.size() == 1);
  CHECK(found[0].kind == "premature_barrier");
  CHECK(found[0].where == "pod.sip0.e-sip1.w");
  CHECK(found[0].evidence.size() == 3);
  lost.pop_back();
  diagnose::resolve(lost);
  CHECK(lost.front().kind == "drop");
}
