// SPDX-License-Identifier: Apache-2.0
// How a tensor that does not lie in TCM is worked on in chunks. A chunk of a collective of blocks is the same
// piece of every block, so that a kernel sees a smaller collective of the same kind; of the others it is a
// range of the vector.
#pragma once

#include <cstdint>
#include <vector>

#include "models/comm/collective.hpp"

namespace diecast::comm {

/// Blocks of a rank's vector. A collective without blocks has one, which is all.
enum class block_set : std::uint8_t { none, own, others, all };

/// What of its tensors a rank must read before, and write after, a collective on chunks in TCM. In place, a
/// block that is where it belongs stays there.
struct staged_blocks {
  block_set read{};
  block_set written{};
  friend bool operator==(const staged_blocks&, const staged_blocks&) = default;
};
[[nodiscard]] staged_blocks staged_blocks_of(const collective_shape& s, std::uint32_t rank, bool in_place);

/// Collectives that are never in place: what a rank receives is not what it contributed.
[[nodiscard]] bool never_in_place(collective c);

/// A range of a tensor and its place in the chunk. Elements.
struct staged_piece {
  std::uint64_t in_tensor{};
  std::uint64_t in_chunk{};
  std::uint64_t count{};
  friend bool operator==(const staged_piece&, const staged_piece&) = default;
};

class tensor_chunks {
 public:
  /// `piece`: elements of every block in a chunk but the last, at least 1.
  tensor_chunks(const collective_shape& s, std::uint64_t piece);

  [[nodiscard]] std::uint64_t chunks() const { return chunks_; }
  /// Elements of the collective that a chunk is: kernel_arguments::count.
  [[nodiscard]] std::uint64_t elements(std::uint64_t chunk) const;
  /// Ranges of the input that a chunk needs, and of the output that it makes. Empty ones are left out.
  [[nodiscard]] std::vector<staged_piece> input(std::uint64_t chunk, std::uint32_t rank,
                                                block_set which) const;
  [[nodiscard]] std::vector<staged_piece> output(std::uint64_t chunk, std::uint32_t rank,
                                                 block_set which) const;

  [[nodiscard]] static std::uint64_t blocks(const collective_shape& s);
  /// Elements of the largest block.
  [[nodiscard]] static std::uint64_t largest_block(const collective_shape& s);

 private:
  [[nodiscard]] element_range block(std::uint64_t b) const { return part_of(shape_.count, b, blocks_); }
  [[nodiscard]] element_range piece(std::uint64_t chunk, std::uint64_t b) const;

  collective_shape shape_;
  std::uint64_t piece_;
  std::uint64_t blocks_;
  std::uint64_t chunks_;
};

}  // namespace diecast::comm
