// SPDX-License-Identifier: Apache-2.0
#include "models/golden/collective_check.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <limits>
#include <stdexcept>

#include "models/numeric/convert.hpp"

namespace diecast::golden {
namespace {

using bytes = std::span<const std::byte>;

/// Elements in the span; all spans agree.
std::size_t checked_count(numeric::dtype type, bytes got, bytes expected) {
  const std::size_t size = numeric::size_of(type);
  if (got.size() != expected.size() || got.size() % size != 0) {
    throw std::invalid_argument(fmt::format("comparing {} with {} bytes of {}", got.size(), expected.size(),
                                            numeric::to_string(type)));
  }
  return got.size() / size;
}

bool same_bits(std::size_t size, bytes a, bytes b, std::size_t i) {
  return std::memcmp(a.data() + i * size, b.data() + i * size, size) == 0;
}

}  // namespace

std::string to_string(const wrong_element& w) {
  return fmt::format("element {}: got {}, expected {}", w.index, w.got, w.expected);
}

std::uint64_t count_wrong(numeric::dtype type, bytes got, bytes expected) {
  const std::size_t count = checked_count(type, got, expected);
  if (count == 0 || std::memcmp(got.data(), expected.data(), got.size()) == 0) return 0;
  std::uint64_t wrong = 0;
  for (std::size_t i = 0; i < count; ++i)
    wrong += same_bits(numeric::size_of(type), got, expected, i) ? 0 : 1;
  return wrong;
}

namespace {

/// Calls `found(index, got, expected)` for each element beyond its bound, until that returns false.
template <class Found>
void visit_beyond(numeric::dtype type, bytes got, bytes expected, std::span<const double> bounds,
                  Found found) {
  const std::size_t count = checked_count(type, got, expected);
  if (bounds.size() != count)
    throw std::invalid_argument(fmt::format("{} bounds for {} elements", bounds.size(), count));
  std::vector<double> a(count);
  std::vector<double> b(count);
  numeric::to_double(type, got, a);
  numeric::to_double(type, expected, b);
  for (std::size_t i = 0; i < count; ++i) {
    const bool same = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]));
    if (!same && !(std::fabs(a[i] - b[i]) <= bounds[i]) && !found(i, a[i], b[i])) return;
  }
}

}  // namespace

std::uint64_t count_beyond(numeric::dtype type, bytes got, bytes expected, std::span<const double> bounds) {
  std::uint64_t wrong = 0;
  visit_beyond(type, got, expected, bounds, [&](std::size_t, double, double) { return ++wrong != 0; });
  return wrong;
}

std::optional<wrong_element> first_beyond(numeric::dtype type, bytes got, bytes expected,
                                          std::span<const double> bounds) {
  std::optional<wrong_element> first;
  visit_beyond(type, got, expected, bounds, [&](std::size_t i, double a, double b) {
    first = wrong_element{i, a, b};
    return false;
  });
  return first;
}

std::vector<wrong_element> first_wrong(numeric::dtype type, bytes got, bytes expected, std::size_t limit) {
  const std::size_t count = checked_count(type, got, expected);
  std::vector<wrong_element> found;
  for (std::size_t i = 0; i < count && found.size() < limit; ++i) {
    if (same_bits(numeric::size_of(type), got, expected, i)) continue;
    found.push_back({i, numeric::element(type, got, i), numeric::element(type, expected, i)});
  }
  return found;
}

namespace {

using numeric::dtype;
using numeric::reduction;

constexpr std::size_t block = 1024;

/// The larger of two; NaN if one is, and -0 below +0.
double larger(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<double>::quiet_NaN();
  if (a == b) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}

double combine(reduction op, double a, double b) {
  switch (op) {
    case reduction::prod: return a * b;
    case reduction::max: return larger(a, b);
    case reduction::min: return -larger(-a, -b);
    case reduction::sum:
    case reduction::avg: break;
  }
  return a + b;
}

std::int64_t combine(reduction op, std::int64_t a, std::int64_t b) {
  switch (op) {
    case reduction::prod: return static_cast<std::int32_t>(static_cast<std::uint32_t>(a * b));
    case reduction::max: return std::max(a, b);
    case reduction::min: return std::min(a, b);
    case reduction::sum: return static_cast<std::int32_t>(static_cast<std::uint32_t>(a + b));
    case reduction::avg: break;
  }
  return a + b;
}

/// To nearest, ties to even.
std::int64_t divide_rounded(std::int64_t sum, std::int64_t n) {
  const std::int64_t towards_zero = sum / n;
  const std::int64_t twice_rest = 2 * std::abs(sum % n);
  const bool away = twice_rest > n || (twice_rest == n && towards_zero % 2 != 0);
  return away ? towards_zero + (sum < 0 ? -1 : 1) : towards_zero;
}

}  // namespace

all_reduce::all_reduce(dtype type, reduction op, std::uint64_t count) : type_(type), op_(op), count_(count) {
  if (type == dtype::i32) {
    integers_.resize(count);
  } else {
    reals_.resize(count);
  }
}

void all_reduce::check_size(std::size_t bytes) const {
  if (bytes == count_ * numeric::size_of(type_)) return;
  throw std::invalid_argument(
      fmt::format("{} bytes for {} elements of {}", bytes, count_, numeric::to_string(type_)));
}

void all_reduce::add(std::span<const std::byte> contribution) {
  check_size(contribution.size());
  type_ == dtype::i32 ? add_integers(contribution) : add_reals(contribution);
  ++contributions_;
}

void all_reduce::add_integers(std::span<const std::byte> contribution) {
  std::array<std::int32_t, block> values;
  for (std::size_t first = 0; first < count_; first += block) {
    const std::size_t n = std::min<std::size_t>(block, count_ - first);
    std::memcpy(values.data(), contribution.data() + first * sizeof values[0], n * sizeof values[0]);
    for (std::size_t i = 0; i < n; ++i) {
      std::int64_t& to = integers_[first + i];
      to = contributions_ == 0 ? values[i] : combine(op_, to, std::int64_t{values[i]});
    }
  }
}

void all_reduce::add_reals(std::span<const std::byte> contribution) {
  std::array<double, block> values;
  const std::size_t size = numeric::size_of(type_);
  for (std::size_t first = 0; first < count_; first += block) {
    const std::size_t n = std::min<std::size_t>(block, count_ - first);
    numeric::to_double(type_, contribution.subspan(first * size, n * size), std::span{values}.first(n));
    for (std::size_t i = 0; i < n; ++i) {
      double& to = reals_[first + i];
      to = contributions_ == 0 ? values[i] : combine(op_, to, values[i]);
    }
  }
}

void all_reduce::result(std::span<std::byte> out) const {
  check_size(out.size());
  if (contributions_ == 0) throw std::logic_error("the result of an all-reduce without contributions");
  const bool average = op_ == reduction::avg;
  if (type_ == dtype::i32) {
    std::vector<std::int32_t> rounded(integers_.size());
    for (std::size_t i = 0; i < rounded.size(); ++i) {
      const std::int64_t n = average ? contributions_ : 1;
      rounded[i] = static_cast<std::int32_t>(divide_rounded(integers_[i], n));
    }
    if (!rounded.empty()) std::memcpy(out.data(), rounded.data(), out.size());
    return;
  }
  std::vector<double> values = reals_;
  if (average) {
    for (double& v : values) {
      // An f32 sum rounds before it is divided, as the ranks' does; of exact data it does not change.
      v = type_ == dtype::f32 ? static_cast<float>(v) / static_cast<float>(contributions_)
                              : v / contributions_;
    }
  }
  numeric::from_double(type_, values, out);
}

namespace {

using comm::collective;

/// Data that is only moved may be anything: max takes arbitrary values.
numeric::reduction data_of(collective what, numeric::reduction op) {
  return comm::reduces(what) ? op : numeric::reduction::max;
}

}  // namespace

collective_check::collective_check(const comm::collective_shape& shape, numeric::dtype type,
                                   numeric::reduction op, std::uint64_t seed, random::data_pattern pattern,
                                   numeric::summation order)
    : shape_(shape),
      type_(type),
      op_(op),
      data_(seed, type, data_of(shape.what, op), shape.ranks, largest_input(shape), pattern, order) {
  switch (shape_.what) {
    case collective::all_reduce:
    case collective::reduce_scatter:
    case collective::reduce: reduce_all(); break;
    case collective::all_gather:
    case collective::gather: gather_all(); break;
    case collective::broadcast:
    case collective::scatter: whole_ = input(shape_.root); break;
    case collective::all_to_all: transpose_all(); break;
    case collective::send_recv:
    case collective::barrier: break;
  }
}

std::uint64_t collective_check::input_bytes(std::uint32_t rank) const {
  return input_elements(shape_, rank) * numeric::size_of(type_);
}

std::uint64_t collective_check::output_bytes(std::uint32_t rank) const {
  return output_elements(shape_, rank) * numeric::size_of(type_);
}

std::vector<std::byte> collective_check::input(std::uint32_t rank) const {
  std::vector<std::byte> bytes(largest_input(shape_) * numeric::size_of(type_));
  if (input_bytes(rank) > 0) data_.fill(rank, bytes);
  bytes.resize(input_bytes(rank));
  return bytes;
}

void collective_check::reduce_all() {
  all_reduce right(type_, op_, shape_.count);
  for (std::uint32_t r = 0; r < shape_.ranks; ++r) right.add(input(r));
  whole_.resize(shape_.count * numeric::size_of(type_));
  right.result(whole_);
  if (data_.exact()) return;
  bounds_.resize(shape_.count);
  data_.error_bounds(bounds_);
}

void collective_check::gather_all() {
  for (std::uint32_t r = 0; r < shape_.ranks; ++r) {
    const std::vector<std::byte> part = input(r);
    whole_.insert(whole_.end(), part.begin(), part.end());
  }
}

/// Part j of every rank's input, in rank order, is the output of rank j.
void collective_check::transpose_all() {
  blocks_.resize(shape_.ranks);
  const std::size_t element = numeric::size_of(type_);
  for (std::uint32_t from = 0; from < shape_.ranks; ++from) {
    const std::vector<std::byte> all = input(from);
    for (std::uint32_t to = 0; to < shape_.ranks; ++to) {
      const comm::element_range r = comm::part_of(shape_.count, to, shape_.ranks);
      const std::span part = std::span(all).subspan(r.begin * element, r.count * element);
      blocks_[to].insert(blocks_[to].end(), part.begin(), part.end());
    }
  }
}

std::vector<std::byte> collective_check::slice(const comm::element_range& r) const {
  const std::size_t element = numeric::size_of(type_);
  const std::span bytes = std::span(whole_).subspan(r.begin * element, r.count * element);
  return {bytes.begin(), bytes.end()};
}

std::vector<std::byte> collective_check::output(std::uint32_t rank) const {
  switch (shape_.what) {
    case collective::reduce_scatter:
    case collective::scatter: return slice(comm::part_of(shape_.count, rank, shape_.ranks));
    case collective::all_to_all: return blocks_.at(rank);
    case collective::send_recv: return input((rank + shape_.ranks - 1) % shape_.ranks);
    default: return output_bytes(rank) > 0 ? whole_ : std::vector<std::byte>{};
  }
}

std::span<const double> collective_check::bounds_of(std::uint32_t rank) const {
  const bool part = shape_.what == collective::reduce_scatter;
  const comm::element_range r =
      part ? comm::part_of(shape_.count, rank, shape_.ranks) : comm::element_range{0, shape_.count};
  return std::span(bounds_).subspan(r.begin, r.count);
}

std::uint64_t collective_check::count_wrong(std::uint32_t rank, std::span<const std::byte> got) const {
  const std::vector<std::byte> expected = output(rank);
  if (exact() || expected.empty()) return golden::count_wrong(type_, got, expected);
  return count_beyond(type_, got, expected, bounds_of(rank));
}

std::optional<wrong_element> collective_check::first_wrong(std::uint32_t rank,
                                                           std::span<const std::byte> got) const {
  const std::vector<std::byte> expected = output(rank);
  if (!exact() && !expected.empty()) return first_beyond(type_, got, expected, bounds_of(rank));
  const auto first = golden::first_wrong(type_, got, expected, 1);
  return first.empty() ? std::nullopt : std::optional(first.front());
}

std::string collective_check::method() const {
  return comm::reduces(shape_.what) ? data_.method() : "exact (moved, not computed: every bit counts)";
}

}  // namespace diecast::golden
