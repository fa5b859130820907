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
      const auto at =
          std::min(static_cast<std::size_t>(q * static_cast<double>(list.size())), list.size() - 1);
      const double exact = static_cast<double>(list[at]) * 1e-6;
      RC_ASSERT(std::abs(h.quantile_ns(q) - exact) <= exact / 1000);
    }
  }));
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
