// SPDX-License-Identifier: Apache-2.0
// Many first-in first-out queues, most of them empty: items live in one pool, and a bit per queue shows
// which ones hold items.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace diecast::hw {

template <class Item>
class queue_set {
 public:
  static constexpr std::uint32_t none = UINT32_MAX;

  explicit queue_set(std::uint32_t queues) : ends_(queues), filled_((queues + 63) / 64) {}

  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] bool empty(std::uint32_t queue) const { return ends_[queue].first == none; }
  /// Precondition: !empty(queue).
  [[nodiscard]] const Item& front(std::uint32_t queue) const { return nodes_[ends_[queue].first].item; }

  void push(std::uint32_t queue, Item item) {
    std::uint32_t index = free_;
    if (index == none) {
      index = static_cast<std::uint32_t>(nodes_.size());
      nodes_.push_back({std::move(item), none});
    } else {
      free_ = nodes_[index].next;
      nodes_[index] = {std::move(item), none};
    }
    ends& e = ends_[queue];
    if (e.first == none) {
      e.first = index;
      filled_[queue / 64] |= std::uint64_t{1} << (queue % 64);
    } else {
      nodes_[e.last].next = index;
    }
    e.last = index;
    ++size_;
  }

  /// Precondition: !empty(queue).
  Item pop(std::uint32_t queue) {
    ends& e = ends_[queue];
    const std::uint32_t index = e.first;
    e.first = nodes_[index].next;
    nodes_[index].next = free_;
    free_ = index;
    --size_;
    if (e.first == none) filled_[queue / 64] &= ~(std::uint64_t{1} << (queue % 64));
    return std::move(nodes_[index].item);
  }

  /// The first filled queue in [from, to), none if there is none.
  [[nodiscard]] std::uint32_t next_filled(std::uint32_t from, std::uint32_t to) const {
    while (from < to) {
      const std::uint64_t b = filled_[from / 64] >> (from % 64);
      if (b != 0) {
        const std::uint32_t queue = from + static_cast<std::uint32_t>(std::countr_zero(b));
        return queue < to ? queue : none;
      }
      from = (from / 64 + 1) * 64;
    }
    return none;
  }

  /// Visits the filled queues of [begin, end) in round-robin order, starting after `last`, until
  /// `visit` returns true; the queue it accepted, or none.
  template <class Visit>
  std::uint32_t round_robin(std::uint32_t begin, std::uint32_t end, std::uint32_t last, Visit visit) const {
    const std::uint32_t start = last >= begin && last + 1 < end ? last + 1 : begin;
    for (std::uint32_t q = next_filled(start, end); q != none; q = next_filled(q + 1, end))
      if (visit(q)) return q;
    for (std::uint32_t q = next_filled(begin, start); q != none; q = next_filled(q + 1, start))
      if (visit(q)) return q;
    return none;
  }

 private:
  struct node {
    Item item;
    std::uint32_t next;
  };
  struct ends {
    std::uint32_t first{none};
    std::uint32_t last{none};
  };
  std::vector<node> nodes_;
  std::vector<ends> ends_;
  std::vector<std::uint64_t> filled_;
  std::uint32_t free_{none};
  std::size_t size_{};
};

}  // namespace diecast::hw
