// SPDX-License-Identifier: Apache-2.0
#include "models/comm/tensor_chunks.hpp"

#include <algorithm>

namespace diecast::comm {
namespace {

bool holds(block_set which, bool own) {
  switch (which) {
    case block_set::none: return false;
    case block_set::own: return own;
    case block_set::others: return !own;
    case block_set::all: return true;
  }
  return false;
}

}  // namespace

bool never_in_place(collective c) { return c == collective::all_to_all || c == collective::send_recv; }

staged_blocks staged_blocks_of(const collective_shape& s, std::uint32_t rank, bool in_place) {
  using enum block_set;
  const bool root = rank == s.root;
  switch (s.what) {
    case collective::all_reduce:
    case collective::all_to_all:
    case collective::send_recv: return {all, all};
    case collective::reduce_scatter: return {all, own};
    case collective::all_gather: return {own, in_place ? others : all};
    case collective::broadcast:
      return root ? staged_blocks{all, in_place ? none : all} : staged_blocks{none, all};
    case collective::reduce: return {all, root ? all : none};
    case collective::gather:
      if (!root) return {own, none};
      return in_place ? staged_blocks{none, others} : staged_blocks{own, all};
    case collective::scatter:
      if (!root) return {none, own};
      return in_place ? staged_blocks{others, none} : staged_blocks{all, own};
    case collective::barrier: break;
  }
  return {none, none};
}

std::uint64_t tensor_chunks::blocks(const collective_shape& s) {
  return size_meaning_of(s.what) == size_meaning::total ? s.ranks : 1;
}

std::uint64_t tensor_chunks::largest_block(const collective_shape& s) {
  return (s.count + blocks(s) - 1) / blocks(s);
}

/// Blocks differ by one element at most, so that all of them reach into the last chunk or end with the one
/// before.
tensor_chunks::tensor_chunks(const collective_shape& s, std::uint64_t piece)
    : shape_(s),
      piece_(piece),
      blocks_(blocks(s)),
      chunks_(std::max<std::uint64_t>(1, (largest_block(s) + piece - 1) / piece)) {}

/// The last chunk has what the others leave: part_of cuts it as it cuts the whole, less their pieces.
std::uint64_t tensor_chunks::elements(std::uint64_t chunk) const {
  const std::uint64_t before = blocks_ * piece_ * (chunks_ - 1);
  return chunk + 1 < chunks_ ? blocks_ * piece_ : shape_.count - before;
}

element_range tensor_chunks::piece(std::uint64_t chunk, std::uint64_t b) const {
  const std::uint64_t begin = chunk * piece_;
  const std::uint64_t left = block(b).count - begin;
  return {block(b).begin + begin, chunk + 1 < chunks_ ? piece_ : left};
}

std::vector<staged_piece> tensor_chunks::input(std::uint64_t chunk, std::uint32_t rank,
                                               block_set which) const {
  std::vector<staged_piece> pieces;
  for (std::uint64_t b = 0; b < blocks_; ++b) {
    if (!holds(which, blocks_ == 1 || b == rank)) continue;
    const element_range r = piece(chunk, b);
    if (r.count > 0) pieces.push_back({r.begin, part_of(elements(chunk), b, blocks_).begin, r.count});
  }
  return pieces;
}

/// The output of all_to_all has a block of this rank's size from every rank; others have the input's blocks.
std::vector<staged_piece> tensor_chunks::output(std::uint64_t chunk, std::uint32_t rank,
                                                block_set which) const {
  if (shape_.what != collective::all_to_all) return input(chunk, rank, which);
  std::vector<staged_piece> pieces;
  const std::uint64_t own = piece(chunk, rank).count;
  for (std::uint64_t b = 0; own > 0 && b < blocks_; ++b) {
    pieces.push_back({b * block(rank).count + chunk * piece_, b * own, own});
  }
  return pieces;
}

}  // namespace diecast::comm
