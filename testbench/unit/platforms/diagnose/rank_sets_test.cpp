// SPDX-License-Identifier: Apache-2.0
// Which ranks the diagnosis tries in place of all.
#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "platforms/diagnose/jobs.hpp"
#include "testbench/support/test.hpp"

using namespace diecast::diagnose;

namespace {

/// What the monitors of so many SIPs of two PEs say.
observation cores_of(std::uint32_t sips) {
  observation o;
  for (std::uint32_t s = 0; s < sips; ++s) {
    o.health.push_back({"link_rate", fmt::format("pod.sip{}.e-sip{}.w", s, (s + 1) % sips), 1, 1});
    for (unsigned pe : {0U, 1U}) {
      o.health.push_back({"core_clock", fmt::format("pod.sip{}.cube_0_0.pe{}", s, pe), 1, 1});
    }
  }
  o.result = {{"runs", {{{"ranks", 2 * sips}}}}};
  return o;
}

finding at(const char* where) {
  finding f;
  f.where = where;
  return f;
}

}  // namespace

TEST_CASE("ranks: halves, and the pairs of three") {
  CHECK(parts_of(first_ranks(2)).empty());
  CHECK(parts_of({4, 6, 9}) == std::vector<rank_list>{{4, 6}, {6, 9}, {4, 9}});
  CHECK(parts_of(first_ranks(5)) == std::vector<rank_list>{{0, 1}, {2, 3, 4}});
  CHECK(to_text(rank_list{3, 4, 5}) == "3 to 5");
  CHECK(to_text(rank_list{3, 5}) == "3, 5");
}

TEST_CASE("ranks: in a row they are named by the first and the last") {
  CHECK(to_text(rank_list{7}) == "7");
  CHECK(to_text(rank_list{7, 8}) == "7, 8");
  CHECK(to_text(first_ranks(16)) == "0 to 15");
  CHECK(to_text(rank_list{0, 1, 2, 3, 8, 10, 11, 12, 13}) == "0 to 3, 8, 10 to 13");
}

TEST_CASE("ranks: their SIPs are those of the monitors, or none") {
  CHECK(sips_of(cores_of(3), 6) == std::vector<std::uint32_t>{0, 0, 1, 1, 2, 2});
  // A core that never ran has no monitor: no rank's place is known then.
  CHECK(sips_of(cores_of(3), 7).empty());
  observation o = cores_of(3);
  o.health.erase(o.health.begin() + 1);
  CHECK(pes_of(o).empty());
  CHECK(sips_of(o, 6).empty());
  o.health = {{"core_clock", "pod.somewhere", 1, 1}};
  o.result = {{"runs", {{{"ranks", 1}}}}};
  CHECK(sips_of(o, 1).empty());
}

TEST_CASE("ranks: every two SIPs have a pair, neighbors first") {
  for (std::uint32_t sips : {1U, 2U, 3U, 6U}) {
    CAPTURE(sips);
    auto pairs = pairs_across(sips_of(cores_of(sips), 2 * sips), {});
    CHECK(pairs.size() == sips * (sips - 1) / 2);
    for (const rank_list& pair : pairs) {
      REQUIRE(pair.size() == 2);
      CHECK(pair[0] / 2 < pair[1] / 2);  // on two SIPs
    }
    std::sort(pairs.begin(), pairs.end());
    CHECK(std::unique(pairs.begin(), pairs.end()) == pairs.end());
  }
  const auto six = pairs_across(sips_of(cores_of(6), 12), {});
  CHECK(std::vector<rank_list>(six.begin(), six.begin() + 6) ==
        std::vector<rank_list>{{0, 2}, {0, 10}, {2, 4}, {4, 6}, {6, 8}, {8, 10}});
  CHECK(pairs_across({}, {}).empty());
}

TEST_CASE("ranks: the SIPs that a finding's place names come first") {
  const auto sips = sips_of(cores_of(12), 24);
  CHECK(pairs_across(sips, {at("pod.sip1.n-sip4.s")}).front() == rank_list{2, 8});
  CHECK(pairs_across(sips, {at("pod.sip11.w-sip1.e")}).front() == rank_list{2, 22});
  // A place within one SIP names no pair.
  CHECK(pairs_across(sips, {at("pod.sip5.sip_port_e"), at("")}) == pairs_across(sips, {}));
}
