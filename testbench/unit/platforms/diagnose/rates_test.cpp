// SPDX-License-Identifier: Apache-2.0
// Rates of failures: intervals and Fisher's test against published figures.
#include "platforms/diagnose/report.hpp"
#include "testbench/support/test.hpp"

using namespace diecast;

TEST_CASE("rates: the exact interval of Clopper and Pearson") {
  const auto check = [](const diagnose::rate& r, double low, double high) {
    const diagnose::interval i = diagnose::interval_of(r);
    CHECK(i.low == Approx(low).margin(5e-5));
    CHECK(i.high == Approx(high).margin(5e-5));
  };
  // Of none or all: 1 - 0.025^(1/n), from 0 or to 1.
  check({0, 10}, 0, 0.3085);
  check({10, 10}, 0.6915, 1);
  // Brown, Cai and DasGupta (2001): 4 of 10.
  check({4, 10}, 0.1216, 0.7376);
  check({0, 0}, 0, 1);
  CHECK(diagnose::to_text(diagnose::rate{24, 40}) == "60% (43 to 75) of 40 draws");
}

TEST_CASE("rates: Fisher's exact test") {
  // The lady tasting tea: 3 of 4 against 1 of 4 is 34/70.
  CHECK(diagnose::chance_of_equal({3, 4}, {1, 4}) == Approx(34.0 / 70));
  CHECK(diagnose::chance_of_equal({4, 4}, {0, 4}) == Approx(2.0 / 70));
  CHECK(diagnose::chance_of_equal({20, 20}, {0, 2}) == Approx(1.0 / 231));
  CHECK(diagnose::chance_of_equal({7, 9}, {7, 9}) == Approx(1));
  CHECK(diagnose::chance_of_equal({0, 0}, {0, 0}) == Approx(1));
  CHECK(diagnose::differ({20, 20}, {0, 1}));
  CHECK_FALSE(diagnose::differ({2, 40}, {0, 40}));
}
