// SPDX-License-Identifier: Apache-2.0
// Prefetches the records that coming evaluations will read.
//
// Between two packets over a link the rest of the network is evaluated. Where its records exceed a core's own
// caches, each of the dozen records of a packet-hop comes from a slower memory, and most of their indices are
// in another record: one miss after the other. But the outputs that are due in a cycle are known at its
// start. So these chains are followed ahead of the evaluations, one link per `stride` evaluations, for many
// outputs at a time. For small networks this would only cost time (ADR 74).
#include <bit>
#include <cstddef>
#include <cstdint>

#include "hw/noc/switch_steps.hpp"

namespace diecast::hw {
namespace {

template <class Record>
void fetch(const Record& r) {
  constexpr int to_write = 1;
  __builtin_prefetch(&r, to_write);
  asm volatile("");  // GCC takes functions that only prefetch for pure and drops calls of them
}

/// Evaluations between two links of a chain: they take longer than a cache miss.
constexpr std::size_t stride = 4;
constexpr std::size_t links = 4;

}  // namespace

void switch_core::begin_fetching() {
  due_.clear();
  wheel_.visit(cycle_, [this](std::uint32_t o) { due_.push_back(o); });
  fetches_ = 0;
  for (std::size_t n = 0; n < links * stride; ++n) fetch_ahead();
}

void switch_core::fetch_ahead() {
  const std::size_t n = fetches_++;
  const auto is_due = [this](std::size_t k) { return k < due_.size(); };  // wraps before the first
  if (is_due(n)) {
    fetch(outs_[due_[n]]);
    fetch(outs_[due_[n]].used);  // its second line
  }
  if (is_due(n - stride)) {
    visit_requesters(due_[n - stride], [this](std::uint32_t iv) { fetch(in_vcs_[iv]); });
  }
  if (is_due(n - 2 * stride)) fetch_transfer(outs_[due_[n - 2 * stride]]);
  if (is_due(n - 3 * stride)) fetch_neighbors(outs_[due_[n - 3 * stride]]);
}

/// Most of the time it is the only one.
inline const switch_core::in_vc* switch_core::first_requester(const out_port& out) const {
  if (out.asking == 0) return nullptr;
  return &in_vcs_[out.first_in_vc + static_cast<std::uint32_t>(std::countr_zero(out.asking))];
}

/// Packet and input, the VCs behind the output, and the buffer of the one the packet gets if all are free.
inline void switch_core::fetch_transfer(const out_port& out) const {
  const in_vc* const queue = first_requester(out);
  if (queue == nullptr) return;
  fetch(slots_[queue->first]);
  fetch(ins_[queue->port]);
  const std::uint32_t first = vc_index(queue->to.output, queue->to.first_vc);
  fetch(out_vcs_[first]);
  fetch(out_vcs_[first + queue->to.vcs - 1]);
  if (out.downstream == none) return;
  const std::uint32_t turn = queue->priority_from - first;  // wraps when it points elsewhere
  const std::uint32_t next = queue->to.first_vc + (turn < queue->to.vcs ? turn : 0);
  fetch(in_vcs_[vc_index(out.downstream, queue->allocated ? queue->allocated_vc : next)]);
}

/// Who gets the credits back, and the output the packet asks for next.
inline void switch_core::fetch_neighbors(const out_port& out) const {
  const in_vc* const queue = first_requester(out);
  if (queue == nullptr) return;
  const std::uint32_t upstream = ins_[queue->port].upstream;
  if (upstream != none) {
    fetch(outs_[upstream]);
    fetch(out_vcs_[vc_index(upstream, queue->vc)]);
  }
  const slot& front = slots_[queue->first];
  if (out.downstream == none) return fetch(*front.p);
  const auto vc = static_cast<std::uint8_t>(queue->to.first_vc);
  fetch(outs_[environment_.route(ins_[out.downstream].router, front.exit, vc).output]);
}

}  // namespace diecast::hw
