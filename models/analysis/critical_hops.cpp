// SPDX-License-Identifier: Apache-2.0
#include "models/analysis/critical_hops.hpp"

#include <algorithm>
#include <tuple>

namespace diecast::analysis {
namespace {

hop_depth larger(hop_depth a, hop_depth b) { return {std::max(a.cube, b.cube), std::max(a.sip, b.sip)}; }

bool is_mesh(comm::direction d) { return d <= comm::west; }

template <class Item>
const Item* search(const std::vector<Item>& sorted, pe_coord pe, comm::direction dir, pe_coord Item::*owner) {
  const auto at = std::lower_bound(sorted.begin(), sorted.end(), std::tuple{pe, dir},
                                   [&](const Item& i, const auto& key) {
                                     return std::tuple{i.*owner, i.dir} < key;
                                   });
  return at != sorted.end() && (*at).*owner == pe && at->dir == dir ? &*at : nullptr;
}

}  // namespace

critical_hops::critical_hops(const comm::install_plan& plan) {
  std::map<abi::address, std::uint32_t> by_ring;
  std::map<comm::carrier, std::vector<std::uint32_t>> of_tree;
  for (const auto& q : plan.queue_pairs) {  // ordered by owner and direction, so both tables are too
    if (!q.rx) continue;
    const auto index = static_cast<std::uint32_t>(receivers_.size());
    by_ring.emplace(q.rx_base, index);
    of_tree[q.through].push_back(index);
    receivers_.push_back({q.owner, q.dir});
  }
  for (const auto& q : plan.queue_pairs) {
    if (!q.tx) continue;
    const bool paired = q.through == comm::carrier::queue_pairs;
    for (const std::uint32_t to : paired ? std::vector{by_ring.at(q.peer_rx_base)} : of_tree[q.through]) {
      const pe_coord there = receivers_[to].pe;
      const bool other_sip = q.owner.sip != there.sip;
      const bool other_cube = other_sip || q.owner.cube != there.cube;
      paths_.push_back({q.owner, q.dir, to, paired && is_mesh(q.dir) && other_cube, other_sip});
    }
  }
}

const critical_hops::receiver* critical_hops::receiver_at(pe_coord pe, comm::direction dir) const {
  return search(receivers_, pe, dir, &receiver::pe);
}

void critical_hops::on(const events::message_event& e) {
  if (e.phase == events::message_phase::sent) {
    const std::tuple here{e.pe, e.qp};
    auto p = std::lower_bound(paths_.begin(), paths_.end(), here, [](const path& each, const auto& key) {
      return std::tuple{each.from, each.dir} < key;
    });
    if (p == paths_.end() || std::tuple{p->from, p->dir} != here) {
      ++unmatched_;
      return;
    }
    for (; p != paths_.end() && std::tuple{p->from, p->dir} == here; ++p) {
      hop_depth depth = of(e.pe);
      depth.cube += p->between_cubes ? 1 : 0;
      depth.sip += p->between_sips ? 1 : 0;
      const sip_id to = receivers_[p->receiver].pe.sip;
      const carried c{to, p->receiver, e.sequence, launch_, depth};
      if (here_ && !here_(to)) {
        leaving_.push_back(c);
      } else {
        arrive(c);
      }
    }
  } else if (e.phase == events::message_phase::visible) {
    const receiver* r = receiver_at(e.pe, e.qp);
    const auto index = r == nullptr ? 0 : static_cast<std::uint32_t>(r - receivers_.data());
    const auto message = in_flight_.find({index, e.sequence});
    if (r == nullptr || message == in_flight_.end()) {
      ++unmatched_;
      return;
    }
    hop_depth& depth = depths_[e.pe];
    depth = larger(depth, message->second);
    longest_ = larger(longest_, depth);
    in_flight_.erase(message);
  }
}

/// What routers combine is as deep as the deepest contribution.
void critical_hops::arrive(const carried& c) {
  if (c.launch > launch_) early_.push_back(c);
  if (c.launch != launch_) return;
  hop_depth& arriving = in_flight_[{c.receiver, c.sequence}];
  arriving = larger(arriving, c.depth);
}

void critical_hops::merge(hop_depth longest, std::uint64_t unmatched) {
  longest_ = larger(longest_, longest);
  unmatched_ += unmatched;
}

hop_depth critical_hops::of(pe_coord pe) const {
  const auto at = depths_.find(pe);
  return at == depths_.end() ? hop_depth{} : at->second;
}

void critical_hops::reset() {
  depths_.clear();
  in_flight_.clear();
  longest_ = {};
  unmatched_ = 0;
  ++launch_;
  for (const carried& c : std::exchange(early_, {})) arrive(c);
}

}  // namespace diecast::analysis
