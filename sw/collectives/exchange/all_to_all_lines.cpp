// SPDX-License-Identifier: Apache-2.0
// All-to-all one dimension of comm::member_box after the other: SIPs, rows and columns of cubes, PEs. In each
// dimension a member exchanges with the members of its line only: a partner gets all blocks, from any source,
// for members with the partner's coordinate. A block is sent once per dimension, but in messages of
// many blocks and to few partners.
//
//   for every dimension:  for every part of a partner's blocks, and every partner:
//                           send; copy what the previous partner sent to the place from which the next
//                           dimension sends it
//
// Where runs of blocks fill slots, every other place in a cube has columns before rows: links along both are
// busy at once.
#include <algorithm>
#include <array>
#include <vector>

#include "models/abi/address.hpp"
#include "sw/collectives/base/blocks.hpp"
#include "sw/collectives/base/builtin.hpp"
#include "sw/collectives/base/member_levels.hpp"

namespace diecast::sw {
namespace all_to_all_lines_kernel {

using comm::member_box;
using coordinates = member_box::coordinates;

/// All blocks of a rank in some order of their coordinates: that of `slowest` counts first, the others as in
/// ranks. A block's coordinates are those of the rank it is for, in the dimensions that are done those of the
/// rank it is from.
struct block_order {
  member_box box;
  std::uint32_t slowest{member_box::sips};

  [[nodiscard]] std::uint32_t place_of(const coordinates& x) const {
    std::uint32_t place = x[slowest];
    for (std::uint32_t d = 0; d < member_box::dimensions; ++d)
      if (d != slowest) place = place * box.size[d] + x[d];
    return place;
  }
  [[nodiscard]] coordinates at(std::uint32_t place) const {
    coordinates x{};
    for (std::uint32_t d = member_box::dimensions; d-- > 0;) {
      if (d == slowest) continue;
      x[d] = place % box.size[d];
      place /= box.size[d];
    }
    x[slowest] = place;
    return x;
  }
};

/// Blocks in TCM.
struct block_array {
  std::uint64_t at{};
  std::uint64_t stride{};  ///< distance from block to block, bytes
  std::uint64_t bytes{};   ///< bytes of a block without padding
  block_order order;
};

class line_exchange {
 public:
  explicit line_exchange(pe_context& pe)
      : pe_(pe), box_(pe.args().own.get<member_box>()), own_(box_.at(pe.args().rank)) {
    const abi::kernel_arguments& a = pe.args();
    element_ = numeric::size_of(a.type);
    stride_ = (a.count + a.ranks - 1) / a.ranks * element_;
    own_bytes_ = block_vector(pe, a.input).block(a.rank).bytes;
    choose_dimensions();
  }

  void run() {
    const abi::kernel_arguments& a = pe_.args();
    const bool is_even = a.count % a.ranks == 0;
    const std::uint64_t array_bytes = abi::aligned(a.ranks * stride_);
    // Blocks of equal size may pass through the output; others have two places in scratch.
    const std::array<std::uint64_t, 2> between{a.scratch, is_even ? a.output : a.scratch + array_bytes};
    const std::size_t stages = dimensions_.size();
    // Places of the blocks after each stage, alternately; after the last but one in scratch, because the last
    // fills the output.
    const auto target_of = [&](std::size_t stage) { return between[(stages - stage + 1) % 2]; };
    const block_order natural{box_, member_box::sips};
    block_array from{a.input, stride_, stride_, natural};
    if (!is_even) {
      from.at = target_of(0);
      spread_blocks(pe_, block_vector(pe_, a.input), from.at, stride_);
    }
    for (std::size_t i = 0; i < stages; ++i) {
      const std::uint32_t dimension = dimensions_[i];
      const bool is_last = i + 1 == stages;
      block_array to{target_of(i + 1), stride_, stride_, natural};
      if (is_last) {
        to = {a.output, own_bytes_, own_bytes_, natural};
      } else {
        to.order.slowest = dimensions_[i + 1];
      }
      pe_.step("all_to_all", static_cast<std::uint32_t>(i));
      exchange(dimension, from, to);
      from = to;
    }
    if (stages == 0 && own_bytes_ > 0) pe_.copy(a.output, a.input, own_bytes_);
  }

 private:
  void choose_dimensions() {
    for (std::uint32_t d = 0; d < member_box::dimensions; ++d)
      if (box_.size[d] > 1) dimensions_.push_back(d);
    const auto row = std::ranges::find(dimensions_, member_box::rows);
    const auto column = std::ranges::find(dimensions_, member_box::columns);
    if (row == dimensions_.end() || column == dimensions_.end()) return;
    const std::uint64_t run = box_.size[member_box::pes] * stride_;
    const std::uint64_t slot = pe_.message_elements(comm::box_ahead(box_, *row, 1)) * element_;
    if (own_[member_box::pes] % 2 != 0 && run >= slot) std::iter_swap(row, column);
  }

  /// The blocks that the member with coordinate `with` gets or, in `to`, sends: those with this coordinate,
  /// in the order of ranks. Slots end where runs of consecutive blocks at the sender end, so that both ends
  /// cut alike: `length` blocks each.
  struct slice {
    std::uint32_t dimension{}, with{};
  };
  [[nodiscard]] coordinates block_of(const slice& s, std::uint32_t index) const {
    return block_order{box_, s.dimension}.at(s.with * blocks_in_slice(s.dimension) + index);
  }
  [[nodiscard]] std::uint32_t blocks_in_slice(std::uint32_t dimension) const {
    return box_.ranks() / box_.size[dimension];
  }
  /// Consecutive blocks of a slice, in the sender's `order`.
  [[nodiscard]] std::uint32_t run_length(std::uint32_t dimension, const block_order& order) const {
    if (order.slowest == dimension) return blocks_in_slice(dimension);
    std::uint32_t length = 1;
    for (std::uint32_t d = dimension + 1; d < member_box::dimensions; ++d) length *= box_.size[d];
    return length;
  }

  /// A message: bytes [begin, end) of the run of blocks that starts with number `first` of a slice.
  struct message {
    std::uint32_t first{};
    std::uint64_t begin{}, end{};
  };
  [[nodiscard]] std::vector<message> messages_of(std::uint32_t dimension, const block_order& order) {
    std::vector<message> all;
    const std::uint64_t slot = pe_.message_elements(comm::box_ahead(box_, dimension, 1)) * element_;
    const std::uint32_t run = run_length(dimension, order);
    for (std::uint32_t first = 0; first < blocks_in_slice(dimension); first += run) {
      const std::uint64_t bytes = run * stride_;
      for (std::uint64_t at = 0; at < bytes; at += slot)
        all.push_back({first, at, std::min(bytes, at + slot)});
    }
    return all;
  }

  void exchange(std::uint32_t dimension, const block_array& from, const block_array& to) {
    const std::vector<message> messages = messages_of(dimension, from.order);
    const std::uint32_t size = box_.size[dimension];
    const std::size_t part = pe_.n_slots(comm::box_ahead(box_, dimension, 1));
    const std::size_t parts = (messages.size() + part - 1) / part;
    const std::size_t steps = parts * (size - 1);
    // A part fits the slots of its queue pair, so a send waits only for messages that its receiver takes in
    // an earlier step: no cycle of waits, for any number of slots.
    const std::size_t ahead = std::min<std::size_t>(most_ahead, size - 2);
    for (std::size_t i = 0; i < steps + ahead; ++i) {
      if (i < steps) send(dimension, distance(i, size), from, messages, i / (size - 1) * part, part);
      if (i == 0) keep_own(dimension, from, to);
      if (i < ahead) continue;
      take(dimension, distance(i - ahead, size), to, messages, (i - ahead) / (size - 1) * part, part);
    }
  }
  /// Steps from a send to the receive of its number: they cover the path.
  static constexpr std::uint32_t most_ahead = 2;
  [[nodiscard]] static std::uint32_t distance(std::size_t step, std::uint32_t size) {
    return static_cast<std::uint32_t>(step % (size - 1)) + 1;
  }

  void send(std::uint32_t dimension, std::uint32_t distance, const block_array& from,
            const std::vector<message>& messages, std::size_t first, std::size_t count) {
    const slice s{dimension, around(own_[dimension], distance, box_.size[dimension])};
    const comm::direction dir = comm::box_ahead(box_, dimension, distance);
    for (std::size_t i = first; i < std::min(messages.size(), first + count); ++i) {
      const message& m = messages[i];
      const std::uint64_t run = from.at + from.order.place_of(block_of(s, m.first)) * from.stride;
      (void)pe_.isend(dir, run + m.begin, static_cast<std::uint32_t>(m.end - m.begin));
    }
  }
  void take(std::uint32_t dimension, std::uint32_t distance, const block_array& to,
            const std::vector<message>& messages, std::size_t first, std::size_t count) {
    const std::uint32_t size = box_.size[dimension];
    const slice s{dimension, around(own_[dimension], -std::int64_t{distance}, size)};
    const comm::direction dir = comm::box_ahead(box_, dimension, size - distance);
    for (std::size_t i = first; i < std::min(messages.size(), first + count); ++i) {
      const slot_view slot = pe_.recv(dir);
      for_pieces(s, messages[i], to, [&](std::uint64_t at, std::uint64_t offset, std::uint64_t bytes) {
        pe_.fetch({slot.at + offset, static_cast<std::uint32_t>(bytes)}, at);
      });
      pe_.release(dir);
    }
  }
  /// The slice of the own coordinate stays here.
  void keep_own(std::uint32_t dimension, const block_array& from, const block_array& to) {
    const slice s{dimension, own_[dimension]};
    const std::uint32_t run = run_length(dimension, from.order);
    for (std::uint32_t first = 0; first < blocks_in_slice(dimension); first += run) {
      const std::uint64_t source = from.at + from.order.place_of(block_of(s, first)) * from.stride;
      for_pieces(s, {first, 0, run * stride_}, to,
                 [&](std::uint64_t at, std::uint64_t offset, std::uint64_t bytes) {
                   pe_.copy(at, source + offset, bytes);
                 });
    }
  }
  /// Calls use(place in TCM, offset in the message, bytes) for each range that has one place.
  template <typename Use>
  void for_pieces(const slice& s, const message& m, const block_array& to, const Use& use) const {
    std::uint64_t at = 0, offset = 0, bytes = 0;
    for (std::uint64_t done = m.begin; done < m.end;) {
      const std::uint64_t block = done / stride_, in_block = done % stride_;
      const std::uint64_t length = std::min(stride_ - in_block, m.end - done);
      const std::uint64_t used = in_block < to.bytes ? std::min(length, to.bytes - in_block) : 0;
      const std::uint32_t index = m.first + static_cast<std::uint32_t>(block);
      const std::uint64_t place = to.at + to.order.place_of(block_of(s, index)) * to.stride + in_block;
      if (bytes > 0 && at + bytes == place && offset + bytes == done - m.begin) {
        bytes += used;
      } else if (used > 0) {
        if (bytes > 0) use(at, offset, bytes);
        at = place;
        offset = done - m.begin;
        bytes = used;
      }
      done += length;
    }
    if (bytes > 0) use(at, offset, bytes);
  }

  pe_context& pe_;
  member_box box_;
  coordinates own_;
  std::uint64_t element_{}, stride_{}, own_bytes_{};
  std::vector<std::uint32_t>
      dimensions_;  ///< dimensions of at least two members, in the order of their exchanges
};

void run(pe_context& pe) { line_exchange(pe).run(); }

/// Blocks lie in scratch between two dimensions, alternately in two places, of which blocks of equal size
/// need one; others are there before the first dimension, too.
std::uint64_t scratch(const argument_context& c) {
  const std::uint64_t n = c.members.members.size();
  const std::uint64_t array = abi::aligned((c.count + n - 1) / n * n * numeric::size_of(c.type));
  // Chunks of tensors in HBM have different sizes, so their blocks do not count as equal.
  const bool is_even = c.count % n == 0 && c.config.ccl.tensors == config::tensor_kind::tcm;
  const member_box box = comm::member_box_of(c.shape, c.members);
  const auto stages = std::ranges::count_if(box.size, [](std::uint32_t s) { return s > 1; });
  if (is_even) return stages > 1 ? array : 0;
  return stages > 1 ? 2 * array : stages > 0 ? array : 0;
}

void fill(const argument_context& c, std::uint32_t, abi::kernel_arguments& a) {
  a.own.set(comm::member_box_of(c.shape, c.members));
}

}  // namespace all_to_all_lines_kernel

kernel_table all_to_all_lines_kernels() {
  using namespace all_to_all_lines_kernel;
  return {{"lines", "all_to_all",
           "SIPs, rows and columns of cubes, PEs: one after the other, in messages of many blocks",
           "box_lines", any_ranks, run, scratch, fill}};
}

}  // namespace diecast::sw
