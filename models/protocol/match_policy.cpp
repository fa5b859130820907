// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "models/protocol/ipcq_core.hpp"

namespace diecast::protocol {
namespace {

/// Queue pairs by the address that a search is for, sorted.
template <class Key>
using qp_table = std::vector<std::pair<Key, std::uint16_t>>;

template <class Key>
std::optional<std::uint16_t> first_of(const qp_table<Key>& t, const Key& key) {
  const auto at = std::ranges::lower_bound(t, std::pair{key, std::uint16_t{}});
  return at == t.end() || at->first != key ? std::nullopt : std::optional(at->second);
}

/// The correct policy: a token belongs to the slot ring that holds its slot, a credit to the queue pair that
/// writes to the ring named in it. With two sorted tables 512 queue pairs cost nine comparisons.
class address_match : public match_policy {
 public:
  void rebuild(const std::vector<queue_pair_state>& qps) override {
    rings_.clear();
    targets_.clear();
    for (std::size_t i = 0; i < qps.size(); ++i) {
      const auto qp = static_cast<std::uint16_t>(i);
      const queue_pair_state& s = qps[i];
      const std::uint64_t bytes = std::uint64_t{s.n_slots} * s.slot_bytes;
      if (s.rx && bytes != 0) rings_.push_back({s.rx_base, bytes, qp});
      if (s.tx) targets_.emplace_back(s.peer_rx_base, qp);
    }
    std::ranges::sort(rings_, {}, [](const ring& r) { return std::pair{r.base, r.qp}; });
    std::ranges::sort(targets_);
  }

  std::optional<std::uint16_t> token(const abi::ipcq_fields& f) const override {
    const auto after = std::ranges::upper_bound(rings_, f.match_address, {}, &ring::base);
    if (after == rings_.begin()) return std::nullopt;
    const ring& r = *std::prev(after);
    if (f.match_address - r.base >= r.bytes) return std::nullopt;
    return r.qp;
  }

  std::optional<std::uint16_t> credit(const abi::ipcq_fields& f) const override {
    return first_of(targets_, f.match_address);
  }

  bool checks_sequence() const override { return true; }

 private:
  struct ring {
    abi::address base{};
    std::uint64_t bytes{};
    std::uint16_t qp{};
  };
  std::vector<ring> rings_;
  qp_table<abi::address> targets_;
};

/// The faulty policy: matches by sender, to the first direction that leads to the sender.
class sender_match : public match_policy {
 public:
  void rebuild(const std::vector<queue_pair_state>& qps) override {
    senders_.clear();
    receivers_.clear();
    for (std::size_t i = 0; i < qps.size(); ++i) {
      const auto qp = static_cast<std::uint16_t>(i);
      if (qps[i].rx) senders_.emplace_back(qps[i].peer, qp);
      if (qps[i].tx) receivers_.emplace_back(qps[i].peer, qp);
    }
    std::ranges::sort(senders_);
    std::ranges::sort(receivers_);
  }

  std::optional<std::uint16_t> token(const abi::ipcq_fields& f) const override {
    return first_of(senders_, f.source);
  }
  std::optional<std::uint16_t> credit(const abi::ipcq_fields& f) const override {
    return first_of(receivers_, f.source);
  }
  bool checks_sequence() const override { return false; }

 private:
  qp_table<pe_coord> senders_, receivers_;
};

}  // namespace

std::unique_ptr<match_policy> match_by_address() { return std::make_unique<address_match>(); }
std::unique_ptr<match_policy> match_by_sender() { return std::make_unique<sender_match>(); }

}  // namespace diecast::protocol
