// SPDX-License-Identifier: Apache-2.0
#include "platforms/run/progress.hpp"

#include <string>

#include "support/test.hpp"

using namespace diecast;

TEST_CASE("progress: the share of a launch grows until its end, also beyond what was expected") {
  double before = 0;
  for (double ns = 10; ns <= 300; ns += 10) {
    const double share = platforms::share_of_time(ns, 100);
    CHECK(share > before);
    CHECK(share < 1);
    before = share;
  }
  CHECK(platforms::share_of_time(50, 100) == 0.5);
  CHECK(platforms::share_of_time(100, 100) < 0.95);
}

TEST_CASE("progress: the line has the time left, once there is something to compute it from") {
  const auto line = [](double share, double wall_s) {
    return platforms::progress_bar::text("run 2 of 5", {share, "note"}, nanoseconds(3000), wall_s);
  };
  CHECK(line(0.25, 3) ==
        "run 2 of 5 [######..................]  25%  3.000 us simulated  1.000 us/s  about 9 s left  note");
  CHECK(line(0.001, 3).find("left") == std::string::npos);
  CHECK(line(0.25, 0.5).find("left") == std::string::npos);
  CHECK(line(1, 3).find("left") == std::string::npos);
}
