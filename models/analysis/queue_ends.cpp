// SPDX-License-Identifier: Apache-2.0
#include "models/analysis/queue_ends.hpp"

namespace diecast::analysis {
namespace {

std::optional<queue_end> look_up(const std::map<queue_end, queue_end>& in, queue_end what) {
  const auto at = in.find(what);
  if (at == in.end()) return std::nullopt;
  return at->second;
}

}  // namespace

queue_ends::queue_ends(const comm::install_plan& plan) {
  std::map<abi::address, queue_end> by_ring;
  for (const auto& q : plan.queue_pairs) {
    pairs_[q.owner].push_back({q.owner, q.dir});
    if (q.rx) by_ring.emplace(q.rx_base, queue_end{q.owner, q.dir});
  }
  for (const auto& q : plan.queue_pairs) {
    if (!q.tx) continue;
    const auto ring = by_ring.find(q.peer_rx_base);
    if (ring == by_ring.end()) continue;
    receivers_.emplace(queue_end{q.owner, q.dir}, ring->second);
    senders_.emplace(ring->second, queue_end{q.owner, q.dir});
  }
}

std::span<const queue_end> queue_ends::of(pe_coord pe) const {
  const auto at = pairs_.find(pe);
  return at == pairs_.end() ? std::span<const queue_end>{} : std::span{at->second};
}

std::optional<queue_end> queue_ends::receiver_of(queue_end sender) const {
  return look_up(receivers_, sender);
}

std::optional<queue_end> queue_ends::sender_to(queue_end receiver) const {
  return look_up(senders_, receiver);
}

}  // namespace diecast::analysis
