// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>
#include <set>

#include <rapidcheck.h>

#include "models/golden/collective_check.hpp"
#include "models/numeric/convert.hpp"
#include "models/random/test_data.hpp"
#include "support/test.hpp"
#include "unit/models/golden/reduction_orders.hpp"

using namespace diecast;
using namespace diecast::numeric;
using namespace diecast::test;
using random::data_pattern;
using random::test_data;

namespace {

constexpr std::array drawn_types{dtype::f16, dtype::bf16, dtype::f32, dtype::i32};
constexpr std::array drawn_ops{reduction::sum, reduction::max, reduction::min, reduction::prod,
                               reduction::avg};

bytes expected_of(const test_data& data, dtype t, std::size_t count) {
  bytes out(count * size_of(t));
  data.expected(out);
  return out;
}

/// Elements wrong after a random tree and after rank order.
std::uint64_t wrong_elements(const test_data& data, dtype t, reduction op, std::uint32_t ranks,
                             std::size_t count, std::uint64_t seed) {
  const std::vector<bytes> all = contributions(data, t, ranks, count);
  const bytes expected = expected_of(data, t, count);
  return golden::count_wrong(t, reduce_randomly(op, t, all, seed), expected) +
         golden::count_wrong(t, reduce_in_order(op, t, all), expected);
}

}  // namespace

TEST_CASE("test data: any order of reduction gives the expected bits, for every type and reduction") {
  for (const dtype t : drawn_types) {
    for (const reduction op : drawn_ops) {
      for (const std::uint32_t ranks : {1u, 2u, 3u, 5u, 8u, 13u, 22u, 63u, 64u, 200u, 256u}) {
        for (const data_pattern p : {data_pattern::random, data_pattern::one_hot}) {
          INFO(to_string(t) << ' ' << to_string(op) << ' ' << ranks << ' ' << to_string(p));
          const test_data data(11, t, op, ranks, 50, p);
          CHECK(data.exact());
          CHECK(wrong_elements(data, t, op, ranks, 50, ranks) == 0);
        }
      }
    }
  }
}

TEST_CASE("test data: random trees over random rank counts up to the exact range") {
  CHECK(test_data::exact_ranks(dtype::bf16) == 256);
  CHECK(test_data::exact_ranks(dtype::f16) == 2048);
  CHECK(rc::check("every tree gives the expected bits", [](std::uint64_t seed) {
    const dtype t = *rc::gen::elementOf(std::vector(drawn_types.begin(), drawn_types.end()));
    const reduction op = *rc::gen::elementOf(std::vector(drawn_ops.begin(), drawn_ops.end()));
    const auto limit = static_cast<std::uint32_t>(std::min<std::uint64_t>(2048, test_data::exact_ranks(t)));
    const std::uint32_t ranks = *rc::gen::oneOf(rc::gen::inRange(1u, limit + 1), rc::gen::just(limit));
    const test_data data(seed, t, op, ranks, 9);
    RC_ASSERT(data.exact());
    RC_ASSERT(wrong_elements(data, t, op, ranks, 9, seed) == 0u);
  }));
}

TEST_CASE("test data: a forgotten or a doubled contributor shows") {
  for (const dtype t : drawn_types) {
    for (const reduction op : {reduction::sum, reduction::prod, reduction::avg}) {
      for (const std::uint32_t ranks : {2u, 7u, 256u}) {
        INFO(to_string(t) << ' ' << to_string(op) << ' ' << ranks);
        const std::size_t count = 512;
        const test_data data(5, t, op, ranks, count);
        const bytes expected = expected_of(data, t, count);
        std::vector<bytes> all = contributions(data, t, ranks, count);
        const std::vector<bytes> right = all;
        all.back() = all.front();
        CHECK(golden::count_wrong(t, reduce_in_order(op, t, all), expected) > 0);
        all = right;
        bytes sum = reduce_in_order(op == reduction::avg ? reduction::sum : op, t, all);
        apply(op, t, sum, sum, right[0]);
        if (op == reduction::avg) divide(t, sum, ranks);
        CHECK(golden::count_wrong(t, sum, expected) > count / 8);
      }
    }
  }
}

TEST_CASE("test data: exponents, signs and significands are spread over the type") {
  const std::size_t count = 20'000;
  for (const dtype t : {dtype::f16, dtype::bf16, dtype::f32}) {
    const test_data data(2, t, reduction::sum, 8, count);
    const bytes a = contributions(data, t, 1, count)[0];
    std::vector<double> values(count);
    to_double(t, a, values);
    std::set<int> exponents;
    std::size_t negative = 0, zero = 0;
    for (const double v : values) {
      exponents.insert(std::ilogb(v));
      negative += v < 0;
      zero += v == 0;
    }
    CHECK(zero == 0);
    CHECK(std::abs(static_cast<double>(negative) / count - 0.5) < 0.03);
    CHECK(exponents.size() >= (t == dtype::f16 ? 25 : 200));
  }
}

TEST_CASE("test data: seed, rank and element all matter, the order of calls does not") {
  const auto bytes_of = [](std::uint64_t seed, std::uint32_t rank) {
    const test_data data(seed, dtype::f16, reduction::sum, 4, 3000);
    bytes out(6000);
    data.fill(3, out);
    data.fill(rank, out);
    return out;
  };
  CHECK(bytes_of(1, 0) == bytes_of(1, 0));
  CHECK(bytes_of(1, 0) != bytes_of(2, 0));
  CHECK(bytes_of(1, 0) != bytes_of(1, 1));
  const bytes whole = bytes_of(1, 0);
  CHECK_FALSE(std::equal(whole.begin(), whole.begin() + 2048, whole.begin() + 2048));
}

TEST_CASE("test data: one hot names the contributor of every element") {
  for (const dtype t : drawn_types) {
    for (const reduction op : {reduction::sum, reduction::max, reduction::min, reduction::prod}) {
      const std::uint32_t ranks = 200;
      const test_data data(1, t, op, ranks, 500, data_pattern::one_hot);
      const bytes sum = reduce_in_order(op, t, contributions(data, t, ranks, 500));
      for (std::size_t e = 0; e < 500; ++e) CHECK(element(t, sum, e) == static_cast<double>(e % ranks + 1));
    }
  }
  for (const dtype t : drawn_types) {
    std::set<double> values;
    const std::uint32_t ranks = 31'743;
    for (std::uint32_t r = 0; r < ranks; ++r) values.insert(random::one_hot_value(t, ranks, r));
    CHECK(values.size() == ranks);
    CHECK(std::isfinite(*values.rbegin()));
    CHECK(*values.begin() > 0);
  }
}

TEST_CASE("test data: rank + 1 on 16 ranks sums to 136") {
  for (const dtype t : drawn_types) {
    const test_data data(1, t, reduction::sum, 16, 100, data_pattern::rank_plus_one);
    const bytes sum = reduce_in_order(reduction::sum, t, contributions(data, t, 16, 100));
    for (std::size_t e = 0; e < 100; ++e) CHECK(element(t, sum, e) == 136.0);
    CHECK(sum == expected_of(data, t, 100));
  }
}

TEST_CASE("test data: rank + 1 is exact as far as the significand reaches") {
  const auto exact = [](dtype t, reduction op, std::uint32_t ranks) {
    return test_data(1, t, op, ranks, 1, data_pattern::rank_plus_one).exact();
  };
  CHECK(exact(dtype::f16, reduction::sum, 63));
  CHECK_FALSE(exact(dtype::f16, reduction::sum, 64));
  CHECK(exact(dtype::bf16, reduction::avg, 22));
  CHECK_FALSE(exact(dtype::bf16, reduction::avg, 23));
  CHECK(exact(dtype::f16, reduction::prod, 6));
  CHECK_FALSE(exact(dtype::f16, reduction::prod, 7));
  CHECK(exact(dtype::bf16, reduction::max, 1000));
  CHECK(exact(dtype::i32, reduction::prod, 1000));
  for (const dtype t : drawn_types) {
    for (const reduction op : drawn_ops) {
      for (const std::uint32_t ranks : {1u, 4u, 22u, 64u, 256u}) {
        INFO(to_string(t) << ' ' << to_string(op) << ' ' << ranks);
        const test_data data(1, t, op, ranks, 3, data_pattern::rank_plus_one);
        if (data.exact()) CHECK(wrong_elements(data, t, op, ranks, 3, 1) == 0);
      }
    }
  }
}

TEST_CASE("test data: beyond the exact range the error bound holds and the method says so") {
  struct row {
    dtype t;
    std::uint32_t ranks;
    data_pattern pattern;
  };
  for (const row& r :
       {row{dtype::bf16, 257, data_pattern::random}, row{dtype::bf16, 1000, data_pattern::random},
        row{dtype::f16, 2049, data_pattern::random}, row{dtype::f16, 8192, data_pattern::random},
        row{dtype::bf16, 256, data_pattern::rank_plus_one},
        row{dtype::f16, 256, data_pattern::rank_plus_one}}) {
    for (const reduction op : {reduction::sum, reduction::avg}) {
      INFO(to_string(r.t) << ' ' << to_string(op) << ' ' << r.ranks);
      const std::size_t count = 20;
      const test_data data(3, r.t, op, r.ranks, count, r.pattern);
      CHECK_FALSE(data.exact());
      CHECK_THAT(data.method(), Catch::StartsWith("error bound"));
      std::vector<double> bounds(count);
      data.error_bounds(bounds);
      const bytes expected = expected_of(data, r.t, count);
      const std::vector<bytes> all = contributions(data, r.t, r.ranks, count);
      CHECK(golden::count_beyond(r.t, reduce_in_order(op, r.t, all), expected, bounds) == 0);
      CHECK(golden::count_beyond(r.t, reduce_randomly(op, r.t, all, 4), expected, bounds) == 0);
    }
  }
}

TEST_CASE(
    "test data: the bound of pairwise sums holds for them, and is one where that of any order is none") {
  constexpr std::size_t count = 200;
  const bytes nothing(count * 2);
  for (const auto pattern : {data_pattern::random, data_pattern::rank_plus_one}) {
    for (const std::uint32_t ranks : {257U, 300U, 512U}) {
      const auto data = [&](numeric::summation order) {
        return test_data(3, dtype::bf16, reduction::sum, ranks, count, pattern, order);
      };
      const test_data pairwise = data(numeric::summation::pairwise),
                      any = data(numeric::summation::sequential);
      std::vector<double> close(count), wide(count);
      pairwise.error_bounds(close);
      any.error_bounds(wide);
      const bytes expected = expected_of(pairwise, dtype::bf16, count);
      CHECK(expected == expected_of(any, dtype::bf16, count));
      const bytes sum =
          reduce_in_pairs(reduction::sum, dtype::bf16, contributions(pairwise, dtype::bf16, ranks, count));
      CHECK(golden::count_beyond(dtype::bf16, sum, expected, close) == 0);
      // 9 roundings of 1/256 at most, or 256 and more.
      CHECK(golden::count_beyond(dtype::bf16, nothing, expected, close) > count / 4);
      CHECK(golden::count_beyond(dtype::bf16, nothing, expected, wide) == 0);
    }
  }
  CHECK(test_data(3, dtype::bf16, reduction::sum, 257, 4, data_pattern::random, numeric::summation::pairwise)
            .method() ==
        "error bound (ceil(log2 n)*u*sum|x|: 257 ranks exceed the 256 for which bf16 data is exact)");
}

TEST_CASE("test data: all roundings of a product meet, however it is nested") {
  std::vector<double> pairwise(1), any(1);
  test_data(1, dtype::bf16, reduction::prod, 9, 1, data_pattern::rank_plus_one, numeric::summation::pairwise)
      .error_bounds(pairwise);
  test_data(1, dtype::bf16, reduction::prod, 9, 1, data_pattern::rank_plus_one).error_bounds(any);
  CHECK(any[0] > 0);
  CHECK(pairwise == any);
}

TEST_CASE("test data: exact data has bounds of zero and says why it is exact") {
  const test_data data(3, dtype::bf16, reduction::sum, 256, 4);
  std::vector<double> bounds(4, 1.0);
  data.error_bounds(bounds);
  CHECK(bounds == std::vector<double>(4, 0.0));
  CHECK(data.method() == "exact (the magnitudes of 256 ranks sum within the 8-bit significand of bf16)");
  CHECK(test_data(3, dtype::bf16, reduction::sum, 257, 4).method() ==
        "error bound ((n-1)*u*sum|x|: 257 ranks exceed the 256 for which bf16 data is exact)");
}

TEST_CASE("test data: wrong requests are refused") {
  CHECK_THROWS_AS(test_data(1, dtype::f16, reduction::sum, 0, 1), std::invalid_argument);
  CHECK_THROWS_AS(test_data(1, dtype::f16, reduction::sum, (1u << 24) + 1, 1), std::invalid_argument);
  CHECK_THROWS_AS(test_data(1, dtype::i32, reduction::avg, 65'536, 1, data_pattern::rank_plus_one),
                  std::invalid_argument);
  const test_data data(1, dtype::f16, reduction::sum, 2, 4);
  bytes out(8), odd(6);
  CHECK_THROWS_AS(data.fill(2, out), std::invalid_argument);
  CHECK_THROWS_AS(data.fill(0, odd), std::invalid_argument);
  CHECK_THROWS_AS(data.expected(odd), std::invalid_argument);
  bytes none;
  CHECK_NOTHROW(test_data(1, dtype::f16, reduction::sum, 2, 0).expected(none));
}
