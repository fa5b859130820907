// SPDX-License-Identifier: Apache-2.0
#include "models/golden/compare.hpp"

#include <cmath>
#include <cstring>
#include <fmt/format.h>
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

/// Calls `found(index, got, expected)` for each element beyond its bound, until that says to stop.
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

}  // namespace diecast::golden
