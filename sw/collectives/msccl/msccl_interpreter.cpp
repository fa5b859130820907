// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/msccl/msccl_interpreter.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <span>

#include "sw/runtime/pe_context.hpp"

namespace diecast::sw {
namespace {

using comm::collective;
using comm::program_buffer;
using comm::step_type;
using arrival = pe_context::arrival;

/// Contiguous pieces of one step: `count` times `bytes`, one chunk apart.
struct pieces {
  std::uint64_t count{};
  std::uint64_t bytes{};
};

class interpreter {
 public:
  explicit interpreter(pe_context& pe)
      : pe_(pe), own_(pe.args().own.get<msccl_parameters>()), element_(numeric::size_of(pe.args().type)) {}

  void run() {
    if (own_.slices == 0) return;
    load_image();
    choose_buffers();
    bring_inputs();
    std::vector<std::function<void()>> blocks;
    for (std::size_t b = 0; b < image_.blocks.size(); ++b) blocks.emplace_back([this, b] { run_block(b); });
    pe_.run_tasks(blocks);
    bring_outputs();
  }

 private:
  [[nodiscard]] std::uint64_t in_scratch(std::uint64_t offset) const { return pe_.args().scratch + offset; }

  void load_image() {
    std::vector<std::uint64_t> words(own_.image_words);
    pe_.hal().load(pe_.args().scratch, std::as_writable_bytes(std::span(words)));
    image_ = comm::decode_program_image(words);
    progress_.assign(image_.blocks.size(), 0);
    std::uint64_t next = in_scratch(own_.staging_offset);
    for (const comm::image_block& b : image_.blocks) {
      staging_.push_back(next);
      if (std::ranges::any_of(
              b.steps, [](const comm::image_step& s) { return s.type == step_type::receive_reduce_send; }))
        next += own_.staging_bytes;
    }
  }

  void choose_buffers() {
    const abi::kernel_arguments& a = pe_.args();
    slices_ = own_.slices;
    stride_ = own_.stride;
    padded_ = stride_ == 0 && own_.last_chunk * image_.chunks_per_loop != own_.last_elements;
    const bool apart = own_.whole_output != 0;
    base_ = {a.input, apart ? in_scratch(own_.whole_output) : a.output, in_scratch(own_.scratch_offset)};
    padded_base_ = {in_scratch(own_.padded_input), in_scratch(own_.padded_output), 0};
  }

  [[nodiscard]] bool is_last(std::uint64_t slice) const { return slice + 1 == slices_; }
  [[nodiscard]] std::uint64_t chunk_elements(std::uint64_t slice) const {
    return is_last(slice) ? own_.last_chunk : own_.chunk;
  }

  /// TCM offset of a chunk's part in a slice.
  [[nodiscard]] std::uint64_t at(program_buffer storage, std::uint64_t chunk, std::uint64_t slice) const {
    const auto index = static_cast<std::size_t>(storage);
    const std::uint64_t full = own_.chunk;
    if (stride_ != 0) return base_[index] + (chunk * stride_ + slice * full) * element_;
    const std::uint64_t within = chunk * chunk_elements(slice) * element_;
    const bool scratch = storage == program_buffer::scratch;
    if (padded_ && !scratch && is_last(slice)) return padded_base_[index] + within;
    const std::uint64_t chunks = scratch ? image_.scratch_chunks : image_.chunks_per_loop;
    return base_[index] + slice * chunks * full * element_ + within;
  }

  /// Whole chunks, over all slices: elements of one, for the collectives by position.
  [[nodiscard]] std::uint64_t whole_chunk() const { return stride_ != 0 ? stride_ : own_.last_chunk; }
  [[nodiscard]] std::uint64_t last_slice_start() const {
    return (slices_ - 1) * image_.chunks_per_loop * own_.chunk * element_;
  }
  [[nodiscard]] std::uint64_t last_slice_bytes() const { return own_.last_elements * element_; }

  void move(std::uint64_t to, std::uint64_t from, std::uint64_t bytes) {
    if (to != from && bytes > 0) pe_.copy(to, from, bytes);
  }

  /// Puts this rank's contribution where the program expects it.
  void bring_inputs() {
    const abi::kernel_arguments& a = pe_.args();
    if (image_.input.storage == program_buffer::output) {
      const bool whole = image_.collective == collective::all_reduce;
      const std::uint64_t chunk = whole_chunk() * element_;
      const auto first = static_cast<std::uint64_t>(image_.input.first_chunk);
      const auto chunks = static_cast<std::uint64_t>(image_.input.chunks);
      move(a.output + first * chunk, a.input, whole ? a.count * element_ : chunks * chunk);
    }
    if (!padded_) return;
    const std::uint64_t start = last_slice_start();
    pad(image_.input.storage, base_[static_cast<std::size_t>(image_.input.storage)] + start);
  }

  /// Working copy of the last slice, filled up with zeros.
  void pad(program_buffer storage, std::uint64_t from) {
    const std::uint64_t to = padded_base_[static_cast<std::size_t>(storage)];
    const std::uint64_t bytes = last_slice_bytes();
    pe_.copy(to, from, bytes);
    const std::uint64_t full = own_.last_chunk * image_.chunks_per_loop * element_;
    const std::vector<std::byte> zeros(full - bytes);
    pe_.hal().store(to + bytes, zeros);
  }

  /// Puts the result where the launch expects it, and divides an average once.
  void bring_outputs() {
    const abi::kernel_arguments& a = pe_.args();
    const std::uint64_t output = base_[static_cast<std::size_t>(program_buffer::output)];
    if (padded_) pe_.copy(output + last_slice_start(), padded_base_[1], last_slice_bytes());
    switch (image_.collective) {
      case collective::all_reduce:
        move(a.output, output, a.count * element_);
        pe_.finish_average({a.output, a.count * element_});
        break;
      case collective::reduce_scatter: {
        const std::uint64_t chunk = whole_chunk() * element_;
        const std::uint64_t bytes = static_cast<std::uint64_t>(image_.output.chunks) * chunk;
        const bool in_input = image_.output.storage == program_buffer::input;
        const auto first = static_cast<std::uint64_t>(image_.output.first_chunk);
        move(a.output, in_input ? a.input + first * chunk : output, bytes);
        pe_.finish_average({a.output, bytes});
        break;
      }
      default: move(a.output, output, a.count * element_);
    }
  }

  void run_block(std::size_t index) {
    const comm::image_block& block = image_.blocks[index];
    for (std::uint64_t slice = 0; slice < slices_; ++slice) {
      for (std::uint32_t i = 0; i < block.steps.size(); ++i) {
        const comm::image_step& s = block.steps[i];
        if (s.depends_block >= 0) wait_for(static_cast<std::size_t>(s.depends_block), slice, s.depends_step);
        pe_.step(comm::to_string(s.type), i);
        run_step(index, s, slice);
        ++progress_[index];
      }
    }
  }

  /// A step is finished when its sends are accepted: the runtime guards sources it still reads.
  void wait_for(std::size_t block, std::uint64_t slice, std::uint64_t step) {
    const std::uint64_t steps = slice * image_.blocks[block].steps.size() + step + 1;
    pe_.wait_until([this, block, steps] { return progress_[block] >= steps; });
  }

  [[nodiscard]] pieces cut(const comm::image_step& s, std::uint64_t slice) const {
    const std::uint64_t chunk = chunk_elements(slice) * element_;
    if (stride_ == 0) return {s.count > 0 ? 1u : 0u, s.count * chunk};
    return {s.count, chunk};
  }

  void run_step(std::size_t index, const comm::image_step& s, std::uint64_t slice) {
    const pieces p = cut(s, slice);
    for (std::uint64_t i = 0; i < p.count; ++i)
      run_piece(index, s, at(s.source, s.source_chunk + i, slice),
                at(s.destination, s.destination_chunk + i, slice), p.bytes);
  }

  void run_piece(std::size_t index, const comm::image_step& s, std::uint64_t source,
                 std::uint64_t destination, std::uint64_t bytes) {
    const comm::image_block& block = image_.blocks[index];
    switch (s.type) {
      case step_type::send: pe_.send_all(block.send_dir, {source, bytes}); break;
      case step_type::receive: pe_.recv_all(block.recv_dir, {destination, bytes}, arrival::copy); break;
      case step_type::receive_reduce_copy:
        receive_reduced(block, source, destination, bytes, [](std::uint64_t, std::uint64_t) {});
        break;
      case step_type::receive_copy_send: forward(block, destination, bytes); break;
      case step_type::receive_reduce_copy_send:
        receive_reduced(block, source, destination, bytes, [&](std::uint64_t done, std::uint64_t n) {
          pe_.send_all(block.send_dir, {destination + done, n});
        });
        break;
      case step_type::receive_reduce_send: forward_reduced(index, source, bytes); break;
      case step_type::copy: move(destination, source, bytes); break;
      case step_type::reduce: pe_.reduce(destination, source, bytes); break;
      case step_type::nop: break;
      case step_type::signal:  // any bytes do: those of the image are always there
        pe_.send_all(block.send_dir, {in_scratch(0), sizeof(std::uint64_t)});
        break;
      case step_type::wait:
        (void)pe_.recv(block.recv_dir);
        pe_.release(block.recv_dir);
        break;
    }
  }

  /// Bytes of a full slot, as the runtime cuts messages.
  [[nodiscard]] std::uint64_t slot_payload(const comm::image_block& block) {
    return pe_.slot_bytes(block.recv_dir) / element_ * element_;
  }

  /// Calls use(bytes before, bytes) for every slot: the first leaves while the next still arrives.
  template <class Use>
  void for_slots(const comm::image_block& block, std::uint64_t bytes, const Use& use) {
    const std::uint64_t payload = slot_payload(block);
    for (std::uint64_t done = 0; done < bytes; done += payload) use(done, std::min(payload, bytes - done));
  }

  void forward(const comm::image_block& block, std::uint64_t destination, std::uint64_t bytes) {
    for_slots(block, bytes, [&](std::uint64_t done, std::uint64_t n) {
      pe_.recv_all(block.recv_dir, {destination + done, n}, arrival::copy);
      pe_.send_all(block.send_dir, {destination + done, n});
    });
  }

  /// The source is read when the message has come: it may be another block's work, which is done before that
  /// message was sent. `use`: for every slot, when it is complete.
  template <class Use>
  void receive_reduced(const comm::image_block& block, std::uint64_t source, std::uint64_t destination,
                       std::uint64_t bytes, const Use& use) {
    const bool apart = source + bytes <= destination || destination + bytes <= source;
    // In place, slots stored early would overwrite operands of later ones.
    if (!apart) move(destination, source, bytes);
    for_slots(block, bytes, [&](std::uint64_t done, std::uint64_t n) {
      pe_.recv_all(block.recv_dir, {destination + done, n}, apart ? arrival::copy : arrival::reduce);
      if (apart) pe_.reduce(destination + done, source + done, n);
      use(done, n);
    });
  }

  /// The result is stored nowhere but in this block's staging, from where it is sent.
  void forward_reduced(std::size_t index, std::uint64_t source, std::uint64_t bytes) {
    const comm::image_block& block = image_.blocks[index];
    for_slots(block, bytes, [&](std::uint64_t done, std::uint64_t n) {
      pe_.recv_all(block.recv_dir, {staging_[index], n}, arrival::copy);
      pe_.reduce(staging_[index], source + done, n);
      pe_.send_all(block.send_dir, {staging_[index], n});
    });
  }

  pe_context& pe_;
  msccl_parameters own_;
  std::uint64_t element_;
  comm::program_image image_;
  std::uint64_t slices_{}, stride_{};
  bool padded_{};
  std::array<std::uint64_t, 3> base_{}, padded_base_{};  ///< by program_buffer
  std::vector<std::uint64_t> staging_;                   ///< per block
  std::vector<std::uint64_t> progress_;                  ///< steps finished per block, over all slices
};

}  // namespace

void msccl_interpreter(pe_context& pe) { interpreter(pe).run(); }

}  // namespace diecast::sw
