// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <set>
#include <vector>

#include <rapidcheck.h>

#include "models/random/stream.hpp"
#include "support/test.hpp"

using diecast::random::sequence;
using diecast::random::stream;

TEST_CASE("random: a draw depends on seed, path, purpose and counter only") {
  const stream a{7, "pod.sip0", "ber"};
  CHECK(a.at(5) == stream{7, "pod.sip0", "ber"}.at(5));
  std::set<std::uint64_t> seen;
  for (const auto& [seed, path, purpose] :
       {std::tuple{7, "pod.sip0", "ber"}, std::tuple{8, "pod.sip0", "ber"}, std::tuple{7, "pod.sip1", "ber"},
        std::tuple{7, "pod.sip0", "delay"}, std::tuple{7, "pod.sip", "0ber"},
        std::tuple{7, "ber", "pod.sip0"}}) {
    const stream s{static_cast<std::uint64_t>(seed), path, purpose};
    for (std::uint64_t c = 0; c < 100; ++c) seen.insert(s.at(c));
  }
  CHECK(seen.size() == 600);
}

TEST_CASE("random: draws are pinned, so that a seed means the same on every machine") {
  const stream s{1, "pod.sip0.cube_0_0", "test"};
  CHECK(s.at(0) == 0x8e3c758534629d12);
  CHECK(s.at(5) == 0x34cc0ba6adbe68fa);
  CHECK(s.below(0, 1000) == 225);
}

TEST_CASE("random: four draws at once are those asked one by one") {
  const stream s(7, "pe3", "gaps");
  for (const std::uint64_t index :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{12345}, UINT64_MAX / 4}) {
    const auto words = s.four(index);
    for (std::uint64_t k = 0; k < 4; ++k) CHECK(words[k] == s.at(4 * index + k));
  }
}

TEST_CASE("random: filling gives the same draws as asking one by one") {
  CHECK(rc::check("any window", [](std::uint64_t seed) {
    const stream s{seed, "a", "b"};
    const std::uint64_t first = *rc::gen::inRange(0, 50);
    std::vector<std::uint64_t> window(static_cast<std::size_t>(*rc::gen::inRange(0, 40)));
    s.fill(first, window);
    for (std::size_t i = 0; i < window.size(); ++i) RC_ASSERT(window[i] == s.at(first + i));
  }));
}

TEST_CASE("random: bounded draws are within the bound and uniform") {
  const stream s{3, "a", "b"};
  for (const std::uint64_t n : {1u, 2u, 3u, 10u, 1000u}) {
    std::vector<double> hits(n);
    const std::uint64_t draws = 200 * n;
    for (std::uint64_t c = 0; c < draws; ++c) hits.at(s.below(c, n)) += 1;
    double chi_square = 0;
    for (const double h : hits) chi_square += (h - 200) * (h - 200) / 200;
    // Six standard deviations of a chi-square with n - 1 degrees of freedom.
    CHECK(chi_square <= static_cast<double>(n) + 6 * std::sqrt(2.0 * static_cast<double>(n)));
  }
  CHECK_THROWS_AS(s.below(0, 0), std::invalid_argument);
}

TEST_CASE("random: a bound above half the range is not biased") {
  // Taken modulo n without rejection, the lower half of the range would come up twice as often.
  const stream s{3, "a", "b"};
  const std::uint64_t n = UINT64_C(3) << 62;
  double low = 0;
  for (std::uint64_t c = 0; c < 30'000; ++c) low += s.below(c, n) < n / 3 ? 1 : 0;
  CHECK(low / 30'000 == Approx(1.0 / 3).margin(0.02));
}

TEST_CASE("random: unit draws and sequences") {
  const stream s{3, "a", "b"};
  double sum = 0;
  for (std::uint64_t c = 0; c < 10'000; ++c) {
    const double u = s.unit(c);
    REQUIRE(u >= 0.0);
    REQUIRE(u < 1.0);
    sum += u;
  }
  CHECK(sum / 10'000 == Approx(0.5).margin(0.02));
  sequence q{s};
  CHECK(q.next() == s.at(0));
  CHECK(q.next() == s.at(1));
  CHECK(q.below(9) == s.below(2, 9));
}
