// SPDX-License-Identifier: Apache-2.0
#include "sw/runtime/held_slots.hpp"

#include <algorithm>
#include <utility>

namespace diecast::sw {

std::uint32_t held_slots::count(const queue_state& q) const {
  const auto at = lines_.find(q.dir);
  return at == lines_.end() ? 0 : static_cast<std::uint32_t>(at->second.slots.size());
}

std::uint32_t held_slots::uncopied(const queue_state& q) const {
  const auto at = lines_.find(q.dir);
  return at == lines_.end() ? 0 : static_cast<std::uint32_t>(at->second.slots.size()) - at->second.copied;
}

abi::address held_slots::next_slot(const queue_state& q) const {
  return q.rx_base + std::uint64_t{q.space.slot(q.space.advance(q.tail, count(q)))} * q.slot_bytes;
}

void held_slots::hold(queue_state& q, std::optional<std::uint32_t> copy, std::vector<passed_on> sends) {
  line& l = lines_[q.dir];
  l.queue = &q;
  l.slots.push_back({copy, std::move(sends)});
}

bool held_slots::may_copy() {
  while (!copies_.empty() && driver_.has_copied(copies_.front())) copies_.pop_front();
  return copies_.size() == driver_.copies_under_way();
}

std::uint32_t held_slots::start_copy(abi::address from, abi::address to, std::uint64_t bytes) {
  copies_.push_back(driver_.start_copy(from, to, bytes));
  return copies_.back();
}

void held_slots::copy(abi::address from, abi::address to, std::uint64_t bytes) {
  last_copy_ = start_copy(from, to, bytes);
}

const held_slots::passed_on* held_slots::unread(const slot& s) {
  const auto at = std::find_if(s.sends.begin(), s.sends.end(),
                               [](const passed_on& p) { return !p.queue->source_was_read(p.sequence); });
  return at == s.sends.end() ? nullptr : &*at;
}

bool held_slots::settle() {
  bool moved = false;
  for (auto at = lines_.begin(); at != lines_.end();) {
    line& l = at->second;
    for (; l.copied < l.slots.size() && has_copied(l.slots[l.copied]); ++l.copied) moved = true;
    for (; l.copied > 0 && unread(l.slots.front()) == nullptr; --l.copied) {
      driver_.release(*l.queue);
      l.slots.pop_front();
      moved = true;
    }
    at = l.slots.empty() ? lines_.erase(at) : std::next(at);
  }
  return moved;
}

std::optional<std::uint32_t> held_slots::next_copy() const {
  std::optional<std::uint32_t> first;
  for (const auto& [dir, l] : lines_) {
    if (l.copied == l.slots.size()) continue;
    const std::uint32_t job = *l.slots[l.copied].copy;
    if (!first || static_cast<std::int32_t>(job - *first) < 0) first = job;
  }
  return first;
}

void held_slots::ask() {
  if (const auto job = next_copy()) driver_.arm_copy(*job);
  for (auto& [dir, l] : lines_) {
    if (l.copied == 0) continue;
    const passed_on* const p = unread(l.slots.front());
    if (p == nullptr || (p->queue->armed & abi::arm_source_read) != 0) continue;
    driver_.look_at_sources(*p->queue);
    if (!p->queue->source_was_read(p->sequence)) driver_.arm(*p->queue, abi::arm_source_read);
  }
}

bool held_slots::stirred() const {
  const auto job = next_copy();
  if (job && (driver_.has_copied(*job) || !driver_.awaits_copy())) return true;
  return std::any_of(lines_.begin(), lines_.end(), [](const auto& entry) {
    const line& l = entry.second;
    if (l.copied == 0) return false;
    const passed_on* const p = unread(l.slots.front());
    return p == nullptr || (p->queue->armed & abi::arm_source_read) == 0;
  });
}

void held_slots::finish() {
  while (!lines_.empty()) {
    if (settle()) continue;
    ask();
    tasks_.block([this] { return stirred(); });
  }
  if (last_copy_) driver_.wait_copy(*last_copy_);
  last_copy_.reset();
}

}  // namespace diecast::sw
