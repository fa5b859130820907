// SPDX-License-Identifier: Apache-2.0
#include "models/comm/collective.hpp"

#include "models/types/enum_name.hpp"

namespace diecast::comm {
namespace {

/// Parts differ by at most one element, and one of them is rounded up.
std::uint64_t largest_part(const collective_shape& s) { return (s.count + s.ranks - 1) / s.ranks; }

}  // namespace

const std::vector<collective>& all_collectives() {
  using enum collective;
  static const std::vector<collective> all{all_reduce, reduce_scatter, all_gather, broadcast, reduce,
                                           all_to_all, gather,         scatter,    send_recv, barrier};
  return all;
}

const char* to_string(collective c) { return enum_name(c); }

std::optional<collective> collective_named(std::string_view name) { return enum_named<collective>(name); }

size_meaning size_meaning_of(collective c) {
  switch (c) {
    case collective::reduce_scatter:
    case collective::all_gather:
    case collective::all_to_all:
    case collective::gather:
    case collective::scatter: return size_meaning::total;
    case collective::all_reduce:
    case collective::broadcast:
    case collective::reduce:
    case collective::send_recv:
    case collective::barrier: break;
  }
  return size_meaning::per_rank;
}

bool reduces(collective c) {
  return c == collective::all_reduce || c == collective::reduce_scatter || c == collective::reduce;
}

bool has_root(collective c) {
  return c == collective::broadcast || c == collective::reduce || c == collective::gather ||
         c == collective::scatter;
}

bool outputs_equal(collective c) {
  return c == collective::all_reduce || c == collective::all_gather || c == collective::broadcast;
}

element_range part_of(std::uint64_t count, std::uint64_t index, std::uint64_t parts) {
  const std::uint64_t begin = count * index / parts;
  return {begin, index < parts ? count * (index + 1) / parts - begin : 0};
}

std::uint64_t input_elements(const collective_shape& s, std::uint32_t rank) {
  switch (s.what) {
    case collective::all_reduce:
    case collective::reduce_scatter:
    case collective::reduce:
    case collective::all_to_all:
    case collective::send_recv: return s.count;
    case collective::all_gather:
    case collective::gather: return part_of(s.count, rank, s.ranks).count;
    case collective::broadcast:
    case collective::scatter: return rank == s.root ? s.count : 0;
    case collective::barrier: break;
  }
  return 0;
}

std::uint64_t output_elements(const collective_shape& s, std::uint32_t rank) {
  switch (s.what) {
    case collective::all_reduce:
    case collective::all_gather:
    case collective::broadcast:
    case collective::send_recv: return s.count;
    case collective::reduce_scatter:
    case collective::scatter: return part_of(s.count, rank, s.ranks).count;
    case collective::reduce:
    case collective::gather: return rank == s.root ? s.count : 0;
    case collective::all_to_all: return s.ranks * part_of(s.count, rank, s.ranks).count;
    case collective::barrier: break;
  }
  return 0;
}

std::uint64_t largest_input(const collective_shape& s) {
  switch (s.what) {
    case collective::all_gather:
    case collective::gather: return largest_part(s);
    case collective::barrier: return 0;
    default: return s.count;
  }
}

std::uint64_t largest_output(const collective_shape& s) {
  switch (s.what) {
    case collective::reduce_scatter:
    case collective::scatter: return largest_part(s);
    case collective::all_to_all: return s.ranks * largest_part(s);
    case collective::barrier: return 0;
    default: return s.count;
  }
}

double bus_bandwidth_factor(collective c, std::uint64_t ranks) {
  if (ranks < 2) return 0;
  const auto n = static_cast<double>(ranks);
  if (c == collective::all_reduce) return 2 * (n - 1) / n;
  return size_meaning_of(c) == size_meaning::total ? (n - 1) / n : 1;
}

}  // namespace diecast::comm
