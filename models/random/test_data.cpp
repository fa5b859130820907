// SPDX-License-Identifier: Apache-2.0
#include "models/random/test_data.hpp"

#include <fmt/format.h>
#include <stdexcept>

#include "models/numeric/elementwise.hpp"
#include "models/random/data_scheme.hpp"
#include "models/types/enum_name.hpp"

namespace diecast::random {
namespace {

std::unique_ptr<test_data::scheme> make_random(const data_request& request) {
  using numeric::reduction;
  const bool extreme = request.op == reduction::max || request.op == reduction::min;
  if (extreme) return make_extreme_scheme(request);
  if (request.type == numeric::dtype::i32) return make_integer_scheme(request);
  if (request.op == reduction::prod) return make_product_scheme(request);
  return make_sum_scheme(request);
}

std::unique_ptr<test_data::scheme> make_scheme(const data_request& request, data_pattern pattern) {
  if (request.ranks == 0 || request.ranks > numeric::max_divisor) {
    throw std::invalid_argument(
        fmt::format("test data for {} ranks; expected 1 to {}", request.ranks, numeric::max_divisor));
  }
  switch (pattern) {
    case data_pattern::one_hot: return make_one_hot_scheme(request);
    case data_pattern::rank_plus_one: return make_rank_plus_one_scheme(request);
    case data_pattern::random: break;
  }
  return make_random(request);
}

void check_count(const data_request& request, std::uint64_t elements) {
  if (elements == request.count) return;
  throw std::invalid_argument(
      fmt::format("a buffer of {} elements for test data of {}", elements, request.count));
}

}  // namespace

const char* to_string(data_pattern p) { return enum_name(p); }

stream test_data::scheme::rank_stream(std::uint32_t rank) const {
  return {request_.seed, fmt::format("rank{}", rank), "test data: contribution"};
}

std::int64_t rounded_quotient(std::int64_t sum, std::int64_t ranks) {
  const std::int64_t remainder = (sum % ranks + ranks) % ranks;
  const std::int64_t below = (sum - remainder) / ranks;
  const bool up = 2 * remainder > ranks || (2 * remainder == ranks && below % 2 != 0);
  return up ? below + 1 : below;
}

double rounded_average(numeric::dtype type, double sum, std::uint32_t ranks) {
  // f16 and bf16 are rounded from the double quotient by the caller's conversion, which is correct
  // for 24-bit divisors; f32 has too many digits for that and divides as float.
  if (type != numeric::dtype::f32) return sum / ranks;
  return static_cast<float>(sum) / static_cast<float>(ranks);
}

test_data::test_data(std::uint64_t seed, numeric::dtype type, numeric::reduction op, std::uint32_t ranks,
                     std::uint64_t count, data_pattern pattern, numeric::summation order)
    : scheme_(make_scheme({seed, type, op, ranks, count, order}, pattern)) {}
test_data::~test_data() = default;
test_data::test_data(test_data&&) noexcept = default;
test_data& test_data::operator=(test_data&&) noexcept = default;

void test_data::fill(std::uint32_t rank, std::span<std::byte> out) const {
  const data_request& r = scheme_->request();
  if (rank >= r.ranks) throw std::invalid_argument(fmt::format("rank {} of {}", rank, r.ranks));
  check_count(r, out.size() / numeric::size_of(r.type));
  scheme_->fill(rank, out);
}

void test_data::expected(std::span<std::byte> out) const {
  const data_request& r = scheme_->request();
  check_count(r, out.size() / numeric::size_of(r.type));
  scheme_->expected(out);
}

bool test_data::exact() const { return scheme_->exact(); }

void test_data::error_bounds(std::span<double> out) const {
  check_count(scheme_->request(), out.size());
  scheme_->error_bounds(out);
}

std::string test_data::method() const {
  return fmt::format("{} ({})", exact() ? "exact" : "error bound", scheme_->why());
}

std::uint64_t test_data::exact_ranks(numeric::dtype type) {
  return std::uint64_t{1} << numeric::precision_of(type).significand_bits;
}

}  // namespace diecast::random
