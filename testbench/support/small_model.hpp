// SPDX-License-Identifier: Apache-2.0
// A tag-matching unit and its shadow under every program of a few messages and receives: each step chooses
// what happens next, a new message or receive included, so that programs share the states they have in
// common.
//
// Tags and patterns count only through the question which receive accepts which message. So they are not
// chosen beforehand: a message and a receive agree on the answer once both are there, and may agree on
// either. Whatever they agreed is a tag and a mask: receive j looks at bit j, which message i has at 0 where
// j accepts it. That is every program of any sources, tags, wildcards and masks, because a program and the
// one with these tags and masks cannot be told apart by what compares them.
//
// What is resolved is forgotten. A message and a receive that got each other, and of which neither could have
// had anything older, are right, and stay right whatever comes: both sides rank by age. What is left when
// nothing moves is put to the abstract matcher.
#pragma once

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/abstract_matcher.hpp"
#include "support/tag_state.hpp"

namespace diecast::test {

struct small_bounds {
  unsigned messages{4}, receives{4};
  std::uint32_t entries{1};
  unsigned cancels{1};   ///< any number when there are as many as receives
  bool software{};       ///< receives may be such as never go to the unit
  bool all_fragments{};  ///< bytes of unexpected messages land late, too, not only those of matched ones
  bool reduced{true};    ///< tries one order only of steps that commute
  protocol::tag_unit::eligibility rule{protocol::tag_unit::eligibility::by_count};
};

/// What was met on the way, so that a test can say that it was.
struct small_events {
  std::uint64_t matched_whole{}, matched_in_parts{}, unexpected{}, hit_at_post{}, hit_on_arrival{},
      cancelled_at_once{}, cancelled_by_unit{}, cancelled_too_late{}, refused_for_room{}, told_by_nop{};
};

class small_world {
 public:
  static constexpr std::uint32_t modulus =
      5;  ///< one more than messages can be unseen: as few as the rule allows
  static constexpr std::uint32_t interval = 3;  ///< unexpected messages after which the unit is told
  static constexpr unsigned most = 8;           ///< messages, and receives, at a time
  static constexpr int nobody = -1;

  small_world(const small_bounds& b, small_events& met)
      : unit_(b.entries, most, modulus, b.rule),
        shadow_(policy_of(b)),
        bounds_(&b),
        met_(&met),
        sends_(b.messages),
        posts_(b.receives),
        cancels_(b.cancels) {}

  /// Calls visit(world) for every step that can be next. Returns whether the world is at rest: all that can
  /// be next are new messages, receives and cancels. Throws std::runtime_error unless what is paired at rest
  /// is what the abstract matcher pairs, and nothing is lost.
  template <class Visit>
  bool each_step(Visit&& visit) const;

  /// Gives every state one form. Throws std::runtime_error where unit or shadow hold what is gone.
  void give_one_form();
  template <class Put>
  void write(Put&& put) const;

 private:
  struct message {
    std::uint8_t accepted_by{};  ///< bit of every receive that accepts it
    int taken_by{nobody};        ///< the receive into whose buffer the unit lets it land
    int given_to{nobody};        ///< the receive firmware has completed with it
    bool landed{true};
    bool has_slot{};
    std::uint16_t slot{};
    std::uint32_t ticket{};
  };
  struct receive {
    int got{nobody};
    bool asked_to_cancel{};
    bool gone{};  ///< resolved or cancelled; kept while the unit has its entry
  };
  struct names;
  using decision = protocol::tag_shadow::decision;
  using state = protocol::tag_state;

  [[noreturn]] static void wrong(const std::string& what) { throw std::runtime_error(what); }
  static protocol::offload_policy policy_of(const small_bounds& b) {
    protocol::offload_policy p;
    p.entries = b.entries;
    p.modulus = modulus;
    p.command_interval = interval;
    return p;
  }

  template <class Visit, class Do>
  void after(Visit&& visit, Do&& change) const {
    small_world next = *this;
    change(next);
    visit(std::move(next));
  }
  template <class Visit>
  bool unit_steps(Visit&& visit) const;
  template <class Visit>
  bool firmware_steps(Visit&& visit) const;
  template <class Visit>
  void new_messages(Visit&& visit) const;
  template <class Visit>
  void new_receives(Visit&& visit) const;
  template <class Visit>
  void new_cancels(Visit&& visit) const;

  [[nodiscard]] bool accepts(unsigned r, unsigned m) const {
    return (messages_[m].accepted_by >> r & 1U) != 0;
  }
  /// Whether a message that comes now may be compared with it.
  [[nodiscard]] bool is_open(unsigned r) const {
    return state::in_unit(unit_, shadow_, r) || state::in_shadow(shadow_, r);
  }
  [[nodiscard]] bool waits(const message& m) const { return m.taken_by == nobody && m.given_to == nobody; }
  [[nodiscard]] bool waits(const receive& r) const { return !r.gone && r.got == nobody; }

  void send(unsigned accepted_by, bool whole);
  void post(unsigned accepts, bool contiguous);
  void cancel(unsigned r);
  void take_arrival();
  void take_command_done();
  void check_rest() const;
  void conclude(const decision& d, std::uint64_t m);
  void give(unsigned m, unsigned r);
  void resolve_pairs();
  [[nodiscard]] bool is_first_choice(unsigned r) const;

  protocol::tag_unit unit_;
  protocol::tag_shadow shadow_;
  const small_bounds* bounds_;
  small_events* met_;
  std::vector<message> messages_;     ///< not resolved, in the order of arrival
  std::vector<receive> receives_;     ///< not resolved, in the order of posting
  std::uint32_t resolved_{};          ///< bit of every message that is resolved but still in the list
  unsigned sends_, posts_, cancels_;  ///< still to come
};

// --- names ----------------------------------------------------------------------------------------

/// New numbers for what is kept, and what tags and patterns look like.
struct small_world::names {
  explicit names(const small_world& w) : world(w) {
    messages.fill(nobody);
    receives.fill(nobody);
  }
  static std::uint64_t tag_of(std::uint8_t accepted_by) { return static_cast<std::uint8_t>(~accepted_by); }
  std::uint32_t receive(std::uint64_t old) const { return kept(receives, old, "receive"); }
  std::uint32_t message(std::uint64_t old) const { return kept(messages, old, "message"); }
  std::uint32_t ticket(std::uint64_t old) const { return message(old); }
  std::uint16_t slot(std::uint64_t old) const { return fresh[message(old)].slot; }
  std::uint64_t tag(std::uint64_t now) const { return tag_of(fresh[now].accepted_by); }
  static protocol::tag_pattern pattern(std::uint64_t now) { return {0, std::uint64_t{1} << now}; }

  static std::uint32_t kept(const std::array<int, most>& of, std::uint64_t old, const char* what) {
    if (old >= most || of[old] == nobody) wrong(std::string("a reference is left to a resolved ") + what);
    return static_cast<std::uint32_t>(of[old]);
  }

  const small_world& world;
  std::array<int, most> messages{}, receives{};
  std::vector<small_world::message> fresh;
};

inline bool small_world::is_first_choice(unsigned r) const {
  const auto m = static_cast<unsigned>(receives_[r].got);
  if (!accepts(r, m)) wrong("a receive got a message that it does not accept");
  for (unsigned older = 0; older < r; ++older) {
    if (!receives_[older].gone && accepts(older, m)) return false;
  }
  for (unsigned older = 0; older < m; ++older) {
    if ((resolved_ >> older & 1U) == 0 && accepts(r, older)) return false;
  }
  return true;
}

inline void small_world::resolve_pairs() {
  for (unsigned r = 0; r < receives_.size(); ++r) {
    if (receives_[r].gone || receives_[r].got == nobody || !is_first_choice(r)) continue;
    receives_[r].gone = true;
    resolved_ |= 1U << receives_[r].got;
    r = ~0U;  // it may have been in the way of those before
  }
}

inline void small_world::give_one_form() {
  resolve_pairs();
  names n(*this);
  int kept = 0;
  for (unsigned r = 0; r < receives_.size(); ++r) {
    if (!receives_[r].gone || is_open(r)) n.receives[r] = kept++;
  }
  std::uint32_t slots = 0;
  for (unsigned m = 0; m < messages_.size(); ++m) {
    if ((resolved_ >> m & 1U) != 0) continue;
    message now = messages_[m];
    const int owner = now.given_to != nobody ? now.given_to : now.taken_by;
    now.accepted_by = 0;
    for (unsigned r = 0; r < receives_.size(); ++r) {
      // What has an owner is compared no more, and prefers it to later receives.
      const bool matters = owner == nobody || (static_cast<int>(r) <= owner && !receives_[r].gone);
      if (n.receives[r] != nobody && accepts(r, m) && matters) {
        now.accepted_by |= static_cast<std::uint8_t>(1U << n.receives[r]);
      }
    }
    if (now.given_to != nobody)
      now.given_to = static_cast<int>(n.receive(static_cast<unsigned>(now.given_to)));
    if (now.taken_by != nobody)
      now.taken_by = static_cast<int>(n.receive(static_cast<unsigned>(now.taken_by)));
    if (now.has_slot) now.slot = static_cast<std::uint16_t>(slots++);
    n.messages[m] = static_cast<int>(n.fresh.size());
    now.ticket = static_cast<std::uint32_t>(n.fresh.size());
    n.fresh.push_back(now);
  }
  if (unit_.slots_taken() != slots) wrong("a slot is lost");
  state::rename(unit_, shadow_, n, slots);
  std::vector<receive> left;
  for (unsigned r = 0; r < receives_.size(); ++r) {
    if (n.receives[r] == nobody) continue;
    receive now = receives_[r];
    now.got =
        now.gone || now.got == nobody ? nobody : static_cast<int>(n.message(static_cast<unsigned>(now.got)));
    now.asked_to_cancel = waits(receives_[r]) && now.asked_to_cancel;
    left.push_back(now);
  }
  messages_ = std::move(n.fresh);
  receives_ = std::move(left);
  resolved_ = 0;
}

template <class Put>
void small_world::write(Put&& put) const {
  // With as many cancels as receives, their number follows from the rest.
  put(sends_), put(posts_), put(bounds_->cancels >= bounds_->receives ? 0U : cancels_);
  state::write(unit_, shadow_, put);
  put(messages_.size());
  for (const message& m : messages_) {
    put(m.accepted_by), put(m.given_to + 1), put(m.given_to == nobody ? m.taken_by + 1 : 0);
    put(m.landed), put(m.has_slot);
  }
  put(receives_.size());
  for (const receive& r : receives_) put(r.got + 1), put(r.asked_to_cancel), put(r.gone);
}

// --- steps ----------------------------------------------------------------------------------------

// Unit and shadow share nothing but two queues that each fills at one end and the other empties at the other.
// So a step of one and a step of the other commute, whatever is in the two headers, unless one fills the
// queue that the other finds empty. While a command waits, no step of firmware changes what the unit can do;
// while none waits and an arrival does, no step of the unit changes what firmware can do. In such states the
// steps of one side are enough to meet every state of rest and every error (persistent sets; Godefroid,
// 1996). No step can be put off for ever: there are finitely many.
template <class Visit>
bool small_world::each_step(Visit&& visit) const {
  const bool command = shadow_.command_waiting(), arrival = unit_.arrival_ready();
  const bool of_unit = !bounds_->reduced || command || !arrival, of_firmware = !bounds_->reduced || !command;
  bool moved = false;
  if (of_unit) moved = unit_steps(visit);
  if (of_firmware) moved = firmware_steps(visit) || moved;
  if (!moved) check_rest();
  if (of_unit) new_messages(visit);
  if (of_firmware) new_receives(visit), new_cancels(visit);
  return !moved;
}

template <class Visit>
bool small_world::unit_steps(Visit&& visit) const {
  bool moved = false;
  for (unsigned m = 0; m < messages_.size(); ++m) {
    if (messages_[m].landed) continue;
    moved = true;
    after(visit, [m](small_world& w) {
      w.messages_[m].landed = true;
      w.unit_.landed(w.messages_[m].ticket);
    });
  }
  if (!shadow_.command_waiting()) return moved;
  after(visit, [](small_world& w) { w.unit_.execute(*w.shadow_.take_command()); });
  return true;
}

template <class Visit>
bool small_world::firmware_steps(Visit&& visit) const {
  bool moved = false;
  if (unit_.command_done_ready()) {
    moved = true;
    after(visit, [](small_world& w) { w.take_command_done(); });
  }
  if (unit_.arrival_ready()) {
    moved = true;
    after(visit, [](small_world& w) { w.take_arrival(); });
  }
  protocol::tag_shadow told = shadow_;
  told.report_unexpected();
  if (told == shadow_) return moved;
  ++met_->told_by_nop;
  after(visit, [&told](small_world& w) { w.shadow_ = told; });
  return true;
}

/// Calls with every part of a set of bits, the empty one last.
template <class Call>
void each_subset(unsigned set, Call&& call) {
  for (unsigned part = set;; part = (part - 1) & set) {
    call(part);
    if (part == 0) return;
  }
}

template <class Visit>
void small_world::new_messages(Visit&& visit) const {
  if (sends_ == 0) return;
  unsigned open = 0;
  for (unsigned r = 0; r < receives_.size(); ++r) open |= is_open(r) ? 1U << r : 0U;
  each_subset(open, [&](unsigned accepted_by) {
    for (const bool whole : {true, false}) {
      after(visit, [&](small_world& w) { w.send(accepted_by, whole); });
    }
  });
}

template <class Visit>
void small_world::new_receives(Visit&& visit) const {
  if (posts_ == 0) return;
  unsigned waiting = 0;
  for (unsigned m = 0; m < messages_.size(); ++m) waiting |= waits(messages_[m]) ? 1U << m : 0U;
  each_subset(waiting, [&](unsigned accepts) {
    after(visit, [&](small_world& w) { w.post(accepts, true); });
    if (bounds_->software) after(visit, [&](small_world& w) { w.post(accepts, false); });
  });
}

template <class Visit>
void small_world::new_cancels(Visit&& visit) const {
  for (unsigned r = 0; cancels_ > 0 && r < receives_.size(); ++r) {
    if (!waits(receives_[r]) || receives_[r].asked_to_cancel) continue;
    after(visit, [r](small_world& w) { w.cancel(r); });
  }
}

inline void small_world::send(unsigned accepted_by, bool whole) {
  --sends_;
  protocol::tag_message header;
  header.tag = names::tag_of(static_cast<std::uint8_t>(accepted_by));
  header.va = messages_.size();  // names the message
  const auto v = unit_.arrive(header, whole);
  message m;
  m.accepted_by = static_cast<std::uint8_t>(accepted_by);
  m.ticket = v.ticket;
  if (v.what == protocol::tag_unit::verdict::kind::matched) {
    ++(whole ? met_->matched_whole : met_->matched_in_parts);
    m.taken_by = static_cast<int>(v.buffer);
  } else {
    ++met_->unexpected;
    m.has_slot = true;
    m.slot = v.slot;
  }
  // An unexpected message whose bytes are late is one at which firmware looks late: it allows no more.
  m.landed = whole || (m.has_slot && !bounds_->all_fragments);
  if (m.landed) unit_.landed(v.ticket);
  messages_.push_back(m);
}

inline void small_world::post(unsigned accepts, bool contiguous) {
  --posts_;
  const auto id = static_cast<std::uint32_t>(receives_.size());
  receives_.emplace_back();
  for (unsigned m = 0; m < messages_.size(); ++m) {
    if ((accepts >> m & 1U) != 0) messages_[m].accepted_by |= static_cast<std::uint8_t>(1U << id);
  }
  names n(*this);
  n.fresh = messages_;
  state::rewrite_tags(unit_, shadow_, n);
  const std::uint64_t full = shadow_.statistics().blocked_full;
  const decision d = shadow_.post({id, names::pattern(id), id, 1, contiguous});
  met_->hit_at_post += d.what == decision::kind::hit ? 1 : 0;
  met_->refused_for_room += shadow_.statistics().blocked_full - full;
  conclude(d, d.message);
}

inline void small_world::cancel(unsigned r) {
  --cancels_;
  receives_[r].asked_to_cancel = true;
  const decision d = shadow_.cancel(r);
  met_->cancelled_at_once += d.what == decision::kind::cancelled ? 1 : 0;
  conclude(d, most);
}

inline void small_world::take_arrival() {
  const protocol::tag_completion c = *unit_.pop_arrival();
  const bool unexpected = c.what == protocol::tag_completion::kind::unexpected;
  const decision d = shadow_.arrived(c, static_cast<std::uint32_t>(c.message.va));
  met_->hit_on_arrival += unexpected && d.what == decision::kind::hit ? 1 : 0;
  conclude(d, c.message.va);
}

inline void small_world::take_command_done() {
  const decision d = shadow_.command_done(*unit_.pop_command_done());
  met_->cancelled_by_unit += d.what == decision::kind::cancelled ? 1 : 0;
  conclude(d, most);
}

inline void small_world::give(unsigned m, unsigned r) {
  if (r >= receives_.size() || !waits(receives_[r])) wrong("a receive completes twice");
  if (m >= messages_.size() || messages_[m].given_to != nobody) wrong("a message is given twice");
  if (receives_[r].asked_to_cancel) ++met_->cancelled_too_late;
  receives_[r].got = static_cast<int>(m);
  messages_[m].given_to = static_cast<int>(r);
}

inline void small_world::conclude(const decision& d, std::uint64_t id) {
  const auto m = static_cast<unsigned>(id);
  switch (d.what) {
    case decision::kind::hit:
      if (m >= messages_.size() || !messages_[m].has_slot)
        wrong("firmware completes a receive out of no slot");
      unit_.release(messages_[m].slot);
      messages_[m].has_slot = false;
      return give(m, d.receive);
    case decision::kind::landed:
      if (m >= messages_.size() || messages_[m].taken_by != static_cast<int>(d.receive)) {
        wrong("a receive completes whose buffer has not got the bytes");
      }
      return give(m, d.receive);
    case decision::kind::cancelled:
      if (!waits(receives_.at(d.receive)) || !receives_[d.receive].asked_to_cancel) {
        wrong("a receive is cancelled that has completed, or that nobody cancels");
      }
      receives_[d.receive].gone = true;
      return;
    case decision::kind::nothing:
    case decision::kind::stored:
    case decision::kind::too_late:
    case decision::kind::pending: return;
  }
}

inline void small_world::check_rest() const {
  if (!state::at_rest(unit_, shadow_)) wrong("nothing moves, but something was begun");
  if (state::untold(shadow_) >= interval) wrong("the unit was never told of what firmware has seen");
  if (!state::all_eligible(unit_)) wrong("an entry of the unit never becomes eligible");
  abstract_matcher oracle;
  std::size_t live = 0, waiting = 0;
  for (unsigned r = 0; r < receives_.size(); ++r) {
    if (receives_[r].gone) continue;
    const protocol::tag_pattern wanted = names::pattern(r);
    oracle.receive({r, wanted.tag, wanted.mask});
    if (receives_[r].got != nobody) continue;
    ++live;
    if (receives_[r].asked_to_cancel) wrong("a cancel is never answered");
  }
  for (unsigned m = 0; m < messages_.size(); ++m) {
    oracle.send({m, names::tag_of(messages_[m].accepted_by), 0});
    waiting += messages_[m].given_to == nobody ? 1 : 0;
  }
  for (unsigned r = 0; r < receives_.size(); ++r) {
    if (receives_[r].gone) continue;
    const auto found = oracle.pairs.find(r);
    const int wanted = found == oracle.pairs.end() ? nobody : static_cast<int>(found->second);
    if (receives_[r].got != wanted) {
      wrong("a receive got message " + std::to_string(receives_[r].got) + "; expected " +
            std::to_string(wanted));
    }
  }
  if (shadow_.unexpected_messages() != waiting) wrong("a message is lost");
  if (state::live(shadow_) != live) wrong("a receive is lost");
  if (shadow_.indexes_used() != unit_.entries_used()) wrong("an index is lost");
}

}  // namespace diecast::test
