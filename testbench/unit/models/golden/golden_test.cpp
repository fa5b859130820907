// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>
#include <cstring>

#include <rapidcheck.h>

#include "models/golden/collective_check.hpp"
#include "models/numeric/convert.hpp"
#include "models/random/test_data.hpp"
#include "reduction_orders.hpp"
#include "support/test.hpp"

using namespace diecast;
using namespace diecast::numeric;
using namespace diecast::test;
using random::data_pattern;
using random::test_data;

namespace {

constexpr std::array types{dtype::f16, dtype::bf16, dtype::f32, dtype::i32};
constexpr std::array ops{reduction::sum, reduction::max, reduction::min, reduction::prod, reduction::avg};

bytes golden_of(dtype t, reduction op, const std::vector<bytes>& all) {
  golden::all_reduce right(t, op, all[0].size() / size_of(t));
  for (const bytes& b : all) right.add(b);
  bytes out(all[0].size());
  right.result(out);
  return out;
}

bytes elements(dtype t, const std::vector<double>& values) {
  bytes out(values.size() * size_of(t));
  from_double(t, values, out);
  return out;
}

}  // namespace

TEST_CASE("golden: agrees with the closed form of the test data, for every type, reduction and pattern") {
  for (const dtype t : types) {
    for (const reduction op : ops) {
      for (const std::uint32_t ranks : {1u, 2u, 3u, 22u, 63u, 256u}) {
        for (const data_pattern p :
             {data_pattern::random, data_pattern::one_hot, data_pattern::rank_plus_one}) {
          INFO(to_string(t) << ' ' << to_string(op) << ' ' << ranks << ' ' << random::to_string(p));
          const std::size_t count = 70;
          const test_data data(9, t, op, ranks, count, p);
          if (!data.exact()) continue;
          bytes expected(count * size_of(t));
          data.expected(expected);
          CHECK(golden::count_wrong(t, golden_of(t, op, contributions(data, t, ranks, count)), expected) ==
                0);
        }
      }
    }
  }
}

TEST_CASE("golden: special values follow the vector unit's rules in any order") {
  CHECK(rc::check("special values", [] {
    const dtype t = *rc::gen::elementOf(std::vector{dtype::f16, dtype::bf16, dtype::f32});
    const reduction op = *rc::gen::elementOf(std::vector{reduction::max, reduction::min, reduction::sum});
    const double inf = INFINITY;
    const auto special = rc::gen::elementOf(std::vector{0.0, -0.0, 1.0, -1.0, inf, -inf, std::nan("")});
    const auto ranks = *rc::gen::inRange<std::size_t>(1, 6);
    std::vector<bytes> all;
    for (std::size_t r = 0; r < ranks; ++r) all.push_back(elements(t, {*special, *special}));
    RC_ASSERT(golden_of(t, op, all) == reduce_in_order(op, t, all));
  }));
}

TEST_CASE("golden: an average is rounded once") {
  // 11 / 3 between 3.65625 and 3.671875; -5 / 2 is a tie.
  const std::vector<bytes> all{elements(dtype::bf16, {3.0}), elements(dtype::bf16, {4.0}),
                               elements(dtype::bf16, {4.0})};
  CHECK(element(dtype::bf16, golden_of(dtype::bf16, reduction::avg, all), 0) == 3.671875);
  const std::vector<bytes> ints{elements(dtype::i32, {-5.0}), elements(dtype::i32, {0.0})};
  CHECK(element(dtype::i32, golden_of(dtype::i32, reduction::avg, ints), 0) == -2.0);
}

TEST_CASE("golden: i32 wraps") {
  const std::vector<bytes> all(3, elements(dtype::i32, {2147483647.0}));
  CHECK(element(dtype::i32, golden_of(dtype::i32, reduction::sum, all), 0) == 2147483645.0);
  CHECK(element(dtype::i32, golden_of(dtype::i32, reduction::prod, all), 0) == 2147483647.0);
}

TEST_CASE("golden: differences are counted bit by bit and named") {
  bytes a = elements(dtype::f16, {1.0, 0.0, 3.0, std::nan("")});
  bytes b = a;
  CHECK(golden::count_wrong(dtype::f16, a, b) == 0);
  b = elements(dtype::f16, {1.0, -0.0, 4.0, std::nan("")});
  CHECK(golden::count_wrong(dtype::f16, a, b) == 2);
  const auto wrong = golden::first_wrong(dtype::f16, a, b, 10);
  REQUIRE(wrong.size() == 2);
  CHECK(golden::to_string(wrong[1]) == "element 2: got 3, expected 4");
  CHECK(golden::first_wrong(dtype::f16, a, b, 1).size() == 1);
  b[6] ^= std::byte{1};
  CHECK(golden::count_wrong(dtype::f16, a, b) == 3);
  bytes shorter(6);
  CHECK_THROWS_AS(golden::count_wrong(dtype::f16, a, shorter), std::invalid_argument);
  CHECK_THROWS_AS(golden::count_wrong(dtype::f32, shorter, shorter), std::invalid_argument);
}

TEST_CASE("golden: bounds admit what lies within and nothing else") {
  const bytes got = elements(dtype::f32, {1.0, 1.5, std::nan(""), INFINITY, INFINITY, std::nan("")});
  const bytes want = elements(dtype::f32, {1.25, 1.25, std::nan(""), INFINITY, -INFINITY, 1.0});
  const auto beyond = [&](double bound) {
    return golden::count_beyond(dtype::f32, got, want, std::vector<double>(6, bound));
  };
  CHECK(beyond(0.25) == 2);
  CHECK(beyond(0.2) == 4);
  const auto first = golden::first_beyond(dtype::f32, got, want, std::vector<double>(6, 0.25));
  REQUIRE(first);
  CHECK((first->index == 4 && first->got == INFINITY && first->expected == -INFINITY));
  CHECK_FALSE(golden::first_beyond(dtype::f32, got, got, std::vector<double>(6, 0.0)));
  CHECK_THROWS_AS(golden::count_beyond(dtype::f32, got, want, std::vector<double>(5)), std::invalid_argument);
}

TEST_CASE("golden: a result needs contributions of the right size") {
  golden::all_reduce right(dtype::f16, reduction::sum, 4);
  bytes out(8), odd(6);
  CHECK_THROWS_AS(right.result(out), std::logic_error);
  CHECK_THROWS_AS(right.add(odd), std::invalid_argument);
  right.add(out);
  CHECK_THROWS_AS(right.result(odd), std::invalid_argument);
  CHECK(right.contributions() == 1);
}

TEST_CASE("golden: 256 ranks of 64 KiB are verified") {
  const std::size_t count = 32'768;
  const test_data data(1, dtype::f16, reduction::sum, 256, count);
  golden::all_reduce right(dtype::f16, reduction::sum, count);
  bytes buffer(2 * count), expected(2 * count);
  for (std::uint32_t r = 0; r < 256; ++r) {
    data.fill(r, buffer);
    right.add(buffer);
  }
  right.result(buffer);
  data.expected(expected);
  CHECK(golden::count_wrong(dtype::f16, buffer, expected) == 0);
}
