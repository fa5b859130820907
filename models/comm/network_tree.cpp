// SPDX-License-Identifier: Apache-2.0
#include "models/comm/network_tree.hpp"

#include <algorithm>

#include "models/numeric/convert.hpp"
#include "models/numeric/elementwise.hpp"

namespace diecast::comm {

bool uses_tree(const std::vector<edge>& edges) {
  return std::ranges::any_of(edges, [](const edge& e) { return e.through != carrier::queue_pairs; });
}

namespace {

std::vector<std::byte> converted(std::span<const std::byte> from, numeric::dtype type, numeric::dtype to) {
  std::vector<std::byte> out(from.size() / numeric::size_of(type) * numeric::size_of(to));
  numeric::convert(type, from, to, out);
  return out;
}

}  // namespace

void tree_sum::add(std::span<const std::byte> contribution) {
  const bool widen = how_.in_f32;
  const numeric::dtype type = widen ? numeric::dtype::f32 : how_.type;
  const std::vector<std::byte> wide =
      widen ? converted(contribution, how_.type, type) : std::vector<std::byte>{};
  const std::span<const std::byte> part = widen ? std::span<const std::byte>(wide) : contribution;
  if (begun_) {
    numeric::apply(how_.op, type, sum_, sum_, part);
  } else {
    sum_.assign(part.begin(), part.end());
  }
  begun_ = true;
}

std::vector<std::byte> tree_sum::result() const {
  return how_.in_f32 ? converted(sum_, numeric::dtype::f32, how_.type) : sum_;
}

}  // namespace diecast::comm
