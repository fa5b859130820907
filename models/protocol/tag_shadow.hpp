// SPDX-License-Identifier: Apache-2.0
// Firmware's end of the tag-matching unit: every live receive in the order of posting, the unexpected
// messages in the order the unit refused them, and the decision which receives the unit may hold. Pure,
// copyable, without time: it returns decisions, which sw/runtime carries out.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "models/protocol/tag_unit.hpp"

namespace diecast::protocol {

/// The unit contradicts firmware's commands.
class tag_contradiction : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// Which receives are given to the unit.
struct offload_policy {
  std::uint32_t entries{};                ///< entries of the unit
  std::uint64_t min_bytes{0};             ///< shorter receives stay in software
  bool wildcards{true};                   ///< receives whose mask is not full, too
  std::uint64_t force_bytes{UINT64_MAX};  ///< a receive this long offloads the software ones before it, too
  std::uint32_t command_interval{1U << 14};  ///< most unexpected messages between two commands
  std::uint32_t modulus{tag_unit::counter_modulus};
  auto operator<=>(const offload_policy&) const = default;
};

/// A receive as firmware posts it. `id` is the caller's name for it.
struct posted_receive {
  std::uint32_t id{};
  tag_pattern wanted;
  std::uint64_t buffer{};
  std::uint64_t room{};
  bool contiguous{true};
  auto operator<=>(const posted_receive&) const = default;
};

class tag_shadow {
 public:
  /// `seen`: unexpected messages that firmware has seen before; those in flight to it do not count.
  explicit tag_shadow(const offload_policy& policy, std::uint32_t seen = 0)
      : policy_(policy), seen_(seen), reported_(seen), indexes_(policy.entries) {}

  struct counts {
    std::uint64_t posted{}, matched_in_hardware{}, matched_in_software{}, cancelled{};
    std::uint64_t blocked_full{}, blocked_wildcard{}, blocked_software_pending{}, blocked_non_contiguous{};
    std::uint64_t blocked_short{}, offloaded{};
    /// Statistics are not part of the state: two shadows that differ only in them behave alike.
    bool operator==(const counts&) const { return true; }
    std::strong_ordering operator<=>(const counts&) const { return std::strong_ordering::equal; }
  };

  /// The decision of a call. `searched`: list elements compared, for the time it takes.
  struct decision {
    enum class kind : std::uint8_t {
      nothing,
      hit,        ///< receive `receive` gets the unexpected message `message`
      stored,     ///< the message waits in the unexpected list
      landed,     ///< receive `receive` has its bytes
      cancelled,  ///< receive `receive` is gone
      too_late,   ///< cancel: it completes normally
      pending     ///< cancel: the answer comes with a completion of the unit
    };
    kind what{kind::nothing};
    std::uint32_t receive{};
    std::uint32_t message{};
    std::uint32_t searched{};
  };

  /// Posts a receive: a waiting unexpected message satisfies it (hit), or it joins the list (nothing).
  decision post(const posted_receive& r) {
    ++counts_.posted;
    decision d = extract(r.wanted);
    d.receive = r.id;
    if (d.what == decision::kind::hit) {
      ++counts_.matched_in_software;
      return d;
    }
    live_.push_back({r, no_index, false});
    if (r.room >= policy_.force_bytes) force();
    try_offload();
    return d;
  }

  /// The oldest unexpected message that the pattern accepts; it stays.
  [[nodiscard]] decision probe(const tag_pattern& wanted) const {
    decision d;
    for (const waiting_message& m : unexpected_) {
      ++d.searched;
      if (!wanted.accepts(m.tag)) continue;
      d.what = decision::kind::hit;
      d.message = m.id;
      break;
    }
    return d;
  }
  /// probe() that removes the message from the list: no receive gets it any more.
  decision extract(const tag_pattern& wanted) {
    const decision d = probe(wanted);
    if (d.what == decision::kind::hit)
      unexpected_.erase(unexpected_.begin() + static_cast<std::ptrdiff_t>(d.searched - 1));
    return d;
  }

  /// Cancels a receive, if nothing has matched it.
  decision cancel(std::uint32_t id) {
    for (std::size_t i = 0; i < live_.size(); ++i) {
      live_receive& r = live_[i];
      if (r.posted.id != id) continue;
      if (r.index == no_index) {
        erase(i);
        ++counts_.cancelled;
        return {decision::kind::cancelled, id, 0, 0};
      }
      r.cancelling = true;
      request_removal(r.index);
      return {decision::kind::pending, id, 0, 0};
    }
    return {decision::kind::too_late, id, 0, 0};
  }

  /// A completion of a command. Throws tag_contradiction when the unit contradicts firmware's commands.
  decision command_done(const tag_completion& c) {
    index_state& at = indexes_.at(c.index);
    decision d;
    if (c.what == tag_completion::kind::append) {
      at.appending = false;
    } else {
      at.removing = false;
      if (c.ok) {
        at.occupied = false;
        d = removed(c.index);
      } else if (at.forced) {
        throw tag_contradiction("tag shadow: entry " + std::to_string(c.index) +
                                " was consumed by the unit after firmware had completed its receive");
      }
      at.forced = false;
    }
    return d;
  }

  /// A completion of a message. `id`: the caller's name for it, should it be unexpected.
  decision arrived(const tag_completion& c, std::uint32_t id) {
    switch (c.what) {
      case tag_completion::kind::consumed: return consumed(c.index);
      case tag_completion::kind::expected: return landed(c.index);
      case tag_completion::kind::consumed_msg: (void)consumed(c.index); return landed(c.index);
      case tag_completion::kind::unexpected: return unexpected(c.message.tag, id);
      default: return {};
    }
  }

  /// Gives the unit a NOP when firmware has handled unexpected messages that no command has reported, and
  /// entries of the unit wait for that. Called when there is nothing else to do.
  void report_unexpected() {
    if (reported_ == seen_ || offloaded() == 0) return;
    command({tag_command::kind::nop, seen_, 0, {}, 0, 0});
  }

  /// The oldest command for the unit that has not been taken yet; the caller writes it to the unit.
  std::optional<tag_command> take_command() {
    if (commands_.empty()) return std::nullopt;
    const tag_command first = commands_.front();
    commands_.erase(commands_.begin());
    return first;
  }

  [[nodiscard]] bool command_waiting() const { return !commands_.empty(); }

  [[nodiscard]] const counts& statistics() const { return counts_; }
  [[nodiscard]] std::size_t unexpected_messages() const { return unexpected_.size(); }
  [[nodiscard]] std::size_t indexes_used() const {
    std::size_t n = 0;
    for (const index_state& i : indexes_) n += i.free() ? 0 : 1;
    return n;
  }
  /// Whether nothing is posted or unexpected, and no command is unanswered.
  [[nodiscard]] bool idle() const {
    return live_.empty() && unexpected_.empty() && commands_.empty() && landing_.empty() &&
           indexes_used() == 0;
  }

  auto operator<=>(const tag_shadow&) const = default;

 private:
  friend struct tag_state;  ///< lets tests compare states
  static constexpr std::uint16_t no_index = UINT16_MAX;

  struct live_receive {
    posted_receive posted;
    std::uint16_t index{no_index};  ///< index of its entry in the unit
    bool cancelling{};
    auto operator<=>(const live_receive&) const = default;
  };
  struct waiting_message {
    std::uint32_t id{};
    std::uint64_t tag{};
    auto operator<=>(const waiting_message&) const = default;
  };
  struct landing_receive {
    std::uint32_t id{};
    std::uint16_t index{};
    auto operator<=>(const landing_receive&) const = default;
  };
  /// An index is free again when its APPEND has been answered, no REMOVE is unanswered, and its entry has
  /// left the list by arrival or removal.
  struct index_state {
    bool occupied{}, appending{}, removing{};
    bool forced{};  ///< software has completed the receive: the removal in progress must succeed
    [[nodiscard]] bool free() const { return !occupied && !appending && !removing; }
    auto operator<=>(const index_state&) const = default;
  };

  void erase(std::size_t at) { live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(at)); }

  void command(const tag_command& c) {
    reported_ = c.seen;
    commands_.push_back(c);
  }

  [[nodiscard]] std::size_t offloaded() const {
    std::size_t n = 0;
    while (n < live_.size() && live_[n].index != no_index) ++n;
    return n;
  }
  [[nodiscard]] std::uint16_t free_index() const {
    for (std::size_t i = 0; i < indexes_.size(); ++i)
      if (indexes_[i].free()) return static_cast<std::uint16_t>(i);
    return no_index;
  }

  /// Offloads the last receive, if the policy allows it and every live one before it is in the unit.
  void try_offload() {
    live_receive& r = live_.back();
    if (policy_.entries == 0 || r.index != no_index) return;
    const bool wild = r.posted.wanted.mask != ~std::uint64_t{0};
    if (offloaded() + 1 < live_.size()) {
      ++counts_.blocked_software_pending;
    } else if (!r.posted.contiguous) {
      ++counts_.blocked_non_contiguous;
    } else if (wild && !policy_.wildcards) {
      ++counts_.blocked_wildcard;
    } else if (r.posted.room < policy_.min_bytes) {
      ++counts_.blocked_short;
    } else if (!offload(r)) {
      ++counts_.blocked_full;
    }
  }

  bool offload(live_receive& r) {
    const std::uint16_t index = free_index();
    if (index == no_index) return false;
    indexes_[index] = {true, true, false, false};
    r.index = index;
    ++counts_.offloaded;
    command({tag_command::kind::append, seen_, index, r.posted.wanted, r.posted.buffer, r.posted.room});
    return true;
  }

  /// Offloads the receives in software in order, of any length, until one cannot be offloaded.
  void force() {
    for (live_receive& r : live_) {
      if (r.index != no_index) continue;
      const bool wild = r.posted.wanted.mask != ~std::uint64_t{0};
      if (!r.posted.contiguous || (wild && !policy_.wildcards) || !offload(r)) return;
    }
  }

  void request_removal(std::uint16_t index) {
    if (indexes_[index].removing) return;
    indexes_[index].removing = true;
    command({tag_command::kind::remove, seen_, index, {}, 0, 0});
  }

  /// The unit took entry `index` out: the end of a cancellation, unless software completed its receive.
  decision removed(std::uint16_t index) {
    for (std::size_t i = 0; i < live_.size(); ++i) {
      if (live_[i].index != index) continue;
      const std::uint32_t id = live_[i].posted.id;
      erase(i);
      ++counts_.cancelled;
      return {decision::kind::cancelled, id, 0, 0};
    }
    return {};
  }

  decision consumed(std::uint16_t index) {
    for (std::size_t i = 0; i < live_.size(); ++i) {
      if (live_[i].index != index) continue;
      landing_.push_back({live_[i].posted.id, index});
      erase(i);
      ++counts_.matched_in_hardware;
      return {};
    }
    throw tag_contradiction("tag shadow: entry " + std::to_string(index) +
                            " is consumed, but no receive is offloaded there");
  }

  decision landed(std::uint16_t index) {
    for (std::size_t i = 0; i < landing_.size(); ++i) {
      if (landing_[i].index != index) continue;
      const std::uint32_t id = landing_[i].id;
      landing_.erase(landing_.begin() + static_cast<std::ptrdiff_t>(i));
      indexes_[index].occupied = false;
      return {decision::kind::landed, id, 0, 0};
    }
    throw tag_contradiction("tag shadow: entry " + std::to_string(index) +
                            " has landed, but was not consumed");
  }

  /// A receive whose REMOVE is in progress takes no unexpected message. That removal succeeds: had the entry
  /// been consumed, CONSUMED would have come first. But it may have been executed already, and messages that
  /// the receive would have had to take before this one may have matched later entries.
  decision unexpected(std::uint64_t tag, std::uint32_t id) {
    seen_ = (seen_ + 1) % policy_.modulus;
    decision d{decision::kind::stored, 0, id, 0};
    for (std::size_t i = 0; i < live_.size(); ++i) {
      ++d.searched;
      if (live_[i].cancelling || !live_[i].posted.wanted.accepts(tag)) continue;
      d.what = decision::kind::hit;
      d.receive = live_[i].posted.id;
      complete_in_software(i);
      break;
    }
    if (d.what == decision::kind::stored) unexpected_.push_back({id, tag});
    if ((seen_ + policy_.modulus - reported_) % policy_.modulus >= policy_.command_interval)
      command({tag_command::kind::nop, seen_, 0, {}, 0, 0});
    return d;
  }

  void complete_in_software(std::size_t at) {
    const std::uint16_t index = live_[at].index;
    erase(at);
    ++counts_.matched_in_software;
    if (index == no_index) return;
    indexes_[index].forced = true;
    request_removal(index);
  }

  offload_policy policy_;
  std::uint32_t seen_{};                     ///< unexpected messages, modulo the unit's count
  std::uint32_t reported_{};                 ///< how many of them the last command reported
  std::vector<live_receive> live_;           ///< not matched, in the order of posting
  std::vector<landing_receive> landing_;     ///< consumed by the unit, bytes in flight
  std::vector<waiting_message> unexpected_;  ///< in the order the unit refused them
  std::vector<index_state> indexes_;
  std::vector<tag_command> commands_;
  counts counts_;
};

}  // namespace diecast::protocol
