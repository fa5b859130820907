// SPDX-License-Identifier: Apache-2.0
#include "platforms/result/step_rows.hpp"

#include "testbench/support/test.hpp"

using namespace diecast::platforms;

namespace {

std::vector<step_row> two_ranks(std::uint32_t launches = 1) {
  std::vector<step_row> rows;
  for (std::uint32_t launch = 0; launch < launches; ++launch) {
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      for (std::uint32_t number = 0; number < 3; ++number) {
        step_row r;
        r.launch = launch;
        r.rank = rank;
        r.number = number;
        r.step = number == 0 ? "" : "round " + std::to_string(number);
        r.start_fs = 1000 * (launch + 1) + 100 * number + rank;
        r.contents = 7 * number + rank;
        rows.push_back(r);
      }
    }
  }
  return rows;
}

}  // namespace

TEST_CASE("rows read back from their text") {
  const auto rows = two_ranks(2);
  const auto again = rows_from(to_text(rows));
  CHECK(to_text(again) == to_text(rows));
  CHECK_FALSE(first_difference(rows, again));
  CHECK_THROWS(rows_from("0\t1\tnonsense\n"));
}

TEST_CASE("the first difference is the one in the earliest step") {
  const auto rows = two_ranks();
  auto other = rows;
  other[2].contents ^= 1;  // rank 0, number 2: starts at 1200
  other[4].contents ^= 1;  // rank 1, number 1: starts at 1101
  const auto d = first_difference(rows, other);
  REQUIRE(d);
  CHECK(d->at.rank == 1);
  CHECK(d->at.number == 1);
  CHECK(d->field == "contents");
}

TEST_CASE("a missing step, another name and another time are differences") {
  const auto rows = two_ranks();
  auto fewer = rows;
  fewer.pop_back();
  REQUIRE(first_difference(rows, fewer));
  CHECK(first_difference(rows, fewer)->field == "step");
  REQUIRE(first_difference(fewer, rows));
  auto renamed = rows;
  renamed[1].step = "round 9";
  CHECK(first_difference(rows, renamed)->found == "round 9");
  auto later = rows;
  later[1].start_fs += 1;
  CHECK(first_difference(rows, later)->field == "start_fs");
}

TEST_CASE("launches of one run are compared without their times and the steps that messages came in") {
  auto rows = two_ranks(3);
  CHECK_FALSE(launch_difference(rows));
  for (std::size_t i = 1; i < rows.size(); ++i) {
    if (rows[i].launch != 2 || rows[i - 1].launch != 2 || rows[i].rank != rows[i - 1].rank) continue;
    rows[i].start_fs += 7;
    rows[i - 1].receives += 1;  // one came a step sooner
    rows[i - 1].contents += rows[i].contents / 2;
    rows[i].contents -= rows[i].contents / 2;
    rows[i].receives -= 1;
  }
  CHECK_FALSE(launch_difference(rows));
  rows.back().contents ^= 1;
  REQUIRE(launch_difference(rows));
  CHECK(launch_difference(rows)->at.launch == 2);
}
