// SPDX-License-Identifier: Apache-2.0
#include "models/golden/collective_check.hpp"

#include <algorithm>

#include "models/golden/all_reduce.hpp"
#include "models/golden/compare.hpp"

namespace diecast::golden {
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
