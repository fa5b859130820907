// SPDX-License-Identifier: Apache-2.0
#include "hw/base/agenda.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace diecast::hw {
namespace {

/// The agenda of the nearest agenda_owner above the module; null when no module above it is an agenda_owner.
agenda* agenda_above(const sc_core::sc_object& module) {
  for (sc_core::sc_object* o = module.get_parent_object(); o != nullptr; o = o->get_parent_object())
    if (auto* owner = dynamic_cast<agenda_owner*>(o)) return &owner->timed_work();
  return nullptr;
}

}  // namespace

alarm::alarm(const sc_core::sc_module& module, std::function<void()> call)
    : module_(module), call_(std::move(call)), agenda_(agenda_above(module)) {
  if (agenda_ == nullptr) {
    own_ = std::make_unique<agenda>(sc_core::sc_gen_unique_name("agenda"));
    agenda_ = own_.get();
  }
  agenda_->add(*this);
}

agenda::agenda(sc_core::sc_module_name module_name) : sc_module(module_name) {
  SC_METHOD(call_due);
  sensitive << wake_;
  dont_initialize();
}

void agenda::add(alarm& a) {
  if (!due_.empty()) throw std::logic_error(std::string(name()) + ": an alarm was made after the start");
  alarms_.push_back(&a);
}

/// The order of calls must not depend on the order in which modules were built.
void agenda::start_of_simulation() {
  std::ranges::stable_sort(alarms_, {}, [](const alarm* a) { return std::string_view(a->module_.name()); });
  for (std::uint32_t n = 0; n < alarms_.size(); ++n) alarms_[n]->number_ = n;
  due_.resize(alarms_.size() / 64 + 1);
}

void agenda::set(alarm& a, sim_time at) {
  if (a.place_ == alarm::in_wheel) unlink(a);
  a.at_ = at;
  if (a.place_ != alarm::nowhere && slot_of(at) - present_slot_ < slots) take_out(a);
  if (a.place_ != alarm::nowhere) {
    move_up(a.place_);
  } else if (slot_of(at) - present_slot_ < slots) {
    link(a);
  } else {
    heap_.push_back(&a);
    move_up(heap_.size() - 1);
  }
  if (!calling_) wake_at(at);
}

void agenda::clear(alarm& a) {
  take_out(a);
  a.at_ = sim_time::never();
  if (calling_ || first() == armed_) return;
  wake_.cancel();  // an event without a call would keep a deadlocked run going
  armed_ = sim_time::never();
  wake_at(first());
}

void agenda::call_due() {
  armed_ = sim_time::never();
  collect_due(now());
  calling_ = true;
  for (std::size_t w = first_due_; w < end_due_; ++w) {
    for (; due_[w] != 0; due_[w] &= due_[w] - 1) {
      alarm& a = *alarms_[w * 64 + static_cast<std::size_t>(std::countr_zero(due_[w]))];
      a.at_ = sim_time::never();
      a.call_();
    }
  }
  calling_ = false;
  wake_at(first());
}

void agenda::collect_due(sim_time t) {
  present_slot_ = slot_of(t);
  first_due_ = due_.size();
  end_due_ = 0;
  const std::uint64_t slot = present_slot_ % slots;
  alarm *before = nullptr, **link = &wheel_[slot];  // where the next alarm that stays is linked
  for (alarm* a = *link; a != nullptr; a = a->behind_) {
    if (a->at_ <= t) {
      a->place_ = alarm::nowhere;
      mark_due(*a);
      continue;
    }
    *link = a;
    a->before_ = before;
    before = a;
    link = &a->behind_;
  }
  *link = nullptr;
  if (wheel_[slot] == nullptr) occupied_[slot / 64] &= ~(std::uint64_t{1} << slot % 64);
  while (!heap_.empty() && heap_.front()->at_ <= t) {
    mark_due(*heap_.front());
    take_out(*heap_.front());
  }
}

inline void agenda::mark_due(const alarm& a) {
  const std::size_t word = a.number_ / 64;
  due_[word] |= std::uint64_t{1} << a.number_ % 64;
  first_due_ = std::min(first_due_, word);
  end_due_ = std::max(end_due_, word + 1);
}

/// The earliest instant that an alarm is set for; never() where none is.
sim_time agenda::first() const {
  sim_time earliest = heap_.empty() ? sim_time::never() : heap_.front()->at_;
  const std::uint64_t begin = present_slot_ % slots;
  for (std::uint64_t k = 0, n = begin / 64; k <= occupied_.size(); ++k, n = (n + 1) % occupied_.size()) {
    std::uint64_t bits = occupied_[n];
    if (k == 0) bits &= ~std::uint64_t{} << begin % 64;
    if (bits == 0) continue;
    const std::uint64_t slot = n * 64 + static_cast<std::uint64_t>(std::countr_zero(bits));
    for (const alarm* a = wheel_[slot]; a != nullptr; a = a->behind_) earliest = std::min(earliest, a->at_);
    break;
  }
  return earliest;
}

void agenda::wake_at(sim_time at) {
  if (at >= armed_) return;
  armed_ = at;
  wake_.notify(to_sc(at - now()));
}

void agenda::take_out(alarm& a) {
  if (a.place_ == alarm::in_wheel) return unlink(a);
  const std::size_t n = a.place_;
  alarm& last = *heap_.back();
  heap_.pop_back();
  a.place_ = alarm::nowhere;
  if (&a == &last) return;
  place(n, last);
  move_down(n);
  move_up(last.place_);
}

void agenda::link(alarm& a) {
  const std::uint64_t slot = slot_of(a.at_) % slots;
  a.before_ = nullptr;
  a.behind_ = wheel_[slot];
  if (a.behind_ != nullptr) a.behind_->before_ = &a;
  wheel_[slot] = &a;
  occupied_[slot / 64] |= std::uint64_t{1} << slot % 64;
  a.place_ = alarm::in_wheel;
}

void agenda::unlink(alarm& a) {
  const std::uint64_t slot = slot_of(a.at_) % slots;
  (a.before_ != nullptr ? a.before_->behind_ : wheel_[slot]) = a.behind_;
  if (a.behind_ != nullptr) a.behind_->before_ = a.before_;
  if (wheel_[slot] == nullptr) occupied_[slot / 64] &= ~(std::uint64_t{1} << slot % 64);
  a.place_ = alarm::nowhere;
}

void agenda::place(std::size_t n, alarm& a) {
  heap_[n] = &a;
  a.place_ = n;
}

void agenda::move_up(std::size_t n) {
  alarm& moved = *heap_[n];
  for (; n > 0 && moved.at_ < heap_[(n - 1) / 2]->at_; n = (n - 1) / 2) place(n, *heap_[(n - 1) / 2]);
  place(n, moved);
}

void agenda::move_down(std::size_t n) {
  alarm& moved = *heap_[n];
  while (2 * n + 1 < heap_.size()) {
    std::size_t below = 2 * n + 1;
    if (below + 1 < heap_.size() && heap_[below + 1]->at_ < heap_[below]->at_) ++below;
    if (heap_[below]->at_ >= moved.at_) break;
    place(n, *heap_[below]);
    n = below;
  }
  place(n, moved);
}

}  // namespace diecast::hw
