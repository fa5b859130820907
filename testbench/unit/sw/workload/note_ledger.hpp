// SPDX-License-Identifier: Apache-2.0
// Holds what PEs note of their operations against the order in which an operation can go.
#pragma once

#include <fmt/format.h>
#include <map>
#include <string>
#include <tuple>

#include "models/abi/firmware_tasks.hpp"

namespace diecast::test {

class note_ledger {
 public:
  void hear(pe_coord pe, const abi::operation_note& n) {
    using abi::operation_kind, abi::operation_phase;
    if (n.kind == operation_kind::probe || n.kind == operation_kind::receipt) return;
    const key at{pe, n.kind, n.id};
    const bool open = open_.contains(at);
    if (open != (n.phase != operation_phase::posted) && n.phase != operation_phase::resumed)
      return blame(pe, n);
    switch (n.phase) {
      case operation_phase::posted:
        open_[at] = false;
        ++posted_[n.kind];
        if (n.kind == operation_kind::barrier && n.members.empty()) blame(pe, n);
        return;
      case operation_phase::started:
        if (open_[at] || (n.kind != operation_kind::barrier && (!n.peer || !n.tag))) blame(pe, n);
        open_[at] = true;
        return;
      case operation_phase::awaited:
      case operation_phase::resumed: return;
      case operation_phase::completed:
        if (!open_[at]) blame(pe, n);
        open_.erase(at);
        return;
      case operation_phase::cancelled:
        ++cancelled_;
        open_.erase(at);
        return;
    }
  }
  [[nodiscard]] std::uint64_t posted(abi::operation_kind k) const {
    return posted_.contains(k) ? posted_.at(k) : 0;
  }
  [[nodiscard]] std::uint64_t cancelled() const { return cancelled_; }
  /// What is wrong with a finished run; empty when nothing is.
  [[nodiscard]] std::string complaint() const {
    if (!first_.empty()) return "noted out of order: " + first_;
    return open_.empty() ? "" : fmt::format("{} noted operations have not ended", open_.size());
  }

 private:
  using key = std::tuple<pe_coord, abi::operation_kind, std::uint32_t>;
  void blame(pe_coord pe, const abi::operation_note& n) {
    if (!first_.empty()) return;
    first_ = fmt::format("cube{}.pe{}: {}, phase {}", pe.cube.value, pe.pe.value, abi::describe(n),
                         static_cast<unsigned>(n.phase));
  }
  std::map<key, bool> open_;  ///< whether it has started
  std::map<abi::operation_kind, std::uint64_t> posted_;
  std::uint64_t cancelled_{};
  std::string first_;
};

}  // namespace diecast::test
