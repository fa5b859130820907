// SPDX-License-Identifier: Apache-2.0
// The program of one rank as 64-bit words. Layout:
//   word 0  magic "DCPROG1\0"
//   word 1  thread blocks | collective << 32 | in place << 40
//   word 2  chunks per loop | scratch chunks << 32
//   words 3, 4  input and output: storage | first chunk << 8 | chunks << 36
//   per block: send direction | recv direction << 16 | steps << 32, then three words per step:
//     type | source storage << 8 | destination storage << 16 | count << 32
//     source chunk | destination chunk << 32
//     block waited for (signed 32 bits, -1 none) | step waited for << 32
#include <algorithm>
#include <tuple>
#include <utility>

#include "models/types/error.hpp"
#include "sw/collectives/msccl/program.hpp"

namespace diecast::comm {
namespace {

constexpr std::uint64_t magic = 0x0031474f52504344;

std::uint64_t pack(std::uint64_t low, std::uint64_t high) { return (low & 0xffff'ffff) | high << 32; }
std::uint32_t low_of(std::uint64_t w) { return static_cast<std::uint32_t>(w); }
std::uint32_t high_of(std::uint64_t w) { return static_cast<std::uint32_t>(w >> 32); }

std::uint64_t pack(const buffer_extent& e) {
  return static_cast<std::uint64_t>(e.storage) | static_cast<std::uint64_t>(e.first_chunk) << 8 |
         static_cast<std::uint64_t>(e.chunks) << 36;
}
constexpr std::uint64_t chunk_mask = (std::uint64_t{1} << 28) - 1;

/// Reads words and refuses to run past the end.
class reader {
 public:
  explicit reader(std::span<const std::uint64_t> words) : words_(words) {}
  std::uint64_t next() {
    if (at_ == words_.size())
      throw protocol_error("program image: ends after " + std::to_string(at_) + " words");
    return words_[at_++];
  }
  /// An enumerator stored in eight bits of a word.
  template <class Enum>
  Enum value(std::uint64_t word, unsigned shift, Enum last) const {
    const auto v = static_cast<std::uint8_t>(word >> shift);
    if (v > static_cast<std::uint8_t>(last))
      throw protocol_error("program image: word {} holds {:#018x}, which is no valid value", at_ - 1, word);
    return static_cast<Enum>(v);
  }
  buffer_extent extent() {
    const std::uint64_t w = next();
    return {value(w, 0, program_buffer::scratch), static_cast<std::int64_t>(w >> 8 & chunk_mask),
            static_cast<std::int64_t>(w >> 36 & chunk_mask)};
  }

 private:
  std::span<const std::uint64_t> words_;
  std::size_t at_{};
};

image_step image_of(const program& p, const program_rank& r, const program_step& s) {
  image_step out;
  out.type = s.type;
  out.count = s.type == step_type::nop ? 0 : static_cast<std::uint32_t>(s.count);
  const auto place = [&](program_buffer b, std::int64_t offset) {
    const buffer_extent e = extent_of(p, r, b);
    return std::pair{e.storage, static_cast<std::uint32_t>(e.first_chunk + offset)};
  };
  if (out.count > 0 && reads_source(s.type))
    std::tie(out.source, out.source_chunk) = place(s.source, s.source_offset);
  if (out.count > 0 && writes_destination(s.type))
    std::tie(out.destination, out.destination_chunk) = place(s.destination, s.destination_offset);
  if (s.depends_block != -1) {
    const auto target = std::ranges::find(r.blocks, s.depends_block, &thread_block::id);
    out.depends_block = static_cast<std::int32_t>(target - r.blocks.begin());
    out.depends_step = static_cast<std::uint32_t>(s.depends_step);
  }
  return out;
}

}  // namespace

program_image image_of(const program& p, const program_wiring& w, std::uint32_t rank) {
  const program_rank& r = p.gpus.at(rank);
  program_image image;
  image.collective = p.collective;
  image.in_place = p.in_place;
  image.chunks_per_loop = static_cast<std::uint32_t>(p.chunks_per_loop);
  image.input = extent_of(p, r, program_buffer::input);
  image.output = extent_of(p, r, program_buffer::output);
  image.scratch_chunks = static_cast<std::uint32_t>(r.scratch_chunks);
  for (const thread_block& b : r.blocks) {
    image_block& block = image.blocks.emplace_back();
    for (const program_step& s : b.steps) {
      const auto channel = static_cast<std::uint32_t>(b.channel);
      if (s.count > 0 && sends(s.type))
        block.send_dir = w.fifo(rank, static_cast<std::uint32_t>(b.send_peer), channel).tx_dir;
      if (s.count > 0 && receives(s.type))
        block.recv_dir = w.fifo(static_cast<std::uint32_t>(b.recv_peer), rank, channel).rx_dir;
      block.steps.push_back(image_of(p, r, s));
    }
  }
  return image;
}

std::vector<std::uint64_t> encode(const program_image& image) {
  std::vector<std::uint64_t> words{magic,
                                   pack(image.blocks.size(), static_cast<std::uint64_t>(image.collective) |
                                                                 std::uint64_t{image.in_place} << 8),
                                   pack(image.chunks_per_loop, image.scratch_chunks), pack(image.input),
                                   pack(image.output)};
  for (const image_block& b : image.blocks) {
    words.push_back(pack(std::uint64_t{b.send_dir} | std::uint64_t{b.recv_dir} << 16, b.steps.size()));
    for (const image_step& s : b.steps) {
      words.push_back(pack(static_cast<std::uint64_t>(s.type) | static_cast<std::uint64_t>(s.source) << 8 |
                               static_cast<std::uint64_t>(s.destination) << 16,
                           s.count));
      words.push_back(pack(s.source_chunk, s.destination_chunk));
      words.push_back(pack(static_cast<std::uint32_t>(s.depends_block), s.depends_step));
    }
  }
  return words;
}

program_image decode_program_image(std::span<const std::uint64_t> words) {
  reader in(words);
  if (const std::uint64_t first = in.next(); first != magic)
    throw protocol_error("program image: starts with {:#018x}, expected {:#018x}", first, magic);
  program_image image;
  const std::uint64_t head = in.next();
  const std::uint32_t blocks = low_of(head);
  image.collective = in.value(head, 32, collective::barrier);
  image.in_place = (head >> 40 & 1) != 0;
  const std::uint64_t sizes = in.next();
  image.chunks_per_loop = low_of(sizes);
  image.scratch_chunks = high_of(sizes);
  image.input = in.extent();
  image.output = in.extent();
  for (std::uint32_t i = 0; i < blocks; ++i) {
    const std::uint64_t b = in.next();
    image_block& block = image.blocks.emplace_back();
    block.send_dir = static_cast<direction>(b);
    block.recv_dir = static_cast<direction>(b >> 16);
    for (std::uint32_t k = 0; k < high_of(b); ++k) {
      const std::uint64_t what = in.next(), offsets = in.next(), wait = in.next();
      block.steps.push_back({in.value(what, 0, step_type::wait), in.value(what, 8, program_buffer::scratch),
                             in.value(what, 16, program_buffer::scratch), low_of(offsets), high_of(offsets),
                             high_of(what), static_cast<std::int32_t>(low_of(wait)), high_of(wait)});
    }
  }
  return image;
}

}  // namespace diecast::comm
