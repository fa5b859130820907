// SPDX-License-Identifier: Apache-2.0
// What one run says is wrong, and where.
#include "platforms/diagnose/findings.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "platforms/diagnose/jobs.hpp"
#include "platforms/diagnose/places.hpp"
#include "testbench/support/test.hpp"

using namespace diecast;
using diagnose::finding;
using diagnose::observation;
using nlohmann::json;

namespace {

observation faulted(const json& fault) {
  observation o;
  o.name = "as given";
  o.exit_code = 4;
  o.errors = "a sentence for people\n";
  o.result = {{"runs", json::array({{{"fault", fault}}})}};
  return o;
}

finding made(const char* kind, const char* where, diagnose::evidence shown = {}) {
  finding f;
  f.kind = kind;
  f.where = where;
  f.evidence = {std::move(shown)};
  return f;
}

/// Classes and places of what is left when all is resolved.
std::vector<std::pair<std::string, std::string>> resolved(std::vector<finding> found) {
  diagnose::resolve(found);
  std::vector<std::pair<std::string, std::string>> left;
  for (const finding& f : found) left.emplace_back(f.kind, f.where);
  return left;
}

using places = std::vector<std::pair<std::string, std::string>>;

}  // namespace

TEST_CASE("findings: the place of a fault is the PE, or else the cube, of who found it") {
  CHECK(diagnose::pe_or_cube("pod.sip1.cube_2_13.pe0.dma") == "pod.sip1.cube_2_13.pe0");
  CHECK(diagnose::pe_or_cube("pod.sip0.cube_1_0.noc") == "pod.sip0.cube_1_0");
  CHECK(diagnose::pe_or_cube("pod.sip0.io").empty());
  CHECK(diagnose::sips_in("pod.sip10.e-sip1.w") == std::set<std::uint32_t>{1, 10});
  CHECK(diagnose::sips_in("pod.sip0.sip_port_e") == std::set<std::uint32_t>{0});
}

TEST_CASE("findings: a direction is no part of a place") {
  observation o;
  o.health = {{"credits_skipped", "pod.sip1.cube_1_0.pe0", 2, 0, "W"},
              {"credits_skipped", "pod.sip1.cube_1_0.pe0", 1, 0, "E"}};
  o.exit_code = 0;
  std::vector<finding> found;
  diagnose::merge(found, diagnose::signs_of(o));
  REQUIRE(found.size() == 1);
  CHECK(found[0].where == "pod.sip1.cube_1_0.pe0");
  CHECK(found[0].part == "W, E");
}

TEST_CASE("findings: the PE that is installed wrongly is the one most problems name") {
  observation o;
  o.exit_code = 2;
  CHECK(diagnose::signs_of(o).front().kind == "config_error");
  const char *const a = "pod.sip1.cube_1_0.pe3", *const b = "pod.sip0.cube_0_0.pe0",
                    *const c = "pod.sip0.cube_0_0.pe1";
  const auto problem = [](std::vector<std::string> pes) -> json {
    return {{"kind", "wrong_install"}, {"pes", std::move(pes)}};
  };
  o.problems = json::array({problem({a, b, c, b, a}), problem({a, b, a}), problem({c, b, c, b})});
  const auto found = diagnose::signs_of(o);
  REQUIRE(found.size() == 1);
  CHECK(found[0].kind == "wrong_install");
  CHECK(found[0].where == b);
}

TEST_CASE("findings: a first packet that is still under way is late, not lost") {
  observation o = faulted({{"kind", "no_open_message"},
                           {"place", "pod.sip0.cube_1_0.pe2"},
                           {"sender", "pod.sip0.cube_1_0.pe1"},
                           {"sequence", 4},
                           {"first_pa", "0x0001102000160000"},
                           {"end_pa", "0x0001102000160001"},
                           {"links", {"a", "b"}}});
  const auto with = [&o](bool first, std::uint64_t sequence) {
    o.flight = {{"in_flight", json::array({{{"kind", "message"},
                                            {"address_pa", "0x0001102000160000"},
                                            {"sequence", sequence},
                                            {"from", "pod.sip0.cube_1_0.pe1"},
                                            {"first_packet_under_way", first}}})}};
    return diagnose::signs_of(o).front();
  };
  CHECK(with(true, 4).kind == "reorder");
  CHECK(with(true, 4).where == "pod.sip0.cube_1_0.pe2");
  CHECK(with(false, 4).kind == "drop");  // others of its packets are
  CHECK(with(true, 5).kind == "drop");
  o.flight = nullptr;
  CHECK(diagnose::signs_of(o).front().kind == "drop");
}

TEST_CASE("findings: a message under way from the same PE into another ring is another message") {
  observation o = faulted({{"kind", "token_sequence"},
                           {"place", "pod.sip0.cube_1_0.pe0"},
                           {"sender", "pod.sip0.cube_0_0.pe3"},
                           {"sequence", 1},
                           {"expected", 0},
                           {"first_pa", "0x000110000015e000"},
                           {"end_pa", "0x0001100000166000"}});
  const auto with = [&o](const char* slot) {
    o.flight = {{"in_flight", json::array({{{"kind", "message"},
                                            {"address_pa", slot},
                                            {"sequence", 0},
                                            {"from", "pod.sip0.cube_0_0.pe3"}}})}};
    return diagnose::signs_of(o).front().kind;
  };
  CHECK(with("0x000110000015e000") == "reorder");
  CHECK(with("0x0001100000165fff") == "reorder");
  CHECK(with("0x0001100000166000") == "drop");
  CHECK(with("0x000110100015e000") == "drop");
}

TEST_CASE("findings: packets of any kind that stand still on a link that lets none through") {
  observation o;
  o.exit_code = 3;
  o.health = {{"packets", "pod.sip0.e-sip1.w", 10, 13}};
  o.deadlock = {{"still", true}, {"in_flight", json::array()}};
  std::vector<finding> lost = diagnose::signs_of(o);
  CHECK(diagnose::names(lost, "missing_packets"));
  o.deadlock["in_flight"] = json::array({{{"kind", "tag_message"}, {"in_fabric", true}}});
  CHECK(diagnose::names(diagnose::signs_of(o), "link_down"));
}

TEST_CASE("findings: credits are late by what they need, however many are") {
  observation o;
  o.exit_code = 0;
  o.health = {{"credit_latency_max", "pod.sip0.cube_0_0.pe0", 20030, 27},
              {"credit_latency_max", "pod.sip0.cube_0_0.pe1", 20070, 67},
              {"credit_latency_max", "pod.sip1.cube_0_0.pe0", 6000, 5000}};
  const auto late = diagnose::signs_of(o);
  CHECK(late.size() == 2);
  CHECK(diagnose::names(late, "late_credit"));
  // A credit that leaves a link late by what its way before has cost.
  o.health = {{"credit_arrival", "pod.sip0.e-sip1.w", 5100, 4800}};
  CHECK(diagnose::signs_of(o).empty());
  o.health = {{"credit_arrival", "pod.sip0.e-sip1.w", 5100, 100}};
  CHECK(diagnose::signs_of(o).front().where == "pod.sip0.e-sip1.w");
}

TEST_CASE("findings: what a link does is not blamed on the PEs behind it") {
  const char* const link = "pod.sip0.e-sip1.w";
  const auto over = [](const char* last) {
    return diagnose::evidence{"with checksums", "a checksum", {}, {"pod.sip0.cube_1_0.pe3.inject", last}};
  };
  const finding measured = made("bit_flip", link, {{}, "4 packets arrived with a wrong checksum"});
  CHECK(resolved({made("bit_flip", "pod.sip1.cube_0_0.pe0", over(link)), measured}) ==
        places{{"bit_flip", link}});
  // Another path, or within a cube: another fault.
  CHECK(resolved({made("bit_flip", "pod.sip0.cube_1_0.pe2", over("pod.sip0.cube_1_0.pe2.eject")), measured})
            .size() == 2);
  const finding counted = made("drop", link, {{}, "3 of 5 packets came"});
  const diagnose::evidence inside{{}, "a token", {"pod.sip0.cube_1_0.pe2", "pod.sip0.cube_1_0.pe1"}};
  const diagnose::evidence across{{}, "a token", {"pod.sip1.cube_0_0.pe0", "pod.sip0.cube_1_0.pe3"}};
  CHECK(resolved({made("drop", "pod.sip0.cube_1_0.pe2", inside), counted}).size() == 2);
  CHECK(resolved({made("drop", "pod.sip1.cube_0_0.pe0", across), counted}) == places{{"drop", link}});
  // A PE's own counters are as good as a link's.
  finding own = made("drop", "pod.sip1.cube_0_0.pe0", {{}, "3 of 5 packets came", {"pod.sip1.cube_0_0.pe0"}});
  own.counted = true;
  CHECK(resolved({own, counted}).size() == 2);
}

TEST_CASE("findings: a link that brings packets out of order does what somebody complains of") {
  const char* const link = "pod.sip0.cube_0_0.ucie_east";
  const finding seen = made(diagnose::disordered, link);
  const diagnose::evidence across{{}, "a token", {"pod.sip0.cube_1_0.pe0", "pod.sip0.cube_0_0.pe3"}};
  for (const char* kind : {"reorder", "drop", "duplicate"}) {
    CHECK(resolved({made(kind, "pod.sip0.cube_1_0.pe0", across), seen}) == places{{kind, link}});
  }
  CHECK(resolved({made("drop", "pod.sip0.cube_1_0.pe0", across),
                  made("reorder", "pod.sip0.cube_1_0.pe0", across), seen}) == places{{"reorder", link}});
  // It has lost packets there and somebody else got one twice: two faults.
  CHECK(resolved({made("drop", link), made("duplicate", "pod.sip1.cube_1_0.pe2", {{}, "twice"}), seen}) ==
        places{{"duplicate", "pod.sip1.cube_1_0.pe2"}, {"drop", link}});
  CHECK(resolved({seen}) == places{{"reorder", link}});
}

TEST_CASE("findings: what many experiments count leaves room for what says something else") {
  const char* const pe = "pod.sip0.cube_1_0.pe2";
  finding missing =
      made("missing_packets", pe, {"as given", "1499 of 1500 packets came at pod.sip0.cube_1_0.pe2"});
  for (const char* experiment : {"once more", "with checksums", "four launches"}) {
    missing.evidence.push_back({experiment, "99 of 100 packets came at pod.sip0.cube_1_0.pe2"});
  }
  const diagnose::evidence skipped{"as given", "1 credits lost (gap in credit sequence numbers)"};
  const auto count = [](const std::vector<diagnose::evidence>& all, const diagnose::evidence& of) {
    return std::count_if(all.begin(), all.end(),
                         [&](const diagnose::evidence& e) { return e.full_text() == of.full_text(); });
  };
  // Whichever comes first.
  for (const auto& found : {std::vector{missing, made("lost_credit", pe, skipped)},
                            std::vector{made("lost_credit", pe, skipped), missing}}) {
    std::vector<finding> left = found;
    diagnose::resolve(left);
    REQUIRE(left.size() == 1);
    const auto& evidence = left[0].evidence;
    CHECK(evidence.size() == 4);
    CHECK(count(evidence, skipped) == 1);
    CHECK(count(evidence, missing.evidence.front()) == 1);
  }
  std::vector<finding> merged{missing};
  diagnose::merge(merged, {made("missing_packets", pe, {"as given", "something else"})});
  REQUIRE(merged.size() == 1);
  CHECK(merged[0].evidence.size() == 4);
  CHECK(merged[0].evidence.back().text == "something else");
}

TEST_CASE("findings: as hidden as in the run that showed it first, whatever else joins it") {
  const auto hidden = [](finding f) {
    f.hidden = true;
    return f;
  };
  const auto resolves = [](std::vector<finding> found) {
    diagnose::resolve(found);
    REQUIRE(found.size() == 1);
    return found[0].hidden;
  };
  const char* const pe = "pod.sip0.cube_1_0.pe2";
  const finding missing = made("missing_packets", pe), lost = made("drop", pe);
  CHECK(resolves({hidden(missing), lost}));
  CHECK_FALSE(resolves({missing, hidden(lost)}));
  std::vector<finding> merged{hidden(lost)};
  diagnose::merge(merged, {lost});
  CHECK(resolves(merged));
  const finding link = made("bit_flip", "pod.sip0.e-sip1.w");
  const finding behind =
      made("bit_flip", "pod.sip1.cube_0_0.pe0", {{}, "a checksum", {}, {"pod.sip0.e-sip1.w"}});
  CHECK(resolves({hidden(link), behind}));
  CHECK(resolves({hidden(behind), link}));
  CHECK_FALSE(resolves({link, hidden(behind)}));
  CHECK_FALSE(resolves({behind, hidden(link)}));
}

TEST_CASE("findings: what a message that came twice does elsewhere is no finding of its own") {
  const auto seen = [](const char* kind, const char* place) {
    return diagnose::signs_of(faulted({{"kind", kind}, {"place", place}})).front();
  };
  const finding answered = seen("unknown_send", "pod.sip1.cube_0_0.pe2");
  const finding left = seen("messages_left", "pod.sip0.cube_1_0.pe2");
  finding twice = made("duplicate", "pod.sip0.cube_1_0.pe2", {{}, "172 of 169 packets came"});
  twice.counted = true;
  CHECK(resolved({left, answered, twice}) == places{{"duplicate", "pod.sip0.cube_1_0.pe2"}});
  CHECK(resolved({answered}) == places{{"duplicate", "pod.sip1.cube_0_0.pe2"}});
  CHECK(resolved({left}) == places{{"unexplained_fault", "pod.sip0.cube_1_0.pe2"}});
}

TEST_CASE("findings: ranks beside two") {
  CHECK(diagnose::beside({6, 7}, 16) == diagnose::rank_list{5, 8});
  CHECK(diagnose::beside({0, 1}, 16) == diagnose::rank_list{2});
  CHECK(diagnose::beside({0, 8}, 9) == diagnose::rank_list{1, 7});
  CHECK(diagnose::beside({3, 5}, 9) == diagnose::rank_list{2, 4, 6});
  CHECK(diagnose::beside({0, 1}, 2).empty());
  CHECK(diagnose::beside({0, 1}, 0).empty());
}

TEST_CASE("findings: a message is lost where packets are, else another queue pair counted it") {
  observation o = faulted(json::object());
  o.exit_code = 3;
  const json wait{{"waiter", "pod.sip0.cube_0_0.pe0"},
                  {"direction", "W"},
                  {"for", "receive"},
                  {"cause", "lost_message"},
                  {"on", "pod.sip0.cube_1_0.pe0"}};
  o.deadlock["roots"] = json::array({{{"kind", "fault"}, {"waits", json::array({wait})}}});
  const auto says = [&o](const std::string& kind) {
    const auto signs = diagnose::signs_of(o);
    return std::any_of(signs.begin(), signs.end(), [&](const finding& f) { return f.kind == kind; });
  };
  CHECK(says("drop"));  // a machine that measured nothing is judged, too
  o.health = {{"core_clock", "pod.sip0.cube_0_0.pe0", 1, 1}};
  CHECK(says("miscounted_message"));
  CHECK_FALSE(says("drop"));
  o.health.push_back({"packets", "pod.sip0.cube_0_0.ucie_east", 4, 3});  // one came twice, none is missing
  CHECK(says("miscounted_message"));
  o.health.push_back({"packets", "pod.sip0.cube_1_0.ucie_west", 3, 4});
  CHECK(says("drop"));
  CHECK_FALSE(says("miscounted_message"));
}

TEST_CASE("findings: a link is judged by what it carried") {
  using diagnose::link_state;
  struct row {
    double measured, configured;
    diagnose::link_load load;  // flits, packets
    link_state state;
  };
  // As recorded on the small pod. Healthy: two flits of data and a token in turn, in small gathers,
  // all-to-alls and all-reduces; then the same links at a half, a quarter and an eighth of their rate.
  for (const row& r :
       {row{64, 118, {12, 8}, link_state::in_doubt}, row{64, 118, {28, 16}, link_state::in_doubt},
        row{64, 118, {148, 100}, link_state::in_doubt}, row{64, 118, {292, 196}, link_state::in_doubt},
        row{75.6, 118, {59, 33}, link_state::in_doubt}, row{128, 118, {32, 16}, link_state::keeps_its_rate},
        row{64, 64, {16, 8}, link_state::keeps_its_rate},
        row{126.4, 118, {2104, 184}, link_state::keeps_its_rate},
        row{59, 118, {2104, 184}, link_state::degraded}, row{29.5, 118, {2104, 184}, link_state::degraded},
        row{14.75, 118, {2104, 184}, link_state::degraded}, row{14.75, 118, {12, 8}, link_state::degraded},
        // Of what carried nothing but single flits, or is in no list, there is nothing to tell.
        row{59, 118, {8, 8}, link_state::in_doubt}, row{59, 118, {}, link_state::in_doubt}}) {
    CAPTURE(r.measured);
    CAPTURE(r.load.flits);
    CHECK(diagnose::judge(r.measured, r.configured, r.load) == r.state);
  }
}

TEST_CASE("findings: what links carried is read with flits of any size") {
  for (const std::uint64_t flit : {32, 64, 128}) {
    const std::string links = "run,link,bytes,packets,busy_fraction\n0,pod.sip0.cube_0_0.pe0.inject," +
                              std::to_string(3 * flit) + ",3,0.1\n0,pod.sip0.cube_0_0.ucie_east," +
                              std::to_string(12 * flit) + ",8,0.1\n0,pod.sip0.e-sip1.w," +
                              std::to_string(32 * flit) + ",16,0.1\n0,pod.sip1.w-sip0.e,0,0,0\n";
    const diagnose::link_loads loads = diagnose::loads_of(links);
    REQUIRE(loads.size() == 2);
    CHECK(loads.at("pod.sip0.cube_0_0.ucie_east").flits == 12);
    CHECK(loads.at("pod.sip0.cube_0_0.ucie_east").packets == 8);
    CHECK(loads.at("pod.sip0.e-sip1.w").flits == 32);
  }
  CHECK(diagnose::loads_of("").empty());
}

TEST_CASE("findings: a link in doubt is no finding, a degraded one is") {
  observation o;
  o.exit_code = 0;
  o.health = {{"link_rate", "pod.sip1.cube_1_0.ucie_west", 64, 118}};
  o.loads = {{"pod.sip1.cube_1_0.ucie_west", {12, 8}}};
  CHECK(diagnose::signs_of(o).empty());
  CHECK(diagnose::has_link_in_doubt(o));
  o.loads = {{"pod.sip1.cube_1_0.ucie_west", {2104, 184}}};
  CHECK(diagnose::names(diagnose::signs_of(o), "link_degraded"));
  CHECK_FALSE(diagnose::has_link_in_doubt(o));
}
