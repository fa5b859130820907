// SPDX-License-Identifier: Apache-2.0
// The tag-matching unit of one PE: pure, copyable, without time. An ordered list of posted receives, a count
// of unexpected messages, the slots those messages lie in, and two queues of completions for firmware.
// hw/tag_match and sw/mock_machine wrap the same object; models/protocol/tag_shadow.hpp is the other end.
//
// The rule that keeps both ends in order: every command carries the number of unexpected messages firmware
// has seen. While that number is below the unit's, a message that firmware has not seen may belong to the
// receive a command has just appended, so that receive must not match yet. Once a command's number equals the
// unit's, every entry may match. The numbers are compared modulo 2^16: this requires that fewer messages than
// that arrive between firmware's last poll and the execution of its command, which the bounded ring and the
// short command latency guarantee.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace diecast::protocol {

/// What a receive accepts: tags that agree with `tag` in every bit set in `mask`.
struct tag_pattern {
  std::uint64_t tag{};
  std::uint64_t mask{~std::uint64_t{0}};
  [[nodiscard]] bool accepts(std::uint64_t other) const { return ((other ^ tag) & mask) == 0; }
  auto operator<=>(const tag_pattern&) const = default;
};

/// `op` of a message header.
enum class tag_op : std::uint8_t { no_tag, eager, rndv, fin };

/// A message, from its headers. The rendezvous header {va, rkey, length} names what the receiver reads.
struct tag_message {
  tag_op op{tag_op::eager};
  std::uint32_t app_ctx{};
  std::uint64_t tag{};
  std::uint32_t payload_bytes{};  ///< bytes sent with the header
  std::uint64_t va{};             ///< rndv: address of the whole message at its sender
  std::uint32_t rkey{};           ///< rndv: the sender's name for the transfer, returned in fin
  std::uint64_t length{};         ///< bytes of the whole message; eager: payload_bytes
  std::uint64_t source{};         ///< abi::pack_peer of the PE that sent it
  std::uint32_t check{};          ///< the sender's TM_CHECK
  auto operator<=>(const tag_message&) const = default;
};

/// A command of firmware. `seen` is its count of unexpected messages, modulo the unit's.
struct tag_command {
  enum class kind : std::uint8_t { append, remove, nop };
  kind what{kind::nop};
  std::uint32_t seen{};
  std::uint16_t index{};   ///< append: name of the new entry; remove: entry to take out
  tag_pattern wanted;      ///< append
  std::uint64_t buffer{};  ///< append: where the bytes go
  std::uint64_t room{};    ///< append: bytes that fit there
  auto operator<=>(const tag_command&) const = default;
};

struct tag_completion {
  enum class kind : std::uint8_t {
    append,        ///< the entry is in the list
    remove,        ///< ok: taken out; otherwise it had been consumed
    consumed,      ///< a message has matched the entry; its bytes are still in flight
    expected,      ///< the bytes of a consumed entry are in its buffer
    consumed_msg,  ///< consumed and landed at once
    unexpected,    ///< a message that no entry accepted lies in a slot
    no_tag         ///< a message outside matching lies in a slot
  };
  kind what{};
  bool ok{true};  ///< remove only
  std::uint16_t index{};
  std::uint16_t slot{};  ///< unexpected, no_tag: to be released by firmware
  tag_message message;   ///< completed message
  auto operator<=>(const tag_completion&) const = default;
};

class tag_unit {
 public:
  static constexpr std::uint32_t counter_modulus = 1U << 16;

  /// How the unit decides when new entries may match. `never_wait` is a defect: fault tag_list_race.
  enum class eligibility : std::uint8_t { by_count, never_wait };

  /// `entries` 0 turns the list off: every message is unexpected. `slots` unexpected messages fit.
  tag_unit(std::uint32_t entries, std::uint32_t slots, std::uint32_t modulus = counter_modulus,
           eligibility rule = eligibility::by_count)
      : capacity_(entries), modulus_(modulus), rule_(rule) {
    add_slots(slots);
  }

  /// The result of matching a message whose first bytes have arrived.
  struct verdict {
    enum class kind : std::uint8_t { matched, unexpected, no_tag };
    kind what{};
    std::uint16_t index{};      ///< matched: the entry
    std::uint64_t buffer{};     ///< matched: where its bytes go
    std::uint64_t room{};       ///< matched: how many of them
    std::uint16_t slot{};       ///< otherwise: where its bytes go
    std::uint32_t looked_at{};  ///< entries compared, for the time it takes
    std::uint32_t ticket{};     ///< argument of landed()
  };

  /// Executes one command. Throws std::logic_error for errors of firmware: an index in use,
  /// more entries than there are.
  void execute(const tag_command& command) {
    switch (command.what) {
      case tag_command::kind::append: append(command); break;
      case tag_command::kind::remove: remove(command.index); break;
      case tag_command::kind::nop: break;
    }
    if (command.seen == unexpected_count_) make_all_eligible();
  }

  /// A message arrives; messages of one source keep their order. `whole`: its bytes land before anything else
  /// is reported, so that taken and landed are one completion. Throws std::overflow_error when every slot is
  /// taken: a sender had no credit.
  verdict arrive(const tag_message& message, bool whole) {
    verdict v;
    v.ticket = next_ticket_++;
    if (message.op == tag_op::no_tag) {
      v.what = verdict::kind::no_tag;
      v.slot = take_slot();
      report({tag_completion::kind::no_tag, true, 0, v.slot, message}, v.ticket);
      return v;
    }
    const std::size_t at = first_match(message.tag);
    v.looked_at = comparisons(message.tag);
    if (at < list_.size()) {
      consume(at, message, whole, v);
    } else {
      v.what = verdict::kind::unexpected;
      v.slot = take_slot();
      unexpected_count_ = (unexpected_count_ + 1) % modulus_;
      report({tag_completion::kind::unexpected, true, 0, v.slot, message}, v.ticket);
    }
    return v;
  }

  /// Every byte of the message is at the place of its verdict, a rendezvous read included.
  void landed(std::uint32_t ticket) {
    for (std::size_t i = 0; i < landing_.size(); ++i) {
      if (landing_[i].ticket != ticket) continue;
      arrivals_.push_back({landing_[i].completion, nothing});
      landing_.erase(landing_.begin() + static_cast<std::ptrdiff_t>(i));
      return;
    }
    for (pending_report& r : arrivals_) {
      if (r.ticket != ticket) continue;
      r.ticket = nothing;
      return;
    }
    throw std::logic_error("tag unit: message " + std::to_string(ticket) + " is not landing");
  }

  /// Completions of commands, in their order.
  std::optional<tag_completion> pop_command_done() { return pop(commands_done_); }
  /// Completions of messages, in the order the unit took or refused them; empty while the bytes of the
  /// next one have not landed.
  std::optional<tag_completion> pop_arrival() {
    if (!arrival_ready()) return std::nullopt;
    return pop_front(arrivals_).completion;
  }
  [[nodiscard]] bool command_done_ready() const { return !commands_done_.empty(); }
  [[nodiscard]] bool arrival_ready() const {
    return !arrivals_.empty() && arrivals_.front().ticket == nothing;
  }

  /// Firmware no longer needs the slot of an unexpected message. Throws std::logic_error if it is free.
  void release(std::uint16_t slot) {
    if (slot >= slot_taken_.size() || !slot_taken_[slot])
      throw std::logic_error("tag unit: slot " + std::to_string(slot) + " is not taken");
    slot_taken_[slot] = false;
  }
  void add_slots(std::uint32_t slots) { slot_taken_.resize(slot_taken_.size() + slots, false); }

  /// Entries that a message with this tag is compared with.
  [[nodiscard]] std::uint32_t comparisons(std::uint64_t tag) const {
    return static_cast<std::uint32_t>(std::min(first_match(tag) + 1, list_.size()));
  }
  [[nodiscard]] std::uint32_t unexpected_count() const { return unexpected_count_; }
  [[nodiscard]] std::size_t entries_used() const { return list_.size(); }
  [[nodiscard]] std::uint32_t entries() const { return capacity_; }
  [[nodiscard]] std::size_t slots_taken() const {
    std::size_t n = 0;
    for (const bool taken : slot_taken_) n += taken ? 1 : 0;
    return n;
  }
  /// Whether nothing is listed, landing, unreported or unreleased.
  [[nodiscard]] bool idle() const {
    return list_.empty() && landing_.empty() && arrivals_.empty() && commands_done_.empty() &&
           slots_taken() == 0;
  }

  auto operator<=>(const tag_unit&) const = default;

 private:
  friend struct tag_state;  ///< lets tests compare states
  static constexpr std::uint32_t nothing = UINT32_MAX;

  struct entry {
    tag_pattern wanted;
    std::uint64_t buffer{};
    std::uint64_t room{};
    std::uint16_t index{};
    bool eligible{};
    auto operator<=>(const entry&) const = default;
  };
  struct pending_report {
    tag_completion completion;
    std::uint32_t ticket{};  ///< message that must land first; `nothing` when it has
    auto operator<=>(const pending_report&) const = default;
  };

  template <class Item>
  static Item pop_front(std::vector<Item>& queue) {
    Item first = queue.front();
    queue.erase(queue.begin());
    return first;
  }
  static std::optional<tag_completion> pop(std::vector<tag_completion>& queue) {
    if (queue.empty()) return std::nullopt;
    return pop_front(queue);
  }

  [[nodiscard]] std::size_t position(std::uint16_t index) const {
    std::size_t at = 0;
    while (at < list_.size() && list_[at].index != index) ++at;
    return at;
  }

  void append(const tag_command& c) {
    if (list_.size() == capacity_ || position(c.index) < list_.size()) {
      throw std::logic_error("tag unit: APPEND of index " + std::to_string(c.index) + " with " +
                             std::to_string(list_.size()) + " of " + std::to_string(capacity_) +
                             " entries used");
    }
    list_.push_back({c.wanted, c.buffer, c.room, c.index, rule_ == eligibility::never_wait});
    commands_done_.push_back({tag_completion::kind::append, true, c.index, 0, {}});
  }

  void remove(std::uint16_t index) {
    const std::size_t at = position(index);
    const bool found = at < list_.size();
    if (found) list_.erase(list_.begin() + static_cast<std::ptrdiff_t>(at));
    commands_done_.push_back({tag_completion::kind::remove, found, index, 0, {}});
  }

  void make_all_eligible() {
    for (entry& e : list_) e.eligible = true;
  }

  [[nodiscard]] std::size_t first_match(std::uint64_t tag) const {
    std::size_t at = 0;
    while (at < list_.size() && !(list_[at].eligible && list_[at].wanted.accepts(tag))) ++at;
    return at;
  }

  void consume(std::size_t at, const tag_message& message, bool whole, verdict& v) {
    v.what = verdict::kind::matched;
    v.index = list_[at].index;
    v.buffer = list_[at].buffer;
    v.room = list_[at].room;
    list_.erase(list_.begin() + static_cast<std::ptrdiff_t>(at));
    if (whole) return report({tag_completion::kind::consumed_msg, true, v.index, 0, message}, v.ticket);
    report({tag_completion::kind::consumed, true, v.index, 0, message}, nothing);
    landing_.push_back({{tag_completion::kind::expected, true, v.index, 0, message}, v.ticket});
  }

  void report(const tag_completion& completion, std::uint32_t ticket) {
    arrivals_.push_back({completion, ticket});
  }

  std::uint16_t take_slot() {
    for (std::size_t slot = 0; slot < slot_taken_.size(); ++slot) {
      if (slot_taken_[slot]) continue;
      slot_taken_[slot] = true;
      return static_cast<std::uint16_t>(slot);
    }
    throw std::overflow_error("tag unit: unexpected message with all " + std::to_string(slot_taken_.size()) +
                              " slots taken; its sender had no credit");
  }

  std::uint32_t capacity_;
  std::uint32_t modulus_;
  eligibility rule_;
  std::uint32_t unexpected_count_{};
  std::uint32_t next_ticket_{};
  std::vector<entry> list_;  ///< in the order of posting
  std::vector<bool> slot_taken_;
  std::vector<pending_report> arrivals_;  ///< arrivals in the order of their verdicts
  std::vector<pending_report> landing_;   ///< consumed, not landed
  std::vector<tag_completion> commands_done_;
};

}  // namespace diecast::protocol
