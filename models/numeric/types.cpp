// SPDX-License-Identifier: Apache-2.0
#include "models/numeric/types.hpp"

#include <bit>
#include <cmath>

namespace diecast::numeric {

std::optional<dtype> parse_dtype(std::string_view name) {
  if (name == "half") return dtype::f16;
  if (name == "bfloat16") return dtype::bf16;
  if (name == "float") return dtype::f32;
  if (name == "int32") return dtype::i32;
  return enum_named<dtype>(name);
}

std::optional<reduction> parse_reduction(std::string_view name) { return enum_named<reduction>(name); }

double unit_roundoff(dtype t) {
  if (t == dtype::i32) return 0.0;
  return std::ldexp(1.0, -static_cast<int>(precision_of(t).significand_bits));
}

double sum_error_bound(dtype t, summation order, std::uint32_t ranks, double sum_of_magnitudes) {
  if (ranks < 2) return 0.0;
  const unsigned roundings =
      order == summation::sequential ? ranks - 1 : static_cast<unsigned>(std::bit_width(ranks - 1));
  return roundings * unit_roundoff(t) * sum_of_magnitudes;
}

}  // namespace diecast::numeric
