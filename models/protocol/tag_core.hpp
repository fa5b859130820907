// SPDX-License-Identifier: Apache-2.0
// The tag-matching unit of one PE as registers and messages, without time: the matching list
// (models/protocol/tag_unit.hpp), what firmware sends and reads through it, and the completions of both.
// hw/tag_match and sw/mock_machine wrap the same object, so that firmware sees one unit.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "models/abi/registers.hpp"
#include "models/abi/wire.hpp"
#include "models/protocol/tag_unit.hpp"
#include "models/types/ids.hpp"

namespace diecast::protocol {

/// A message to be cut into packets: `payload` bytes from `source` after the header.
struct tag_send_request {
  abi::address to{};  ///< mailbox of the receiving PE
  abi::tag_fields fields;
  abi::address source{};
};

/// Bytes to be fetched from another PE's memory into this one's.
struct tag_read_request {
  abi::address from{};
  abi::address to{};
  std::uint64_t bytes{};
  std::uint64_t token{};  ///< argument of read_done()
};

/// Effects of a register write or an arrival; each at most once.
struct tag_effects {
  std::optional<tag_send_request> send;
  std::optional<tag_read_request> read;
  std::optional<tag_command> command;  ///< argument of execute(), called when its turn comes
};

class tag_core {
 public:
  tag_core(pe_coord self, std::uint32_t entries, std::uint64_t max_packet_bytes,
           tag_unit::eligibility rule = tag_unit::eligibility::by_count);

  [[nodiscard]] static bool owns(abi::register_offset reg) {
    return reg >= abi::tm_base && reg < abi::tm_end;
  }

  /// Register access by firmware. Throws std::out_of_range for a register that does not exist or not in
  /// this direction, and for a slot or size that cannot be.
  tag_effects write_register(abi::register_offset reg, std::uint64_t value);
  [[nodiscard]] std::uint64_t read_register(abi::register_offset reg);
  /// By the host's backdoor: no pops. Throws as write_register does.
  void debug_write(abi::register_offset reg, std::uint64_t value);
  [[nodiscard]] std::uint64_t debug_read(abi::register_offset reg) const;

  /// Executes a command when its turn has come.
  void execute(const tag_command& command) { unit_.execute(command); }

  /// Place of a message whose header has arrived. Precondition: an op other than fin and credit.
  struct placement {
    abi::address to{};
    std::uint64_t room{};       ///< bytes of the payload that are written; the rest is dropped
    std::uint32_t looked_at{};  ///< entries compared
    std::uint32_t ticket{};
    std::optional<tag_send_request> credit;  ///< to be returned at once
  };
  [[nodiscard]] placement arrive(const abi::tag_fields& message);
  /// Entries that a message with this tag is compared with.
  [[nodiscard]] std::uint32_t cost_of(const abi::tag_fields& message) const;
  /// Every byte of its payload is written. A matched rendezvous then reads the rest, or sends FIN.
  [[nodiscard]] tag_effects payload_written(std::uint32_t ticket);
  /// fin or credit: messages that complete a send here.
  void complete(const abi::tag_fields& message);
  /// The source of the message with this id has been read.
  void source_read(std::uint16_t id);
  /// The bytes of a read are written: the answer to a rendezvous (FIN), or a completion.
  [[nodiscard]] tag_effects read_done(std::uint64_t token);

  /// True once when firmware has requested an event and a completion can be popped.
  [[nodiscard]] bool take_event() {
    if (!armed_ || (!done_ready() && !unit_.arrival_ready())) return false;
    armed_ = false;
    return true;
  }

  [[nodiscard]] const tag_unit& unit() const { return unit_; }

 private:
  struct incoming {
    std::uint32_t ticket{};
    abi::tag_fields message;
    bool matched{};
    abi::address buffer{};
    std::uint64_t room{};
  };

  [[nodiscard]] bool done_ready() const { return !done_.empty() || unit_.command_done_ready(); }
  [[nodiscard]] std::uint64_t pop_done();
  [[nodiscard]] std::uint64_t pop_arrival();
  [[nodiscard]] tag_command command_of(std::uint64_t word) const;
  [[nodiscard]] tag_effects send(std::uint64_t word) const;
  [[nodiscard]] tag_effects release(std::uint64_t slot);
  [[nodiscard]] tag_send_request answer(const abi::tag_fields& message, abi::tag_message_op op) const;
  [[nodiscard]] tag_effects landed(const incoming& message);
  [[nodiscard]] std::uint64_t* stored(abi::register_offset reg);

  pe_coord self_;
  std::uint64_t max_packet_bytes_;
  tag_unit unit_;
  std::uint64_t ring_base_{}, slot_bytes_{}, slots_{}, peer_credits_{}, heap_base_{}, heap_bytes_{};
  std::uint64_t tag_{}, mask_{}, buffer_{}, room_{};
  std::uint64_t send_to_{}, send_source_{}, send_length_{}, read_from_{}, read_to_{}, check_{};
  bool armed_{};
  tag_message last_;  ///< popped last from the arrivals
  std::deque<abi::tm_done_word> done_;
  std::uint16_t unexpected_popped_{};
  std::vector<incoming> incoming_;
  std::vector<abi::tag_fields> slot_owner_;  ///< by slot: whose credit it is
};

}  // namespace diecast::protocol
