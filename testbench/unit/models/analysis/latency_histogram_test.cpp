// SPDX-License-Identifier: Apache-2.0
#include "models/analysis/latency_histogram.hpp"

#include <algorithm>
#include <vector>

#include <rapidcheck.h>

#include "support/test.hpp"

using namespace diecast;
using analysis::latency_histogram;

TEST_CASE("latency histogram: quantiles to one part in a thousand, mean and maximum exact") {
  CHECK(rc::check("against the sorted list", [] {
    const auto bits = *rc::gen::inRange(1, 50);
    auto list = *rc::gen::container<std::vector<std::uint64_t>>(
        rc::gen::inRange<std::uint64_t>(0, std::uint64_t{1} << bits));
    if (list.empty()) list.push_back(17);
    latency_histogram h;
    double sum = 0;
    for (const auto v : list) {
      h.add(femtoseconds(v));
      sum += static_cast<double>(v);
    }
    std::sort(list.begin(), list.end());
    RC_ASSERT(h.count() == list.size());
    RC_ASSERT(h.max().fs == list.back());
    const double mean = sum / static_cast<double>(list.size()) * 1e-6;
    RC_ASSERT(std::abs(h.mean_ns() - mean) <= 1e-9 * mean);
    for (const double q : {0.0, 0.5, 0.99, 1.0}) {
      // The answer stands for a duration within its bucket: with the bucket's width added, at least the share
      // is no longer than it; with it taken away, less than the share is shorter.
      const double answer = h.quantile_ns(q) * 1e6;
      const double share = q * static_cast<double>(list.size());
      const auto up_to = [&list](double limit) {
        return static_cast<double>(std::count_if(
            list.begin(), list.end(), [limit](std::uint64_t v) { return static_cast<double>(v) <= limit; }));
      };
      const auto below = [&list](double limit) {
        return static_cast<double>(std::count_if(
            list.begin(), list.end(), [limit](std::uint64_t v) { return static_cast<double>(v) < limit; }));
      };
      RC_ASSERT(up_to(answer * 1.001 + 1e-3) >= share);
      const double shorter = below(answer * 0.999 - 1e-3);
      RC_ASSERT(shorter < share || shorter == 0);
    }
  }));
}

TEST_CASE("latency histogram: a quantile is of the nearest rank") {
  latency_histogram h;
  h.add(nanoseconds(1));
  h.add(nanoseconds(100));
  CHECK(h.quantile_ns(0.5) == Approx(1).epsilon(1e-3));
  CHECK(h.quantile_ns(0.51) == Approx(100).epsilon(1e-3));
  latency_histogram equal;
  for (int i = 0; i < 3; ++i) equal.add(nanoseconds(123'457));
  CHECK(equal.quantile_ns(0.5) == 123'457);
  latency_histogram both;
  both.add(equal);
  CHECK(both.quantile_ns(0.99) == 123'457);
  latency_histogram hundred;
  for (std::uint64_t i = 1; i <= 100; ++i) hundred.add(femtoseconds(i));
  CHECK(hundred.quantile_ns(0.99) == Approx(99e-6));
  CHECK(hundred.quantile_ns(1.0) == Approx(100e-6));
  CHECK(hundred.quantile_ns(0.0) == Approx(1e-6));
}

TEST_CASE("latency histogram: adding two is adding all") {
  latency_histogram a, b, both;
  for (std::uint64_t i = 1; i < 1000; ++i) {
    (i % 3 == 0 ? a : b).add(femtoseconds(i * i * 1000));
    both.add(femtoseconds(i * i * 1000));
  }
  a.add(b);
  CHECK(a.count() == both.count());
  CHECK(a.mean_ns() == both.mean_ns());
  CHECK(a.quantile_ns(0.5) == both.quantile_ns(0.5));
  CHECK(a.max() == both.max());
}

TEST_CASE("latency histogram: an empty one has no times") {
  const latency_histogram h;
  CHECK(h.count() == 0);
  CHECK(h.mean_ns() == 0);
  CHECK(h.quantile_ns(0.99) == 0);
}
