// SPDX-License-Identifier: Apache-2.0
// Host side of a program run: queue pairs, slices, where everything lies in scratch.
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <utility>

#include "models/abi/address.hpp"
#include "models/comm/hbm_tensor.hpp"
#include "models/types/error.hpp"
#include "sw/collectives/base/builtin.hpp"
#include "sw/collectives/msccl/msccl_interpreter.hpp"

namespace diecast::sw {
namespace {

using comm::collective;

using abi::aligned;

/// Layout of scratch, the same on every rank. Offsets in bytes.
struct scratch_layout {
  std::uint64_t staging{}, staging_bytes{};
  std::uint64_t scratch{};
  std::uint64_t padded_input{}, padded_output{}, whole_output{};
  std::uint64_t total{};
};

/// Largest step that receives, reduces and sends without storing, and the most blocks with one.
struct staging_need {
  std::int64_t chunks{};
  std::uint64_t blocks{};
};

staging_need staging_of(const comm::program& p) {
  staging_need need;
  for (const comm::program_rank& r : p.gpus) {
    std::uint64_t blocks = 0;
    for (const comm::thread_block& b : r.blocks) {
      bool staged = false;
      for (const comm::program_step& s : b.steps) {
        if (s.type != comm::step_type::receive_reduce_send) continue;
        staged = true;
        need.chunks = std::max(need.chunks, s.count);
      }
      blocks += staged ? 1 : 0;
    }
    need.blocks = std::max(need.blocks, blocks);
  }
  return need;
}

/// How a launch of the program is cut, and where everything lies in its scratch.
struct run_layout {
  comm::slicing slices;
  scratch_layout scratch;
};

/// Layouts of a program's launches: one for the whole vector, or one per size of chunk of tensors in HBM.
class run_layouts {
 public:
  run_layouts(comm::program p, comm::ring_slots ring, std::uint32_t fifo_messages, std::uint64_t image_bytes)
      : p_(std::move(p)),
        ring_(ring),
        fifo_messages_(fifo_messages),
        image_bytes_(image_bytes),
        staging_(staging_of(p_)) {}

  const run_layout& of(const argument_context& c) {
    const auto [entry, fresh] = known_.try_emplace({c.count, c.in_place});
    if (fresh) {
      const std::uint64_t element = numeric::size_of(c.type);
      const comm::slicing slices = comm::slice(p_, c.count, element, ring_, fifo_messages_);
      entry->second = {slices, lay_out(slices, c, element)};
    }
    return entry->second;
  }

 private:
  [[nodiscard]] scratch_layout lay_out(const comm::slicing& s, const argument_context& c,
                                       std::uint64_t element) const {
    const auto chunks = static_cast<std::uint64_t>(p_.chunks_per_loop);
    scratch_layout l;
    std::uint64_t at = aligned(image_bytes_);
    const auto take = [&](std::uint64_t bytes) { return std::exchange(at, at + aligned(bytes)); };

    const std::uint64_t largest =
        static_cast<std::uint64_t>(staging_.chunks) * std::max(s.chunk, s.last_chunk);
    l.staging_bytes = aligned(std::min(c.config.ipcq.slot_bytes, largest * element));
    l.staging = take(staging_.blocks * l.staging_bytes);

    std::int64_t scratch_chunks = 0;
    for (const comm::program_rank& r : p_.gpus) scratch_chunks = std::max(scratch_chunks, r.scratch_chunks);
    const std::uint64_t per_chunk = s.stride != 0 ? s.stride : s.slices * s.chunk;
    l.scratch = take(static_cast<std::uint64_t>(scratch_chunks) * per_chunk * element);

    const std::uint64_t padded = s.last_padded(chunks) ? chunks * s.last_chunk * element : 0;
    l.padded_input = take(p_.in_place ? 0 : padded);
    l.padded_output = take(padded);
    if (!p_.in_place && c.in_place && !comm::never_in_place(p_.collective))
      l.whole_output = take(c.count * element);
    l.total = at;
    return l;
  }

  comm::program p_;
  comm::ring_slots ring_;
  std::uint32_t fifo_messages_;
  std::uint64_t image_bytes_;
  staging_need staging_;
  std::map<std::pair<std::uint64_t, bool>, run_layout> known_;  ///< by count, in place
};

std::uint32_t n_slots_of(const argument_context& c) {
  return static_cast<std::uint32_t>(c.config.ipcq.n_slots);
}

void check_launch(const comm::program& p, const argument_context& c, std::uint32_t queue_pairs) {
  std::vector<problem> problems;
  if (std::cmp_not_equal(c.members.members.size(), p.ranks))
    problems.push_back({p.source, "the program needs as many ranks as it has gpus",
                        fmt::format("{} ranks", c.members.members.size()), fmt::format("{} ranks", p.ranks)});
  if (queue_pairs > c.config.ipcq.queue_pairs)
    problems.push_back({p.source, "the program needs more queue pairs per PE than ipcq.queue_pairs",
                        std::to_string(c.config.ipcq.queue_pairs), fmt::format("at least {}", queue_pairs)});
  const auto chunks = static_cast<std::uint64_t>(p.chunks_per_loop);
  if (p.collective != collective::all_reduce && c.count % chunks != 0)
    problems.push_back(
        {p.source,
         fmt::format("{} cannot cut the vector into {} equal chunks", comm::to_string(p.collective), chunks),
         fmt::format("{} elements", c.count), fmt::format("a multiple of {}", chunks)});
  if (!problems.empty()) throw user_error(std::move(problems));
}

std::vector<std::string> notes_of(const comm::program& p, const argument_context& c, const comm::slicing& s,
                                  std::optional<std::uint32_t> fifo_messages) {
  std::vector<std::string> notes;
  const std::uint64_t bytes = c.count * numeric::size_of(c.type);
  if ((p.min_bytes && bytes < *p.min_bytes) || (p.max_bytes && *p.max_bytes > 0 && bytes > *p.max_bytes))
    notes.push_back(fmt::format("{} bytes are outside the sizes that the program is for, {} to {}", bytes,
                                p.min_bytes.value_or(0), p.max_bytes ? std::to_string(*p.max_bytes) : "-"));
  // A message then has one slot, and firmware needs less than a program may assume.
  if (!fifo_messages && comm::check_program(p, {n_slots_of(c), 0, false, true}).deadlock)
    notes.push_back(
        fmt::format("the program cannot end with {} messages per FIFO (ipcq.n_slots): a deadlock is expected",
                    c.config.ipcq.n_slots));
  // Firmware runs the program on chunks of tensors in HBM; the notes below do not hold for those.
  if (c.config.ccl.tensors == config::tensor_kind::hbm) return notes;
  if (s.slices > 1)
    notes.push_back(fmt::format("the program runs {} times, {} elements per chunk", s.slices, s.chunk));
  if (s.slices > 0 && s.last_padded(static_cast<std::uint64_t>(p.chunks_per_loop)))
    notes.push_back(fmt::format("the last slice of {} elements is padded to {} chunks of {}", s.last_elements,
                                p.chunks_per_loop, s.last_chunk));
  return notes;
}

std::function<void(const argument_context&, std::uint32_t, abi::kernel_arguments&)> parameters_filler(
    const msccl_run& run, const std::shared_ptr<run_layouts>& layouts) {
  std::vector<std::size_t> words;
  for (const auto& image : run.images) words.push_back(image.size());
  return [words, layouts](const argument_context& c, std::uint32_t rank, abi::kernel_arguments& a) {
    const auto& [s, l] = layouts->of(c);
    a.own.set(msccl_parameters{words.at(rank), s.slices, s.chunk, s.last_chunk, s.last_elements, s.stride,
                               l.staging, l.staging_bytes, l.scratch, l.padded_input, l.padded_output,
                               l.whole_output});
  };
}

}  // namespace

msccl_run make_msccl_run(const comm::program& p, const argument_context& c) {
  msccl_run run;
  run.wiring = comm::wire(p);
  run.queue_pairs_needed = run.wiring.queue_pairs_needed();
  check_launch(p, c, run.queue_pairs_needed);
  run.edges = comm::edges_of(run.wiring, c.members);

  std::uint64_t image_bytes = 0;
  for (std::uint32_t rank = 0; std::cmp_less(rank, p.ranks); ++rank) {
    run.images.push_back(comm::encode(comm::image_of(p, run.wiring, rank)));
    image_bytes = std::max<std::uint64_t>(image_bytes, run.images.back().size() * sizeof(std::uint64_t));
  }

  const std::uint32_t n_slots = n_slots_of(c);
  const auto fifo_messages = comm::fifo_messages_needed(p, n_slots);
  const std::uint64_t element = numeric::size_of(c.type);
  const comm::ring_slots configured{n_slots, c.config.ipcq.slot_bytes};
  const std::uint32_t held = fifo_messages.value_or(n_slots);
  run.ring = comm::fitting_slots(p, c.count, element, configured, held);
  const auto layouts = std::make_shared<run_layouts>(p, run.ring, held, image_bytes);
  run.notes = notes_of(p, c, layouts->of(c).slices, fifo_messages);
  if (run.ring.number != n_slots)
    run.notes.push_back(fmt::format("the program's largest step needs {} slots: slot rings have {} of {} B",
                                    run.ring.number, run.ring.number, run.ring.bytes));

  run.kernel.name = "msccl";
  run.kernel.collective = comm::to_string(p.collective);
  run.kernel.description = fmt::format("MSCCL program {}", p.name);
  run.kernel.pattern = "custom";
  run.kernel.rank_sets = any_ranks;
  run.kernel.run = msccl_interpreter;
  run.kernel.element_sums = true;
  // In a collective by position each rank's block has equal chunks; the vector of a sum is padded.
  const std::int64_t parts = p.collective == collective::all_reduce ? 1 : p.ranks;
  run.kernel.grain = static_cast<std::uint64_t>(p.chunks_per_loop / parts);
  run.kernel.scratch_bytes = [layouts](const argument_context& l) { return layouts->of(l).scratch.total; };
  run.kernel.fill = parameters_filler(run, layouts);
  run.kernel.image = [images = run.images](const argument_context&, std::uint32_t rank) {
    return images.at(rank);
  };
  return run;
}

}  // namespace diecast::sw
