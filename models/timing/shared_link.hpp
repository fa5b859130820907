// SPDX-License-Identifier: Apache-2.0
// One flit per cycle, shared by packets of several classes that interleave flit by flit, without an
// event per flit.
//
// Packets of one class follow each other. A packet of another class may start while one is in
// transfer, at most one flit later than on an idle link, and is given its fair share of the flits from
// then on: with k other classes in transfer it takes (k + 1) cycles per flit, or until the link's
// backlog is sent if that is sooner. Each flit it takes pushes back the end of the transfers it
// interleaves with, so that the link never carries more than one flit per cycle over time.
//
// The approximation: the tail of a packet is announced when it is granted and not revised when another
// class joins later; what the joiner took shows as a later start of the next packet of that class.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "models/abi/wire.hpp"

namespace diecast::timing {

/// Times are cycles of the link's clock. All calls come in order of time.
class shared_link {
 public:
  /// First cycle not before `at` in which a packet of class `c` may send its first flit, if nothing
  /// else is granted until then.
  [[nodiscard]] std::uint64_t earliest(unsigned c, std::uint64_t at) const {
    if (at >= idle_from_) return at;
    const std::uint64_t t = std::max({at, end_[c], next_start_});
    return others_active(c, t) == 0 ? std::max(t, backlog_end_) : t;
  }

  /// earliest(c, at) == at, at less cost.
  [[nodiscard]] bool free(unsigned c, std::uint64_t at) const {
    if (at >= idle_from_) return true;
    if (end_[c] > at || next_start_ > at) return false;
    return backlog_end_ <= at || others_active(c, at) != 0;
  }

  /// One past the cycle of the last flit of a packet started at `at` with a fair share of this link.
  /// Precondition: free(c, at).
  [[nodiscard]] std::uint64_t finish(unsigned c, std::uint64_t at, std::uint32_t flits) const {
    if (at >= idle_from_) return at + flits;
    const std::uint64_t share = at + flits * (std::uint64_t{others_active(c, at)} + 1);
    return std::min(share, std::max(backlog_end_, at) + flits);
  }

  /// Starts the packet: it holds its class until `end` (from finish(), or later when its flits come
  /// more slowly).
  void grant(unsigned c, std::uint64_t at, std::uint32_t flits, std::uint64_t end) {
    if (at < idle_from_) push_back_others(c, at, flits);
    backlog_end_ = std::max(backlog_end_, at) + flits;
    next_start_ = at + 1;
    end_[c] = end;
    flits_[c] = flits;
    idle_from_ = std::max({idle_from_, end, backlog_end_});
  }

 private:
  [[nodiscard]] unsigned others_active(unsigned c, std::uint64_t at) const {
    unsigned n = 0;
    for (unsigned k = 0; k < abi::traffic_classes; ++k) n += k != c && end_[k] > at ? 1U : 0U;
    return n;
  }
  void push_back_others(unsigned c, std::uint64_t at, std::uint32_t flits) {
    for (unsigned k = 0; k < abi::traffic_classes; ++k) {
      if (k == c || end_[k] <= at) continue;
      const std::uint64_t left = std::min<std::uint64_t>(end_[k] - at, flits_[k]);
      end_[k] = std::max(end_[k], at + left + std::min<std::uint64_t>(flits, left));
      idle_from_ = std::max(idle_from_, end_[k]);
    }
  }

  std::array<std::uint64_t, abi::traffic_classes> end_{};
  std::array<std::uint32_t, abi::traffic_classes> flits_{};
  std::uint64_t backlog_end_{};  ///< cycle by which all granted flits are sent at one per cycle
  std::uint64_t next_start_{};
  std::uint64_t idle_from_{};  ///< cycle from which on the link has no memory of earlier packets
};

/// When `flits` credits returned one by one, the first at `first` and the last at `last`, may be spent as
/// one batch: the packet that spends them fills the buffer one flit per `fill` and must not overtake the
/// one that leaves it. Any unit of time.
[[nodiscard]] constexpr std::uint64_t batch_usable(std::uint64_t first, std::uint64_t last,
                                                   std::uint32_t flits, std::uint64_t fill) {
  const std::uint64_t filling = (flits - 1) * fill;
  return last > first + filling ? last - filling : first;
}

}  // namespace diecast::timing
