// SPDX-License-Identifier: Apache-2.0
// Accesses and transactions that a block of a PE has in flight, by the number that their answers carry.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace diecast::hw {

/// `Entry` has members `used` (bool) and `sequence` (std::uint64_t), which are kept here.
template <class Entry>
class transaction_table {
 public:
  /// Returns the entry's number, possibly that of a closed entry; `sequence` distinguishes them.
  [[nodiscard]] std::uint32_t open(Entry entry, std::uint64_t sequence) {
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(entries_.size()));
      entries_.emplace_back();
    }
    const std::uint32_t index = free_.back();
    free_.pop_back();
    entry.used = true;
    entry.sequence = sequence;
    entries_[index] = std::move(entry);
    return index;
  }
  /// Precondition: is_open(index).
  Entry close(std::uint32_t index) {
    Entry entry = std::move(entries_[index]);
    entries_[index] = {};
    free_.push_back(index);
    return entry;
  }
  [[nodiscard]] bool is_open(std::uint64_t index) const {
    return index < entries_.size() && entries_[index].used;
  }
  [[nodiscard]] Entry& operator[](std::uint32_t index) { return entries_[index]; }
  [[nodiscard]] const Entry& operator[](std::uint32_t index) const { return entries_[index]; }
  [[nodiscard]] bool empty() const { return free_.size() == entries_.size(); }
  /// Whether `holds` is true of any open entry.
  template <class Condition>
  [[nodiscard]] bool any(Condition holds) const {
    for (const Entry& e : entries_)
      if (e.used && holds(e)) return true;
    return false;
  }

 private:
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> free_;
};

}  // namespace diecast::hw
