// SPDX-License-Identifier: Apache-2.0
// A tag-matching unit, its firmware shadow and what is under way between them, as one copyable state whose
// every next step is a choice. Explored exhaustively for small bounds and at random for large ones.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "models/protocol/tag_shadow.hpp"
#include "models/protocol/tag_unit.hpp"
#include "support/abstract_matcher.hpp"

namespace diecast::test {

/// The machine did something no order of events allows.
class matching_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct tag_program {
  struct message {
    unsigned source;
    std::uint64_t tag;  ///< source included
    bool whole;         ///< one fragment
  };
  struct receive {
    std::uint64_t tag, mask;
    bool contiguous{true};
    std::uint64_t room{64};
  };
  std::vector<message> messages;  ///< messages of one source are in the order given
  std::vector<receive> receives;  ///< in the order of posting
  std::vector<unsigned> cancels;  ///< receives that are cancelled at some time after their posting
  unsigned sources{2};
};

struct tag_setup {
  std::uint32_t entries{1};
  std::uint32_t slots{4};  ///< slots and credits, shared evenly by the sources
  bool copy_out{};         ///< firmware empties the slot of a message that has to wait at once
  std::uint32_t modulus{protocol::tag_unit::counter_modulus};
  protocol::offload_policy policy{};
  protocol::tag_unit::eligibility rule{protocol::tag_unit::eligibility::by_count};
};

class tag_world {
 public:
  tag_world(const tag_setup& setup, unsigned sources)
      : unit_(setup.entries, setup.slots, setup.modulus, setup.rule),
        shadow_(policy_of(setup)),
        copy_out_(setup.copy_out),
        next_(sources, 0),
        credits_(sources, setup.slots / sources) {}

  /// Starts another program on the same unit and shadow, which must be at rest.
  void begin(const tag_program& p) {
    if (!unit_.idle() || !shadow_.idle()) throw matching_error("something is left of the program before");
    posted_ = 0;
    cancel_ = 0;
    order_.clear();
    flying_.clear();
    fate_.assign(p.receives.size(), waiting);
    slot_of_.clear();
    next_.assign(p.sources, 0);
  }

  /// Codes of the steps possible now.
  [[nodiscard]] std::vector<unsigned> steps(const tag_program& p) const {
    std::vector<unsigned> s;
    for (unsigned source = 0; source < p.sources; ++source) {
      if (credits_[source] > 0 && find_next(p, source) < p.messages.size()) s.push_back(deliver + source);
    }
    for (unsigned i = 0; i < flying_.size() && i < 0x100; ++i) s.push_back(land + i);
    if (shadow_.command_waiting()) s.push_back(execute);
    if (unit_.command_done_ready()) s.push_back(take_command_done);
    if (unit_.arrival_ready()) s.push_back(take_arrival);
    if (posted_ < p.receives.size()) s.push_back(post);
    if (cancel_ < p.cancels.size() && p.cancels[cancel_] < posted_) s.push_back(cancel);
    return s;
  }

  void step(const tag_program& p, unsigned code) {
    switch (code & ~0xffU) {
      case deliver: return do_deliver(p, code & 0xff);
      case land: {
        const std::uint32_t ticket = flying_[code & 0xff];
        flying_.erase(flying_.begin() + (code & 0xff));
        return unit_.landed(ticket);
      }
      case execute: return unit_.execute(*shadow_.take_command());
      case take_command_done: return conclude(p, shadow_.command_done(*unit_.pop_command_done()), no_message);
      case take_arrival: return do_arrival(p);
      case post: return do_post(p);
      case cancel: {
        const unsigned which = p.cancels[cancel_++];
        return conclude(p, shadow_.cancel(which), no_message);
      }
      case report: return shadow_.report_unexpected();
      default: throw matching_error("no such step");
    }
  }

  /// Nothing is under way: checks that what was paired is what the abstract matcher pairs, that entries of
  /// the unit may match, and that after all that is left has been taken back nothing remains anywhere.
  void finish(const tag_program& p) {
    drain(p);
    compare(p);
    tag_world copy = *this;
    copy.probe_eligible(p);
    for (unsigned r = 0; r < p.receives.size(); ++r) {
      if (fate_[r] == waiting) conclude(p, shadow_.cancel(r), no_message);
    }
    drain(p);
    while (shadow_.unexpected_messages() > 0) {
      const unsigned message = shadow_.extract({0, 0}).message;
      if (slot_of_.contains(message)) release(p, message);
    }
    if (!unit_.idle() || !shadow_.idle()) throw matching_error("an index, a slot or a message is left");
  }

  /// Messages delivered, receives posted and cancels tried by the program.
  [[nodiscard]] std::uint64_t operations() const { return order_.size() + posted_ + cancel_; }
  [[nodiscard]] const protocol::tag_unit& unit() const { return unit_; }
  auto operator<=>(const tag_world&) const = default;

  static constexpr unsigned deliver = 0x100, land = 0x200, execute = 0x300, take_command_done = 0x400,
                            take_arrival = 0x500, post = 0x600, cancel = 0x700, report = 0x800;

 private:
  static constexpr int waiting = -1, cancelled = -2;
  static constexpr unsigned no_message = ~0U;
  static constexpr std::uint64_t buffer_of_receive = 0x1000;
  using decision = protocol::tag_shadow::decision;

  static protocol::offload_policy policy_of(const tag_setup& s) {
    protocol::offload_policy p = s.policy;
    p.entries = s.entries;
    p.modulus = s.modulus;
    return p;
  }

  [[nodiscard]] std::size_t find_next(const tag_program& p, unsigned source) const {
    std::size_t at = next_[source];
    while (at < p.messages.size() && p.messages[at].source != source) ++at;
    return at;
  }

  void do_deliver(const tag_program& p, unsigned source) {
    const std::size_t at = find_next(p, source);
    next_[source] = static_cast<unsigned>(at) + 1;
    --credits_[source];
    const auto& m = p.messages[at];
    protocol::tag_message message;
    message.tag = m.tag;
    message.va = at;  // names the message
    message.source = source;
    const auto v = unit_.arrive(message, m.whole);
    order_.push_back(static_cast<unsigned>(at));
    if (v.what == protocol::tag_unit::verdict::kind::matched) {
      ++credits_[source];
    } else {
      slot_of_[static_cast<unsigned>(at)] = v.slot;
    }
    if (m.whole) {
      unit_.landed(v.ticket);
    } else {
      flying_.push_back(v.ticket);
    }
  }

  void do_post(const tag_program& p) {
    const auto& r = p.receives[posted_];
    const unsigned id = posted_++;
    const decision d = shadow_.post({id, {r.tag, r.mask}, buffer_of_receive + id, r.room, r.contiguous});
    conclude(p, d, d.message);
  }

  void do_arrival(const tag_program& p) {
    const protocol::tag_completion c = *unit_.pop_arrival();
    const auto message = static_cast<unsigned>(c.message.va);
    conclude(p, shadow_.arrived(c, message), message);
  }

  void conclude(const tag_program& p, const decision& d, unsigned message) {
    switch (d.what) {
      case decision::kind::hit:
        if (slot_of_.contains(message)) release(p, message);
        [[fallthrough]];
      case decision::kind::landed:
        if (fate_.at(d.receive) != waiting) throw matching_error("a receive completes twice");
        fate_[d.receive] = static_cast<int>(message);
        break;
      case decision::kind::cancelled:
        if (fate_.at(d.receive) != waiting) throw matching_error("a completed receive is cancelled");
        fate_[d.receive] = cancelled;
        break;
      case decision::kind::stored:
        if (copy_out_) release(p, message);
        break;
      case decision::kind::nothing:
      case decision::kind::too_late:
      case decision::kind::pending: break;
    }
  }

  void release(const tag_program& p, unsigned message) {
    unit_.release(slot_of_.at(message));
    slot_of_.erase(message);
    ++credits_[p.messages[message].source];
  }

  /// Everything but new posts and cancels, to the end.
  void drain(const tag_program& p) {
    for (;;) {
      bool moved = false;
      for (const unsigned code : steps(p)) {
        const unsigned kind = code & ~0xffU;
        if (kind == deliver || kind == post || kind == cancel) continue;
        step(p, code);
        moved = true;
        break;
      }
      if (moved) continue;
      shadow_.report_unexpected();
      if (!shadow_.command_waiting()) return;
    }
  }

  void compare(const tag_program& p) const {
    abstract_matcher oracle;
    for (unsigned r = 0; r < posted_; ++r) {
      if (fate_[r] != cancelled) oracle.receive({r, p.receives[r].tag, p.receives[r].mask});
    }
    for (const unsigned m : order_) oracle.send({m, p.messages[m].tag, 0});
    for (unsigned r = 0; r < posted_; ++r) {
      if (fate_[r] == cancelled) continue;
      const auto found = oracle.pairs.find(r);
      const int wanted = found == oracle.pairs.end() ? waiting : static_cast<int>(found->second);
      if (fate_[r] != wanted) {
        throw matching_error("receive " + std::to_string(r) + " got message " + std::to_string(fate_[r]) +
                             "; expected " + std::to_string(wanted));
      }
    }
    if (shadow_.unexpected_messages() != oracle.sends.size()) throw matching_error("a message is lost");
    if (shadow_.indexes_used() != unit_.entries_used()) throw matching_error("an index is lost");
  }

  /// Firmware has told the unit all it knows: every entry takes the message made for it.
  void probe_eligible(const tag_program& p) {
    for (unsigned r = 0; r < posted_ && unit_.entries_used() > 0; ++r) {
      if (fate_[r] != waiting) continue;
      protocol::tag_message message;
      message.tag = p.receives[r].tag;
      const std::size_t before = unit_.entries_used();
      const auto v = unit_.arrive(message, false);
      if (v.what != protocol::tag_unit::verdict::kind::matched || unit_.entries_used() + 1 != before) {
        throw matching_error("an entry of the unit never becomes eligible");
      }
    }
  }

  protocol::tag_unit unit_;
  protocol::tag_shadow shadow_;
  bool copy_out_;
  std::vector<unsigned> next_;     ///< by source: where its next message is looked for
  std::vector<unsigned> credits_;  ///< by source: slots it may still fill
  unsigned posted_{};
  unsigned cancel_{};
  std::vector<unsigned> order_;        ///< messages in the order of their arrival
  std::vector<std::uint32_t> flying_;  ///< tickets not landed
  std::vector<int> fate_;              ///< by receive: the message it got, waiting or cancelled
  std::map<unsigned, std::uint16_t> slot_of_;
};

/// Every order in which the steps of the program can be taken; the number of states met.
inline std::uint64_t explore(const tag_setup& setup, const tag_program& p) {
  std::set<tag_world> seen;
  tag_world start{setup, p.sources};
  start.begin(p);
  std::vector<tag_world> open{start};
  seen.insert(start);
  while (!open.empty()) {
    const tag_world at = std::move(open.back());
    open.pop_back();
    std::vector<unsigned> steps = at.steps(p);
    if (steps.empty()) tag_world{at}.finish(p);
    steps.push_back(tag_world::report);
    for (const unsigned code : steps) {
      tag_world next = at;
      next.step(p, code);
      if (seen.insert(next).second) open.push_back(std::move(next));
    }
  }
  return seen.size();
}

}  // namespace diecast::test
