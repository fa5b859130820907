// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "models/protocol/ipcq_core.hpp"

namespace diecast::protocol {
namespace {

/// The rule: a token belongs to the ring its slot lies in, a credit to the queue pair that writes
/// to the ring it names. Two sorted tables, so that 512 queue pairs cost nine comparisons.
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
    std::sort(rings_.begin(), rings_.end(), [](const ring& a, const ring& b) {
      return std::pair{a.base, a.qp} < std::pair{b.base, b.qp};
    });
    std::sort(targets_.begin(), targets_.end());
  }

  std::optional<std::uint16_t> token(const abi::ipcq_fields& f) const override {
    const auto after = std::upper_bound(rings_.begin(), rings_.end(), f.match_address,
                                        [](abi::address a, const ring& r) { return a < r.base; });
    if (after == rings_.begin()) return std::nullopt;
    const ring& r = *std::prev(after);
    if (f.match_address - r.base >= r.bytes) return std::nullopt;
    return r.qp;
  }

  std::optional<std::uint16_t> credit(const abi::ipcq_fields& f) const override {
    const auto at =
        std::lower_bound(targets_.begin(), targets_.end(), std::pair{f.match_address, std::uint16_t{}});
    if (at == targets_.end() || at->first != f.match_address) return std::nullopt;
    return at->second;
  }

  bool checks_sequence() const override { return true; }

 private:
  struct ring {
    abi::address base{};
    std::uint64_t bytes{};
    std::uint16_t qp{};
  };
  std::vector<ring> rings_;
  std::vector<std::pair<abi::address, std::uint16_t>> targets_;
};

/// The defect: matches by sender, and the first direction that leads to the sender wins.
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
    std::sort(senders_.begin(), senders_.end());
    std::sort(receivers_.begin(), receivers_.end());
  }

  std::optional<std::uint16_t> token(const abi::ipcq_fields& f) const override {
    return first(senders_, f.source);
  }
  std::optional<std::uint16_t> credit(const abi::ipcq_fields& f) const override {
    return first(receivers_, f.source);
  }
  bool checks_sequence() const override { return false; }

 private:
  using table = std::vector<std::pair<pe_coord, std::uint16_t>>;
  static std::optional<std::uint16_t> first(const table& t, pe_coord peer) {
    const auto at = std::lower_bound(t.begin(), t.end(), std::pair{peer, std::uint16_t{}});
    if (at == t.end() || at->first != peer) return std::nullopt;
    return at->second;
  }
  table senders_, receivers_;
};

}  // namespace

std::unique_ptr<match_policy> match_by_address() { return std::make_unique<address_match>(); }
std::unique_ptr<match_policy> match_by_sender() { return std::make_unique<sender_match>(); }

}  // namespace diecast::protocol
