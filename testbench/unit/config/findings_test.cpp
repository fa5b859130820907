// SPDX-License-Identifier: Apache-2.0
// What one run says is wrong, and where.
#include "platforms/diagnose/findings.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "platforms/diagnose/link_loads.hpp"
#include "platforms/diagnose/places.hpp"
#include "platforms/diagnose/rank_sets.hpp"
#include "testbench/support/test.hpp"

using namespace diecast;
using diagnose::finding;
using diagnose::observation;
using nlohmann::json;

namespace {

observation faulted(const std::string& complaint) {
  observation o;
  o.name = "as given";
  o.exit_code = 4;
  o.errors = complaint + "\n";
  return o;
}

finding made(const char* kind, const char* where, const char* evidence = "") {
  finding f;
  f.kind = kind;
  f.where = where;
  f.evidence = {evidence};
  return f;
}

/// Classes and places of what is left when all is settled.
std::vector<std::pair<std::string, std::string>> settled(std::vector<finding> found) {
  diagnose::settle(found);
  std::vector<std::pair<std::string, std::string>> left;
  for (const finding& f : found) left.emplace_back(f.kind, f.where);
  return left;
}

using places = std::vector<std::pair<std::string, std::string>>;

}  // namespace

TEST_CASE("findings: PEs named by numbers are spelled as configs do") {
  const diagnose::place_names names(
      "first               last                region         answered by\n"
      "0x0000100000000000  0x000010000016dfff  tcm            pod.sip0.cube_0_0.pe0 on router 0\n"
      "0x0000400000000000  0x0000400000ffffff  sram           pod.sip0.cube_0_0.sram on router 3\n"
      // Cube 1 has no PE; cube 2 begins the second row.
      "0x0002101000000000  0x000210100016dfff  tcm            pod.sip0.cube_0_1.pe1 on router 1\n"
      "0x0103100000000000  0x010310000016dfff  tcm            pod.sip1.cube_1_1.pe0 on router 0\n");
  CHECK(names.spelled("sip0.cube0.pe3") == "pod.sip0.cube_0_0.pe3");
  CHECK(names.spelled("sip0.cube2.pe1") == "pod.sip0.cube_0_1.pe1");
  CHECK(names.spelled("sip1.cube3.pe0") == "pod.sip1.cube_1_1.pe0");
  for (const char* as_it_is : {"sip0.cube1.pe0", "pod.sip0.cube_0_0.pe3", "pod.sip0.e-sip1.w", ""}) {
    CHECK(names.spelled(as_it_is) == as_it_is);
  }
  std::vector<finding> found{made("reorder", "sip0.cube2.pe0"), made("drop", "pod.sip0.e-sip1.w")};
  diagnose::spell(found, names);
  CHECK(found[0].where == "pod.sip0.cube_0_1.pe0");
  CHECK(found[1].where == "pod.sip0.e-sip1.w");
}

TEST_CASE("findings: a direction is no part of a place") {
  observation o;
  o.health = {{"credits_skipped", "pod.sip1.cube_1_0.pe0 W", 2, 0},
              {"credits_skipped", "pod.sip1.cube_1_0.pe0 E", 1, 0}};
  o.exit_code = 0;
  std::vector<finding> found;
  diagnose::merge(found, diagnose::signs_of(o));
  REQUIRE(found.size() == 1);
  CHECK(found[0].where == "pod.sip1.cube_1_0.pe0");
  CHECK(found[0].part == "W, E");
}

TEST_CASE("findings: the PE that is installed wrongly is the one most complaints name") {
  observation o;
  o.exit_code = 2;
  o.errors =
      "sip1.cube1.pe3 E: writes a ring that is not paired with it (value ring of sip0.cube0.pe0 E, which "
      "hears "
      "sip0.cube0.pe1; expected a ring of sip0.cube0.pe0 that hears sip1.cube1.pe3)\n"
      "sip1.cube1.pe3 E: writes to a direction whose credits go elsewhere (I3) (value sip0.cube0.pe0 E "
      "answers "
      "to "
      "0x000010100015e000; expected 0x0101103000166000, the ring of sip1.cube1.pe3 E)\n"
      "sip0.cube0.pe1 W: writes to a direction whose credits go elsewhere (I3) (value sip0.cube0.pe0 W "
      "answers "
      "to "
      "0x0101103000166000; expected 0x000010100015e000, the ring of sip0.cube0.pe1 W)\n";
  const auto found = diagnose::signs_of(o);
  REQUIRE(found.size() == 1);
  CHECK(found[0].kind == "wrong_install");
  CHECK(found[0].where == "sip0.cube0.pe0");
}

TEST_CASE("findings: a first packet that is still under way is late, not lost") {
  observation o = faulted(
      "fault: pod.sip0.cube_1_0.pe2.dma: bytes at offset 1024 of message 4 from pod.sip0.cube_1_0.pe1 to "
      "0x0001102000160000 (sip0 cube1 tcm[2]+0x160000), of which no message is open here: its first packet "
      "has not come, "
      "or all of it has; they came over a, b");
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
  observation o = faulted(
      "fault: ipcq of sip0.cube1.pe0: token for 0x0001100000160000, sequence 1, 2048 bytes, sent by "
      "sip0.cube0.pe3 "
      "E: matched W, but expected sequence 0\n"
      "  E            tx+rx rx_base 0x0001100000166000 peer_rx_base 0x000110100015e000 (4 x 8192 B) my_head "
      "1\n"
      "  W            tx+rx rx_base 0x000110000015e000 peer_rx_base 0x0000103000166000 (4 x 8192 B) my_head "
      "2");
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
  o.deadlock["in_flight"] = json::array({{{"kind", "tag_message"}, {"where", "held on pod.sip0.e-sip1.w"}}});
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
  const char* const over =
      "with checksums: fault: pod.sip1.cube_0_0.pe0.dma: crc32c checksum mismatch; it came over "
      "pod.sip0.cube_1_0.pe3.inject, pod.sip0.e-sip1.w, pod.sip1.cube_0_0.pe0.eject";
  const finding measured =
      made("bit_flip", link, "4 packets arrived with a wrong checksum, 0 were sent with one");
  CHECK(settled({made("bit_flip", "pod.sip1.cube_0_0.pe0", over), measured}) == places{{"bit_flip", link}});
  // Another path, or within a cube: another fault.
  CHECK(settled(
            {made("bit_flip", "pod.sip0.cube_1_0.pe2", "it came over pod.sip0.cube_1_0.pe2.eject"), measured})
            .size() == 2);
  const finding counted = made("drop", link, "3 of 5 packets came");
  const char* const inside = "ipcq of sip0.cube1.pe2: token, sent by sip0.cube1.pe1 E: expected sequence 3";
  const char* const across = "ipcq of sip1.cube0.pe0: token, sent by sip0.cube1.pe3 E: expected sequence 3";
  CHECK(settled({made("drop", "pod.sip0.cube_1_0.pe2", inside), counted}).size() == 2);
  CHECK(settled({made("drop", "pod.sip1.cube_0_0.pe0", across), counted}) == places{{"drop", link}});
  // A PE's own counters are as good as a link's.
  finding own = made("drop", "pod.sip1.cube_0_0.pe0", "3 of 5 packets came at pod.sip1.cube_0_0.pe0");
  own.counted = true;
  CHECK(settled({own, counted}).size() == 2);
}

TEST_CASE("findings: a link that brings packets out of order does what somebody complains of") {
  const char* const link = "pod.sip0.cube_0_0.ucie_east";
  const finding seen = made(diagnose::disordered, link);
  const char* const across = "ipcq of sip0.cube1.pe0: token, sent by sip0.cube0.pe3 E: expected sequence 3";
  for (const char* kind : {"reorder", "drop", "duplicate"}) {
    CHECK(settled({made(kind, "pod.sip0.cube_1_0.pe0", across), seen}) == places{{kind, link}});
  }
  CHECK(settled({made("drop", "pod.sip0.cube_1_0.pe0", across),
                 made("reorder", "pod.sip0.cube_1_0.pe0", across), seen}) == places{{"reorder", link}});
  // It has lost packets there and somebody else got one twice: two faults.
  CHECK(settled({made("drop", link), made("duplicate", "pod.sip1.cube_1_0.pe2", "twice"), seen}) ==
        places{{"duplicate", "pod.sip1.cube_1_0.pe2"}, {"drop", link}});
  CHECK(settled({seen}) == places{{"reorder", link}});
}

TEST_CASE("findings: what many experiments count leaves room for what says something else") {
  const char* const pe = "pod.sip0.cube_1_0.pe2";
  finding missing =
      made("missing_packets", pe, "as given: 1499 of 1500 packets came at pod.sip0.cube_1_0.pe2");
  for (const char* experiment : {"once more", "with checksums", "four launches"}) {
    missing.evidence.push_back(std::string(experiment) + ": 99 of 100 packets came at pod.sip0.cube_1_0.pe2");
  }
  const char* const skipped = "as given: 1 credits lost (gap in credit sequence numbers)";
  // Whichever comes first.
  for (const auto& found : {std::vector{missing, made("lost_credit", pe, skipped)},
                            std::vector{made("lost_credit", pe, skipped), missing}}) {
    std::vector<finding> left = found;
    diagnose::settle(left);
    REQUIRE(left.size() == 1);
    const auto& evidence = left[0].evidence;
    CHECK(evidence.size() == 4);
    CHECK(std::count(evidence.begin(), evidence.end(), skipped) == 1);
    CHECK(std::count(evidence.begin(), evidence.end(), missing.evidence.front()) == 1);
  }
  std::vector<finding> merged{missing};
  diagnose::merge(merged, {made("missing_packets", pe, "as given: something else")});
  REQUIRE(merged.size() == 1);
  CHECK(merged[0].evidence.size() == 4);
  CHECK(merged[0].evidence.back() == "as given: something else");
}

TEST_CASE("findings: as hidden as in the run that showed it first, whatever else joins it") {
  const auto hidden = [](finding f) {
    f.hidden = true;
    return f;
  };
  const auto settles = [](std::vector<finding> found) {
    diagnose::settle(found);
    REQUIRE(found.size() == 1);
    return found[0].hidden;
  };
  const char* const pe = "pod.sip0.cube_1_0.pe2";
  const finding missing = made("missing_packets", pe), lost = made("drop", pe);
  CHECK(settles({hidden(missing), lost}));
  CHECK_FALSE(settles({missing, hidden(lost)}));
  std::vector<finding> merged{hidden(lost)};
  diagnose::merge(merged, {lost});
  CHECK(settles(merged));
  const finding link = made("bit_flip", "pod.sip0.e-sip1.w");
  const finding behind = made("bit_flip", "pod.sip1.cube_0_0.pe0", "it came over pod.sip0.e-sip1.w");
  CHECK(settles({hidden(link), behind}));
  CHECK(settles({hidden(behind), link}));
  CHECK_FALSE(settles({link, hidden(behind)}));
  CHECK_FALSE(settles({behind, hidden(link)}));
}

TEST_CASE("findings: what a message that came twice does elsewhere is no finding of its own") {
  const auto seen = [](const char* complaint) { return diagnose::signs_of(faulted(complaint)).front(); };
  const finding answered = seen("fault: firmware on sip1.cube0.pe2: TM_DONE names send 3, which is not open");
  const finding left = seen(
      "fault: firmware on sip0.cube1.pe2: the program ends with 1 messages that nobody received, the first "
      "from "
      "rank 7, tag 2, 1024 bytes");
  finding twice = made("duplicate", "pod.sip0.cube_1_0.pe2", "172 of 169 packets came");
  twice.counted = true;
  CHECK(settled({left, answered, twice}) == places{{"duplicate", "pod.sip0.cube_1_0.pe2"}});
  CHECK(settled({answered}) == places{{"duplicate", "sip1.cube0.pe2"}});
  CHECK(settled({left}) == places{{"unexplained_fault", "sip0.cube1.pe2"}});
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
  observation o = faulted("deadlock: at 1596.000 ns 2 of 2 PEs have not finished and no event is left");
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
  CHECK(says("drop"));  // of a machine that measured nothing
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
