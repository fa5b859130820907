// SPDX-License-Identifier: Apache-2.0
// All-to-all in as many steps as there are ranks; in each, everybody sends to one other rank and hears from
// one (comm::grid_steps), chosen so that the flows of a step share as few links of the mesh as can be.
//
//   for every part of the blocks that fits the slots of a queue pair:
//     for every step:  send to its target; take what came a few steps ago
//
// What is taken late covers the way; it also keeps everybody in step.
#include <algorithm>

#include "models/comm/line_steps.hpp"
#include "models/comm/peer_patterns.hpp"
#include "sw/kernels/blocks.hpp"
#include "sw/kernels/builtin.hpp"

namespace diecast::sw {
namespace {

class stepwise_exchange {
 public:
  explicit stepwise_exchange(pe_context& pe)
      : pe_(pe),
        n_(pe.args().ranks),
        rank_(pe.args().rank),
        input_(pe, pe.args().input),
        own_bytes_(input_.block(rank_).bytes),
        partners_(n_) {
    pe.hal().load(pe.args().scratch, std::as_writable_bytes(std::span(partners_)));
  }

  void run() {
    // A part is never longer than the slots it goes to, so a send waits for nothing but what its receiver
    // took a round of steps ago: no cycle of waits, whatever the number of slots.
    const std::uint32_t rounds = n_ * parts();
    const std::uint32_t ahead = std::min(comm::most_steps_ahead, n_ - 1);
    for (std::uint32_t i = 0; i < rounds + ahead; ++i) {
      pe_context::lane lane;
      if (i < rounds) send(i, lane);
      if (i >= ahead) take(i - ahead, lane);
      pe_.stream({lane}, "all_to_all");
    }
  }

 private:
  [[nodiscard]] std::uint32_t parts() {
    if (n_ < 2) {
      part_bytes_ = std::max<std::uint64_t>(1, own_bytes_);
      return 1;
    }
    const comm::direction any = comm::ahead(1);
    part_bytes_ = pe_.message_elements(any) * pe_.n_slots(any) * numeric::size_of(pe_.args().type);
    const std::uint64_t longest = (pe_.args().count + n_ - 1) / n_ * numeric::size_of(pe_.args().type);
    return static_cast<std::uint32_t>(std::max<std::uint64_t>(1, (longest + part_bytes_ - 1) / part_bytes_));
  }
  /// The part of a block that goes in a round.
  [[nodiscard]] tcm_range part(const tcm_range& block, std::uint32_t round) const {
    const std::uint64_t begin = std::min(block.bytes, round / n_ * part_bytes_);
    return {block.at + begin, std::min(block.bytes - begin, part_bytes_)};
  }
  [[nodiscard]] tcm_range from(std::uint32_t rank) const {
    return {pe_.args().output + rank * own_bytes_, own_bytes_};
  }

  void send(std::uint32_t round, pe_context::lane& lane) {
    const std::uint32_t to = partners_[round % n_].to;
    const tcm_range sent = part(input_.block(to), round);
    if (to == rank_) {
      if (sent.bytes > 0) pe_.copy(part(from(rank_), round).at, sent.at, sent.bytes);
      return;
    }
    lane.send = {comm::ahead(around(to, -std::int64_t{rank_}, n_))};
    lane.sent.push_back({sent.at, sent.bytes});
  }
  void take(std::uint32_t round, pe_context::lane& lane) const {
    const std::uint32_t sender = partners_[round % n_].from;
    if (sender == rank_) return;
    const tcm_range received = part(from(sender), round);
    lane.recv = {comm::ahead(around(sender, -std::int64_t{rank_}, n_))};
    lane.received.push_back({received.at, received.bytes, pe_context::arrival::copy});
  }

  pe_context& pe_;
  std::uint32_t n_, rank_;
  block_vector input_;
  std::uint64_t own_bytes_;      ///< of every block of the output
  std::uint64_t part_bytes_{1};  ///< of a block, in a round
  std::vector<comm::step_partners> partners_;
};

void run(pe_context& pe) { stepwise_exchange(pe).run(); }

std::uint64_t image_bytes(const argument_context& c) {
  (void)grid_of(c);  // refuses ranks that fill no rectangle before anything runs
  return c.members.members.size() * sizeof(comm::step_partners);
}

std::vector<std::uint64_t> image(const argument_context& c, std::uint32_t rank) {
  std::vector<std::uint64_t> words;
  for (const comm::step_partners& s : comm::grid_steps(grid_of(c), rank)) {
    words.push_back(s.to | std::uint64_t{s.from} << 32);
  }
  return words;
}

}  // namespace

kernel_entry all_to_all_steps_entry() {
  return {"mesh_steps",
          "all_to_all",
          "one partner per step, chosen so that flows share few links of the mesh",
          "pairwise",
          {comm::rank_set::pe, comm::rank_set::cube, comm::rank_set::sip},
          run,
          image_bytes,
          nullptr,
          image};
}

}  // namespace diecast::sw
