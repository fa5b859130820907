// SPDX-License-Identifier: Apache-2.0
// All-to-all in as many steps as there are ranks; in each step a rank sends to one other rank and receives
// from one (comm::grid_steps), chosen so that the flows of a step share as few links of the mesh as possible.
//
//   for every part of the blocks that fits the slots of a queue pair:
//     for every step:  send to its target; take what arrived a few steps ago
//
// Where comm::moves_out_of_hbm holds, tensors stay in HBM: the DMA reads slots for their messages there, and
// writes received slots to their place.
//
// Receiving some steps late hides the latency. Ranks that are alone on their cubes begin long steps by the
// clock (comm::step_schedule): all start a launch at one time, so that flows rarely wait for those of another
// step. Without a schedule, and with blocks of less than a slot, the receives keep ranks synchronous.
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "sw/collectives/base/blocks.hpp"
#include "sw/collectives/base/builtin.hpp"
#include "sw/collectives/base/chunked.hpp"
#include "sw/collectives/base/peer_patterns.hpp"
#include "sw/collectives/exchange/step_schedule.hpp"

namespace diecast::sw {
namespace all_to_all_steps_kernel {

/// Words of a rank's image before its partners; all 0 without a schedule.
enum image_word : std::size_t { packet_bytes, packet_fs, wait_fs, idle_fs, partners_at };

class stepwise_exchange {
 public:
  explicit stepwise_exchange(pe_context& pe)
      : pe_(pe),
        n_(pe.args().ranks),
        rank_(pe.args().rank),
        input_(pe, 0),
        from_(pe.args(), pe.args().input),
        to_(pe.args(), pe.args().output),
        own_bytes_(input_.block(rank_).bytes) {
    std::vector<std::uint64_t> words(partners_at + n_);
    pe.hal().load(pe.args().scratch, std::as_writable_bytes(std::span(words)));
    std::copy_n(words.begin(), partners_at, times_.begin());
    for (std::size_t i = partners_at; i < words.size(); ++i)
      partners_.push_back({static_cast<std::uint32_t>(words[i]), static_cast<std::uint32_t>(words[i] >> 32)});
  }

  void run() {
    // A part fits the slots of its queue pair, so a send waits only for messages that its receiver took a
    // round of steps ago: no cycle of waits, for any number of slots.
    const std::uint32_t rounds = n_ * parts();
    if (is_timed()) return by_the_clock(rounds);
    const std::uint32_t ahead = std::min(comm::most_steps_ahead, n_ - 1);
    pe_context::left_copies left(pe_);
    for (std::uint32_t i = 0; i < rounds + ahead; ++i) {
      pe_context::pipeline pipeline;
      pipeline.overlaps = to_.in_hbm();  // no task waits for each store
      if (i < rounds) send(i, pipeline, left);
      if (i >= ahead) take(i - ahead, pipeline);
      if (to_.in_hbm()) {
        pe_.stream({pipeline}, "all_to_all", left);
      } else {
        pe_.stream({pipeline}, "all_to_all");
      }
    }
    left.finish();
  }

 private:
  /// The DMA copies received slots: the core has no time for that.
  void by_the_clock(std::uint32_t rounds) {
    const std::uint32_t ahead = steps_in_flight();
    pe_context::left_copies left(pe_);
    sim_time begins = pe_.hal().now();
    for (std::uint32_t i = 0; i < rounds + ahead; ++i) {
      if (i < rounds) {
        send_at(begins, i, left);
        begins += time_of(i);
      }
      if (i >= ahead) {
        pe_context::pipeline pipeline;
        take(i - ahead, pipeline);
        pipeline.overlaps = true;
        pe_.stream({pipeline}, "all_to_all", left);
      }
      // No step waits for sends of two steps ago; checked now, they take no time at the end.
      if (i >= 2 && i < rounds && target(i - 2) != rank_) pe_.look_at_sources(towards(target(i - 2)));
    }
    left.finish();
  }
  void send_at(sim_time when, std::uint32_t round, pe_context::left_copies& left) {
    pe_context::pipeline pipeline;
    if (target(round) != rank_) (void)pe_.n_slots(towards(target(round)));  // the first use reads registers
    pe_.sleep_until(when);
    send(round, pipeline, left);
    pe_.stream({pipeline}, "all_to_all", left);
  }

  [[nodiscard]] bool is_timed() {
    if (n_ < 2 || times_[packet_fs] == 0) return false;
    return longest_block() >= pe_.slot_bytes(first_direction());
  }
  /// Time of the longest part that a round sends.
  [[nodiscard]] sim_time time_of(std::uint32_t round) const {
    const std::uint64_t bytes = part({0, longest_block()}, round).bytes;
    const std::uint64_t packets = (bytes + times_[packet_bytes] - 1) / times_[packet_bytes];
    return {packets * times_[packet_fs] + times_[wait_fs]};
  }
  /// Steps after which a message has arrived completely.
  [[nodiscard]] std::uint32_t steps_in_flight() const {
    const std::uint64_t step = time_of(0).fs;
    const std::uint64_t steps = 2 + (times_[idle_fs] + step - 1) / step;
    return static_cast<std::uint32_t>(
        std::min<std::uint64_t>({steps, comm::most_steps_ahead, n_ - std::uint64_t{1}}));
  }

  [[nodiscard]] std::uint32_t parts() {
    if (n_ < 2) {
      part_bytes_ = std::max<std::uint64_t>(1, own_bytes_);
      return 1;
    }
    // Even parts in whole slots: a last part of one packet would make steps that mostly wait.
    const std::uint64_t slot = slot_bytes();
    const std::uint64_t slots = std::max<std::uint64_t>(1, (longest_block() + slot - 1) / slot);
    const std::uint64_t places = pe_.n_slots(first_direction());
    const std::uint64_t parts = (slots + places - 1) / places;
    part_bytes_ = (slots + parts - 1) / parts * slot;
    return static_cast<std::uint32_t>(parts);
  }
  [[nodiscard]] std::uint64_t longest_block() const {
    return (pe_.args().count + n_ - 1) / n_ * numeric::size_of(pe_.args().type);
  }
  /// The part of a block that is sent in a round.
  [[nodiscard]] tcm_range part(const tcm_range& block, std::uint32_t round) const {
    const std::uint64_t begin = std::min(block.bytes, round / n_ * part_bytes_);
    return {block.at + begin, std::min(block.bytes - begin, part_bytes_)};
  }
  /// Range of the output that comes from a rank.
  [[nodiscard]] tcm_range from(std::uint32_t rank) const { return {rank * own_bytes_, own_bytes_}; }

  [[nodiscard]] std::uint32_t target(std::uint32_t round) const { return partners_[round % n_].to; }
  /// The queue pair used first; its registers are read before the first step.
  [[nodiscard]] comm::direction first_direction() const {
    return towards(target(0) != rank_ ? target(0) : target(1));
  }
  [[nodiscard]] comm::direction towards(std::uint32_t rank) const {
    return comm::ahead(around(rank, -std::int64_t{rank_}, n_));
  }

  void send(std::uint32_t round, pe_context::pipeline& pipeline, pe_context::left_copies& left) {
    const std::uint32_t to = target(round);
    const tcm_range sent = part(input_.block(to), round);
    if (to == rank_) return keep(part(from(rank_), round), sent, left);
    pipeline.send = {towards(to)};
    for_stretches(sent, [&](const tcm_range& r) { pipeline.sent.push_back({from_.at(r.at), r.bytes}); });
  }
  /// The own block.
  void keep(const tcm_range& to, const tcm_range& own, pe_context::left_copies& left) {
    if (own.bytes == 0) return;
    if (!to_.in_hbm()) return pe_.copy(to_.at(to.at), from_.at(own.at), own.bytes);
    for_stretches(
        own, [&](const tcm_range& r) { left.copy(to_.at(to.at + r.at - own.at), from_.at(r.at), r.bytes); });
  }
  void take(std::uint32_t round, pe_context::pipeline& pipeline) const {
    const std::uint32_t sender = partners_[round % n_].from;
    if (sender == rank_) return;
    pipeline.recv = {towards(sender)};
    for_stretches(part(from(sender), round), [&](const tcm_range& r) {
      pipeline.received.push_back({to_.at(r.at), r.bytes, pe_context::arrival::copy});
    });
  }
  /// A part in pieces that are contiguous in every rank's memory, in the order of sending: in TCM the whole
  /// part, in HBM slots, alternating over stripes, so that messages read, and copies write, another port each
  /// time.
  template <class Use>
  void for_stretches(const tcm_range& r, const Use& use) const {
    if (!from_.in_hbm()) return use(r);
    const std::uint64_t slot = slot_bytes();
    const std::uint64_t stripe = std::max(slot, from_.stripe_bytes());
    for (std::uint64_t first = 0; first < std::min(stripe, r.bytes); first += slot) {
      for (std::uint64_t at = first; at < r.bytes; at += stripe)
        use({r.at + at, std::min(slot, r.bytes - at)});
    }
  }
  /// Bytes of a slot in whole elements.
  [[nodiscard]] std::uint64_t slot_bytes() const {
    return pe_.message_elements(first_direction()) * numeric::size_of(pe_.args().type);
  }

  pe_context& pe_;
  std::uint32_t n_, rank_;
  block_vector input_;  ///< offsets
  tensor_place from_, to_;
  std::uint64_t own_bytes_;      ///< bytes of every block of the output
  std::uint64_t part_bytes_{1};  ///< bytes of a block in a round
  std::array<std::uint64_t, partners_at> times_{};
  std::vector<comm::step_partners> partners_;
};

void run(pe_context& pe) { stepwise_exchange(pe).run(); }

comm::step_load load_of(const argument_context& c) {
  if (c.config.ccl.tensors == config::tensor_kind::tcm || c.in_workload) return comm::step_load::blocks;
  return c.is_chunk ? comm::step_load::chunks : comm::step_load::tensors;
}

const comm::step_schedule& schedule_of(const argument_context& c) {
  const comm::step_load load = load_of(c);
  return c.memo.get<comm::step_schedule>(
      [&c, load] { return comm::step_schedule(pattern_context_of(c), load); },
      static_cast<std::uint32_t>(load));
}

std::uint64_t image_bytes(const argument_context& c) {
  (void)grid_of(c);  // refuses ranks that fill no rectangle before anything runs
  return partners_at * sizeof(std::uint64_t) + c.members.members.size() * sizeof(comm::step_partners);
}

std::vector<std::uint64_t> image(const argument_context& c, std::uint32_t rank) {
  const comm::step_schedule& t = schedule_of(c);
  std::vector<std::uint64_t> words(partners_at);
  if (t.times)
    words = {c.config.noc.max_packet_bytes, t.times->packet.fs, t.times->wait.fs, t.times->idle.fs};
  for (const comm::step_partners& s : t.steps.of(rank)) words.push_back(s.to | std::uint64_t{s.from} << 32);
  return words;
}

}  // namespace all_to_all_steps_kernel

kernel_table all_to_all_steps_kernels() {
  using namespace all_to_all_steps_kernel;
  kernel_table all{{"mesh_steps", "all_to_all",
                    "one partner per step, chosen so that flows share few links of the mesh", "pairwise",
                    any_ranks, run, image_bytes, nullptr, image}};
  all[0].moves_slots = true;
  return all;
}

}  // namespace diecast::sw
