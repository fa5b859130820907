// SPDX-License-Identifier: Apache-2.0
// The inside of a tag-matching unit and its shadow, for tests that compare states: what is only a name
// (numbers of receives, messages, tickets, entries and slots, where the count of messages stands) is replaced
// by one that depends on the place alone, and what is left is written down byte by byte.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "models/protocol/tag_shadow.hpp"
#include "models/protocol/tag_unit.hpp"

namespace diecast::protocol {

struct tag_state {
  static constexpr std::uint32_t landed = tag_unit::nothing;

  /// Whether the unit has, or is going to have, the entry of a receive: they are told apart by their buffers.
  static bool in_unit(const tag_unit& u, const tag_shadow& s, std::uint64_t buffer) {
    const auto is = [buffer](const auto& x) { return x.buffer == buffer; };
    return std::any_of(u.list_.begin(), u.list_.end(), is) ||
           std::any_of(s.commands_.begin(), s.commands_.end(),
                       [&](const tag_command& c) { return c.what == tag_command::kind::append && is(c); });
  }
  static bool in_shadow(const tag_shadow& s, std::uint32_t receive) {
    return std::any_of(s.live_.begin(), s.live_.end(),
                       [receive](const auto& l) { return l.posted.id == receive; });
  }
  static std::size_t live(const tag_shadow& s) { return s.live_.size(); }
  /// Nothing that was begun is unfinished.
  static bool at_rest(const tag_unit& u, const tag_shadow& s) {
    return u.landing_.empty() && u.arrivals_.empty() && u.commands_done_.empty() && s.commands_.empty() &&
           s.landing_.empty();
  }
  static bool all_eligible(const tag_unit& u) {
    return std::all_of(u.list_.begin(), u.list_.end(), [](const auto& e) { return e.eligible; });
  }
  /// Unexpected messages that firmware has seen and not told the unit of.
  static std::uint32_t untold(const tag_shadow& s) {
    return (s.seen_ + s.policy_.modulus - s.reported_) % s.policy_.modulus;
  }

  /// `n` gives the new names: n.receive(old), n.message(old), n.ticket(old message), n.slot(old message),
  /// n.tag(new message), n.pattern(new receive). The count ends just before its wrap.
  template <class Names>
  static void rename(tag_unit& u, tag_shadow& s, Names& n, std::uint32_t slots) {
    index_names index(s.indexes_.size());
    for (auto& e : u.list_) {
      e.index = index(e.index);
      e.buffer = n.receive(e.buffer);
      e.wanted = n.pattern(e.buffer);
    }
    for (auto& a : u.arrivals_) {
      if (a.ticket != landed) a.ticket = n.ticket(a.completion.message.va);
      rename_message(a.completion, index, n);
    }
    for (auto& a : u.landing_) {
      a.ticket = n.ticket(a.completion.message.va);
      rename_message(a.completion, index, n);
    }
    for (auto& c : u.commands_done_) c.index = index(c.index);
    rename_shadow(s, index, n);
    s.indexes_ = index.in_order(s.indexes_);
    std::fill(u.slot_taken_.begin(), u.slot_taken_.end(), false);
    std::fill_n(u.slot_taken_.begin(), slots, true);
    u.next_ticket_ = static_cast<std::uint32_t>(u.slot_taken_.size());
    turn_counts(u, s);
  }

  /// Tags of messages whose row has grown, and nothing else.
  template <class Names>
  static void rewrite_tags(tag_unit& u, tag_shadow& s, const Names& n) {
    for (auto& a : u.arrivals_) a.completion.message.tag = n.tag(a.completion.message.va);
    for (auto& a : u.landing_) a.completion.message.tag = n.tag(a.completion.message.va);
    for (auto& m : s.unexpected_) m.tag = n.tag(m.id);
  }

  /// Everything that decides what the two do next, names and counts included. Whether a receive that stayed
  /// in software could have gone to the unit matters only where longer ones force it there, which is not the
  /// case.
  template <class Put>
  static void write(const tag_unit& u, const tag_shadow& s, Put&& put) {
    put(u.list_.size());
    for (const auto& e : u.list_) put(e.index), put(e.eligible), put(e.buffer);
    put(u.arrivals_.size());
    for (const auto& a : u.arrivals_) write_completion(a.completion, put), put(a.ticket == landed);
    put(u.landing_.size());
    for (const auto& a : u.landing_) write_completion(a.completion, put);
    put(u.commands_done_.size());
    for (const auto& c : u.commands_done_) write_completion(c, put);
    put(s.live_.size());
    for (const auto& l : s.live_) put(l.posted.id), put(l.index), put(l.cancelling);
    put(s.landing_.size());
    for (const auto& l : s.landing_) put(l.id), put(l.index);
    put(s.unexpected_.size());
    for (const auto& m : s.unexpected_) put(m.id);
    put(s.commands_.size());
    for (const auto& c : s.commands_) {
      put(static_cast<unsigned>(c.what)), put(c.seen), put(c.index), put(c.buffer);
    }
    for (const auto& i : s.indexes_) put(i.occupied), put(i.appending), put(i.removing), put(i.forced);
    put(s.seen_), put(s.reported_);
  }

 private:
  /// Indexes by the first place where they occur; those that occur nowhere differ by their state alone.
  class index_names {
   public:
    explicit index_names(std::size_t indexes) : names_(indexes, tag_shadow::no_index) {}
    std::uint16_t operator()(std::uint16_t old) {
      if (old == tag_shadow::no_index) return old;
      std::uint16_t& name = names_.at(old);
      if (name == tag_shadow::no_index) name = next_++;
      return name;
    }
    template <class State>
    std::vector<State> in_order(const std::vector<State>& old) {
      std::vector<State> states(old.size()), unnamed;
      for (std::size_t i = 0; i < old.size(); ++i) {
        if (names_[i] == tag_shadow::no_index) {
          unnamed.push_back(old[i]);
        } else {
          states[names_[i]] = old[i];
        }
      }
      std::sort(unnamed.begin(), unnamed.end());
      std::copy(unnamed.begin(), unnamed.end(), states.begin() + next_);
      return states;
    }

   private:
    std::vector<std::uint16_t> names_;
    std::uint16_t next_{};
  };

  template <class Names>
  static void rename_message(tag_completion& c, index_names& index, Names& n) {
    const bool has_slot = c.what == tag_completion::kind::unexpected;
    if (has_slot) {
      c.slot = n.slot(c.message.va);
    } else {
      c.index = index(c.index);
    }
    c.message.va = n.message(c.message.va);
    c.message.tag = n.tag(c.message.va);
  }
  template <class Names>
  static void rename_shadow(tag_shadow& s, index_names& index, Names& n) {
    for (auto& l : s.live_) {
      l.posted.id = n.receive(l.posted.id);
      l.posted.buffer = l.posted.id;
      l.posted.wanted = n.pattern(l.posted.id);
      l.index = index(l.index);
    }
    for (auto& l : s.landing_) l.id = n.receive(l.id), l.index = index(l.index);
    for (auto& m : s.unexpected_) m.id = n.message(m.id), m.tag = n.tag(m.id);
    for (auto& c : s.commands_) {
      if (c.what != tag_command::kind::nop) c.index = index(c.index);
      if (c.what == tag_command::kind::append) c.buffer = n.receive(c.buffer), c.wanted = n.pattern(c.buffer);
    }
  }
  static void turn_counts(tag_unit& u, tag_shadow& s) {
    const std::uint32_t modulus = u.modulus_;
    if (u.unexpected_count_ >= modulus) throw std::logic_error("the count of messages leaves its range");
    const std::uint32_t turn = modulus - 1 - u.unexpected_count_;
    for (std::uint32_t* count : {&u.unexpected_count_, &s.seen_, &s.reported_})
      *count = (*count + turn) % modulus;
    for (auto& c : s.commands_) c.seen = (c.seen + turn) % modulus;
  }
  template <class Put>
  static void write_completion(const tag_completion& c, Put&& put) {
    put(static_cast<unsigned>(c.what)), put(c.ok), put(c.index), put(c.slot), put(c.message.va);
  }
};

}  // namespace diecast::protocol
