// SPDX-License-Identifier: Apache-2.0
#include "models/comm/hbm_tensor.hpp"

#include "models/comm/sync_layout.hpp"

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

/// The last chunk has the rest of the blocks: part_of cuts it like the whole, less the other pieces.
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
  for (std::uint64_t b = 0; own > 0 && b < blocks_; ++b)
    pieces.push_back({b * block(rank).count + chunk * piece_, b * own, own});
  return pieces;
}

home_ports home_ports_of(const config::machine_config& c, const config::memory_channels& channels,
                         pe_coord pe) {
  const auto pes = static_cast<std::uint32_t>(c.cube.pes);
  const std::uint32_t own = pe.pe.value;
  home_ports h;
  h.first = channels.home_of(pe);
  const std::uint32_t left = channels.count_of(pe.sip, pe.cube);
  const std::uint32_t share = std::max(1U, (own + 1) * left / pes - own * left / pes);
  // Addresses continue from port to port, so a gap ends the share.
  while (h.count < share && channels.has(pe.sip, pe.cube, h.first + h.count)) ++h.count;
  h.slices = static_cast<std::uint32_t>(channels.sharers());
  h.slice = channels.place_of(pe);
  return h;
}

std::uint64_t ring_bytes_in_hbm(const config::machine_config& c) {
  if (c.ipcq.rings != config::buffer_kind::hbm) return 0;
  return c.ipcq.queue_pairs * c.ipcq.n_slots * c.ipcq.slot_bytes;
}

bool slots_keep_to_stripes(const config::machine_config& c, const collective_shape& s,
                           std::uint64_t element_bytes) {
  if (s.ranks < 2 || s.count == 0 || s.count % s.ranks != 0) return false;
  const std::uint64_t block = s.count / s.ranks * element_bytes;
  const std::uint64_t slot = c.ipcq.slot_bytes / element_bytes * element_bytes;
  const std::uint64_t stripe = c.ccl.tensor_stripe_bytes;
  if (block <= slot) return stripe % block == 0;
  return stripe % slot == 0 && block % slot == 0;
}

namespace {

/// From the read of a message's source to the credit of its slot, which waits for the store.
bool rings_cover_the_path(const config::machine_config& c, const collective_shape& s,
                          std::uint64_t element_bytes) {
  constexpr std::uint64_t shortest = 32'768;         // least bytes of the slots of one queue pair
  constexpr std::uint64_t shortest_of_all = 98'304;  // least bytes of the slots to all other ranks
  const std::uint64_t ring = c.ipcq.n_slots * c.ipcq.slot_bytes;
  const std::uint64_t block = s.count / s.ranks * element_bytes;
  if (block <= 2 * ring) return true;  // hardly anything waits for a slot
  return ring >= shortest && (s.ranks - 1) * ring >= shortest_of_all;
}

}  // namespace

bool moves_out_of_hbm(const config::machine_config& c, const collective_shape& s,
                      std::uint64_t element_bytes) {
  if (c.ccl.tensors != config::tensor_kind::hbm || c.ccl.tensor_chunk_bytes) return false;
  return slots_keep_to_stripes(c, s, element_bytes) && rings_cover_the_path(c, s, element_bytes);
}

std::uint64_t bytes_per_port(const config::machine_config& c, const home_ports& home, std::uint64_t bytes) {
  const std::uint64_t round = c.ccl.tensor_stripe_bytes * home.count;
  return (bytes + round - 1) / round * c.ccl.tensor_stripe_bytes;
}

hbm_tensor place_in_hbm(const config::machine_config& c, pe_coord pe, const home_ports& home,
                        std::uint64_t share, std::uint64_t before) {
  const std::uint64_t offset = sync_port_bytes(home.slices) + home.slice * share + before;
  return {abi::encode({pe.sip, pe.cube, abi::region::hbm, home.first, offset}), home.count,
          c.ccl.tensor_stripe_bytes};
}

}  // namespace diecast::comm
