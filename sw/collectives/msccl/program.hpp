// SPDX-License-Identifier: Apache-2.0
// Collective programs (MSCCL): what every thread block of every rank does, as plain values; their
// rules, the FIFOs they need, a symbolic checker, and the image a PE's firmware interprets.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/comm/collective.hpp"
#include "models/comm/install_plan.hpp"
#include "models/comm/patterns.hpp"
#include "models/types/error.hpp"

namespace diecast::comm {

/// Collectives that a program can name: all_reduce, all_gather, reduce_scatter, all_to_all. Accepts
/// the spellings of MSCCL and RCCL ("allreduce", "reduce_scatter", "reducescatter", ...).
[[nodiscard]] std::optional<collective> parse_program_collective(std::string_view name);

/// Buffers of a rank: i input, o output, s scratch.
enum class program_buffer : std::uint8_t { input, output, scratch };
[[nodiscard]] std::optional<program_buffer> parse_program_buffer(std::string_view name);

/// s, r, rcs (receive, copy, send), rrc (receive, reduce, copy), rrcs, rrs, cpy, re, nop; of MSCCL++ plans
/// also messages without data: signal, wait.
enum class step_type : std::uint8_t {
  send,
  receive,
  receive_copy_send,
  receive_reduce_copy,
  receive_reduce_copy_send,
  receive_reduce_send,
  copy,
  reduce,
  nop,
  signal,
  wait
};
[[nodiscard]] const char* to_string(step_type t);  ///< the XML spelling, "rrcs"
/// The type of a step by its name in XML.
[[nodiscard]] std::optional<step_type> parse_step_type(std::string_view name);
[[nodiscard]] bool sends(step_type t);
[[nodiscard]] bool receives(step_type t);
[[nodiscard]] bool reads_source(step_type t);        ///< uses the source buffer and offset
[[nodiscard]] bool writes_destination(step_type t);  ///< uses the destination buffer and offset

/// Offsets and counts are in chunks. Numbers are as written: validate() says what is impossible.
struct program_step {
  step_type type{step_type::nop};
  program_buffer source{program_buffer::input};
  std::int64_t source_offset{-1};
  program_buffer destination{program_buffer::output};
  std::int64_t destination_offset{-1};
  std::int64_t count{};
  std::int64_t depends_block{-1};  ///< id of a thread block of the same rank; -1: none
  std::int64_t depends_step{-1};
  bool has_dependents{};
  std::uint32_t line{};
};

/// Steps run in order; step index is the position in `steps`.
struct thread_block {
  std::int64_t id{};
  std::int64_t send_peer{-1};
  std::int64_t recv_peer{-1};
  std::int64_t channel{};
  std::vector<program_step> steps;
  std::uint32_t line{};
};

struct program_rank {
  std::int64_t id{};
  std::int64_t input_chunks{};
  std::int64_t output_chunks{};
  std::int64_t scratch_chunks{};
  std::vector<thread_block> blocks;
  std::uint32_t line{};
};

struct program {
  std::string source;  ///< file name, for messages
  std::string name;
  std::string protocol{"Simple"};
  comm::collective collective{comm::collective::all_reduce};
  std::int64_t ranks{};
  std::int64_t chunks_per_loop{};
  bool in_place{};
  std::optional<std::uint64_t> min_bytes, max_bytes;
  std::vector<program_rank> gpus;  ///< in order of id after validation
  std::uint32_t line{};
  std::vector<std::string> places;  ///< in a plan of MSCCL++: meaning of the numbers in `line`
  [[nodiscard]] bool is_plan() const { return !places.empty(); }
};
/// "FILE:LINE", or the place in the plan.
[[nodiscard]] std::string place_of(const program& p, std::uint32_t line);

inline constexpr std::int64_t max_program_ranks = 65'536;
inline constexpr std::int64_t max_program_chunks = 1 << 20;

/// Everything that makes the program impossible: ranks, peers, thread blocks, offsets beyond
/// buffers, dependencies, sends that no receive matches. Empty when it can be run (it may still
/// deadlock or compute something else: see check_program). `match_messages` false leaves out the
/// comparison of sends and receives, for a program of which parts could not be read.
[[nodiscard]] std::vector<problem> validate(const program& p, bool match_messages = true);

/// Chunks of a buffer of one rank, and where in-place rules put it: allreduce i is o; allgather
/// i = o + rank * input chunks; reduce_scatter o = i + rank * output chunks; alltoall i is o.
struct buffer_extent {
  program_buffer storage{};    ///< the buffer that really holds it
  std::int64_t first_chunk{};  ///< first chunk within that storage
  std::int64_t chunks{};
};
[[nodiscard]] buffer_extent extent_of(const program& p, const program_rank& r, program_buffer b);

/// One FIFO of the program. Its messages arrive in order.
struct program_fifo {
  std::uint32_t from{}, to{};  ///< ranks
  std::uint32_t channel{};
  direction tx_dir{};  ///< queue pair at `from`
  direction rx_dir{};  ///< queue pair at `to`
};

/// A queue pair of one rank: "to3.c0" transmits, "from3.c0" receives, "with3.c0" does both (the
/// FIFOs of both directions between two ranks on one channel share a queue pair at each end).
struct program_queue_pair {
  std::uint32_t peer{};
  std::uint32_t channel{};
  bool tx{}, rx{};
  [[nodiscard]] std::string name() const;
};

struct program_wiring {
  std::vector<program_fifo> fifos;                           ///< ordered by (from, to, channel)
  std::vector<std::vector<program_queue_pair>> queue_pairs;  ///< per rank, index = direction
  [[nodiscard]] std::uint32_t queue_pairs_needed() const;    ///< the most of any rank
  /// Direction of the FIFO from -> to on a channel, at either end. Precondition: it exists.
  [[nodiscard]] const program_fifo& fifo(std::uint32_t from, std::uint32_t to, std::uint32_t channel) const;
};
/// FIFOs that carry at least one message. Precondition: validate(p) is empty.
[[nodiscard]] program_wiring wire(const program& p);
/// The FIFOs as edges between the members of a group of `p.ranks` PEs; both ends' directions are
/// given in each edge. The program owns all queue pairs of these PEs.
[[nodiscard]] std::vector<edge> edges_of(const program_wiring& w, const group& g);

struct check_options {
  std::uint32_t fifo_messages{2};  ///< messages a FIFO holds before its sender waits
  std::uint64_t order_seed{};      ///< 0: thread blocks in order; else a shuffled order per sweep
  bool data{true};                 ///< false: only whether it ends
  /// A step that receives and sends takes its message before there is space to forward it, as in
  /// firmware. Otherwise it waits for both, as on a GPU.
  bool take_before_space{};
  /// Also searches accesses to a chunk in an undefined order (check_result::races), whatever the order of
  /// this run. Precondition: order_can_be_checked.
  bool races{};
};
/// Limit for a search of about a second and a GiB.
[[nodiscard]] bool order_can_be_checked(const program& p);

struct check_result {
  bool deadlock{};
  std::vector<std::string> blocked;  ///< thread blocks that cannot go on and what they wait for
  std::vector<std::string> wrong;    ///< chunks that do not hold what the collective promises
  std::vector<problem> races;        ///< steps that access a chunk in any order, of which one writes it
  [[nodiscard]] bool ok() const { return !deadlock && wrong.empty() && races.empty(); }
};
/// Runs the program on sets of contributions instead of numbers: every chunk is the multiset of
/// (rank, input chunk) that was reduced into it. Precondition: validate(p) is empty.
[[nodiscard]] check_result check_program(const program& p, const check_options& options = {});

/// The smallest number of messages per FIFO with which the program ends, up to `limit`; empty if
/// none. Whether a program ends does not depend on the order in which its blocks run.
[[nodiscard]] std::optional<std::uint32_t> fifo_messages_needed(const program& p, std::uint32_t limit);

/// How a vector becomes chunks. The program runs once per slice; slices use disjoint parts of every
/// buffer, so that thread blocks may be in different slices.
///
/// all_reduce: slice k is elements [k*S, (k+1)*S), S = chunks_per_loop * chunk; the last one is
/// shorter, and when its elements are no multiple of chunks_per_loop it is padded with zeros in a
/// working copy. The others, whose chunks have a meaning by position: chunk c is elements
/// [c*stride, (c+1)*stride) and a slice is a piece of every chunk.
struct slicing {
  std::uint64_t slices{};         ///< 0 for an empty vector
  std::uint64_t chunk{};          ///< elements of a chunk in every slice but the last
  std::uint64_t last_chunk{};     ///< elements of a chunk in the last slice
  std::uint64_t last_elements{};  ///< all_reduce: valid elements of the last slice
  std::uint64_t stride{};         ///< 0: chunks of a slice are contiguous
  [[nodiscard]] bool last_padded(std::uint64_t chunks_per_loop) const {
    return stride == 0 && last_chunk * chunks_per_loop != last_elements;
  }
};
/// The slots of a slot ring.
struct ring_slots {
  std::uint32_t number{};
  std::uint64_t bytes{};  ///< bytes of one chunk
};
/// The slot rings with which every step of `p` fits its FIFO: `configured`, or as many more and smaller
/// slots, in at most the same bytes, as the chunks of the largest step need: in a vector of several slices
/// each takes a slot of its own. Throws user_error where a slot would have less than 64 bytes. `count`,
/// `fifo_messages`: as of slice().
[[nodiscard]] ring_slots fitting_slots(const program& p, std::uint64_t count, std::uint64_t element_bytes,
                                       ring_slots configured, std::uint32_t fifo_messages);

/// Chooses slices such that every message fits the slots of its FIFO as often as the program needs
/// messages in flight (`fifo_messages`): then the FIFOs behave as the checker's.
/// `count`: elements of the whole vector (--bytes).
[[nodiscard]] slicing slice(const program& p, std::uint64_t count, std::uint64_t element_bytes,
                            ring_slots slots, std::uint32_t fifo_messages);

struct image_step {
  step_type type{step_type::nop};
  program_buffer source{}, destination{};  ///< storage, in-place rules applied
  std::uint32_t source_chunk{}, destination_chunk{};
  std::uint32_t count{};
  std::int32_t depends_block{-1};  ///< index of the block, not its id
  std::uint32_t depends_step{};
};
struct image_block {
  direction send_dir{no_direction}, recv_dir{no_direction};
  std::vector<image_step> steps;
};
/// The part of the program that one PE needs.
struct program_image {
  comm::collective collective{};
  bool in_place{};
  std::uint32_t chunks_per_loop{};
  buffer_extent input, output;
  std::uint32_t scratch_chunks{};
  std::vector<image_block> blocks;
};
[[nodiscard]] program_image image_of(const program& p, const program_wiring& w, std::uint32_t rank);
/// 64-bit words as they lie in TCM (layout in program_image.cpp).
[[nodiscard]] std::vector<std::uint64_t> encode(const program_image& image);
/// Inverse of encode; throws protocol_error when the words are no program image.
[[nodiscard]] program_image decode_program_image(std::span<const std::uint64_t> words);

}  // namespace diecast::comm
