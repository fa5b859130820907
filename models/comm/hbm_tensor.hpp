// SPDX-License-Identifier: Apache-2.0
// Tensors in HBM: chunks of them, and where they lie.
//
// How a tensor outside TCM is processed in chunks. A chunk of a collective of blocks is the same
// piece of every block, so that a kernel sees a smaller collective of the same kind; of the others it is a
// range of the vector.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "models/abi/address.hpp"
#include "models/comm/collective.hpp"
#include "models/config/machine_config.hpp"
#include "models/config/population.hpp"
#include "models/types/ids.hpp"

namespace diecast::comm {

/// Blocks of a rank's vector; 1 for a collective without blocks.
enum class block_set : std::uint8_t { none, own, others, all };

/// Parts of its tensors that a rank must read before, and write after, a collective on chunks in TCM. In
/// place, a block that is where it belongs is not moved.
struct staged_blocks {
  block_set read{};
  block_set written{};
  friend bool operator==(const staged_blocks&, const staged_blocks&) = default;
};
[[nodiscard]] staged_blocks staged_blocks_of(const collective_shape& s, std::uint32_t rank, bool in_place);

/// Collectives that are never in place, because a rank receives other elements than it contributes.
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
  /// Elements of the collective on one chunk: kernel_arguments::count.
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

// Where a tensor in HBM lies (ccl.tensor_kind = hbm): in stripes, round the ports of its cube that belong to
// its PE. The ports of a cube are shared out evenly among its PEs; where there are more PEs than ports,
// neighbors have one in common, and a slice of it each.

/// The ports of one PE.
struct home_ports {
  std::uint32_t first{};
  std::uint32_t count{1};
  std::uint32_t slice{};    ///< place of the PE among those that share its port
  std::uint32_t slices{1};  ///< how many they are, at most
};
/// Home ports among those that the cube has: those that overrides leave out belong to no PE. `channels` are
/// those of `c`. Throws user_error when the cube has none.
[[nodiscard]] home_ports home_ports_of(const config::machine_config& c,
                                       const config::memory_channels& channels, pe_coord pe);

/// Bytes that the slot rings of all queue pairs of a PE take of its port; 0 when they are in another memory
/// (ipcq.buffer_kind).
[[nodiscard]] std::uint64_t ring_bytes_in_hbm(const config::machine_config& c);

/// From an address in an HBM port to the same one in the next.
inline constexpr abi::address port_stride = abi::max_offset + 1;

/// A tensor as firmware and host address it.
struct hbm_tensor {
  abi::address first{};  ///< address of the first byte
  std::uint64_t ports{1};
  std::uint64_t stripe_bytes{};

  /// Calls use(address, done, bytes) for every stripe of [offset, offset + bytes), in order; `done` counts
  /// from offset.
  template <class Use>
  void for_stripes(std::uint64_t offset, std::uint64_t bytes, const Use& use) const {
    for (std::uint64_t done = 0; done < bytes;) {
      const std::uint64_t at = offset + done;
      const std::uint64_t n = std::min(bytes - done, stripe_bytes - at % stripe_bytes);
      use(address_of(at), done, n);
      done += n;
    }
  }
  [[nodiscard]] abi::address address_of(std::uint64_t offset) const {
    const std::uint64_t stripe = offset / stripe_bytes;
    const std::uint64_t port = stripe % ports;
    return first + port * port_stride + stripe / ports * stripe_bytes + offset % stripe_bytes;
  }
};

/// No message with a slot of a block is in two stripes, of any rank's input or output: blocks of one size,
/// within a stripe or, like stripes, in whole slots.
[[nodiscard]] bool slots_keep_to_stripes(const config::machine_config& c, const collective_shape& s,
                                         std::uint64_t element_bytes);

/// Whether a kernel that only moves blocks sends them directly from their place in HBM and receives them
/// directly to theirs. Not so, but in chunks, where slots cross stripes; where slot rings are too short, as a
/// slot is held until its bytes are in HBM (measured, docs/adr/0081); and where ccl.tensor_chunk_bytes is
/// given.
[[nodiscard]] bool moves_out_of_hbm(const config::machine_config& c, const collective_shape& s,
                                    std::uint64_t element_bytes);

/// Bytes that a tensor takes of each of its ports: whole stripes.
[[nodiscard]] std::uint64_t bytes_per_port(const config::machine_config& c, const home_ports& home,
                                           std::uint64_t bytes);

/// The tensor that follows `before` bytes per port of others of the PE, of which `share` bytes of the
/// port are its own.
[[nodiscard]] hbm_tensor place_in_hbm(const config::machine_config& c, pe_coord pe, const home_ports& home,
                                      std::uint64_t share, std::uint64_t before);

}  // namespace diecast::comm
