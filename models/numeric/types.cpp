// SPDX-License-Identifier: Apache-2.0
#include "models/numeric/types.hpp"

namespace diecast::numeric {

std::optional<dtype> parse_dtype(std::string_view name) {
  if (name == "f16" || name == "half") return dtype::f16;
  if (name == "bf16" || name == "bfloat16") return dtype::bf16;
  if (name == "f32" || name == "float") return dtype::f32;
  if (name == "i32" || name == "int32") return dtype::i32;
  return std::nullopt;
}

std::optional<reduction> parse_reduction(std::string_view name) {
  for (const reduction r :
       {reduction::sum, reduction::max, reduction::min, reduction::prod, reduction::avg}) {
    if (name == to_string(r)) return r;
  }
  return std::nullopt;
}

}  // namespace diecast::numeric
