// SPDX-License-Identifier: Apache-2.0
// Faults as data, and names of queue pairs in texts.
//
// The names of queue pairs in a run are those of its pattern or program, which engines and firmware do not
// have. Their texts have a mark in place of each name until they are printed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/types/error.hpp"
#include "models/types/ids.hpp"

namespace diecast::comm {

/// The mark of a queue pair of `owner`; its name is filled up with spaces to `width`.
[[nodiscard]] std::string queue_pair_mark(pe_coord owner, direction d, unsigned width = 0);
/// The text with every mark replaced by the name that `names` gives.
[[nodiscard]] std::string with_names(std::string_view marked, const direction_namer& names = generic_names());

}  // namespace diecast::comm

namespace diecast {

/// A fault found by a block, firmware or a check. fault_record.cpp makes its sentence.
enum class fault_kind : std::uint8_t {
  other,                   ///< a broken rule without a kind of its own
  checksum_mismatch,       ///< the bytes of a packet do not have the checksum that it carries
  packet_number,           ///< a tag-matched packet is not the next one of its sender
  surplus_bytes,           ///< more bytes of a message arrived than it has
  no_open_message,         ///< bytes arrived of a message whose first packet has not, or that is complete
  interleaved_messages,    ///< two messages of one sender arrive at a time
  unexpected_answer,       ///< an answer to a read that is not open
  token_sequence,          ///< a token is not the next one of its slot ring
  token_rejected,          ///< a token fits no slot
  credit_rejected,         ///< a credit returns no slot in use
  unknown_send,            ///< the tag-matching unit completes a send that is not open
  messages_left,           ///< a program ends with messages that it has not received
  bad_call,                ///< a call through a corrupted table
  tag_list_contradiction,  ///< the tag-matching unit contradicts firmware's commands
  barrier_left_early,      ///< a PE left a barrier before all had entered it
};
[[nodiscard]] const char* to_string(fault_kind k);

struct fault_record {
  fault_kind kind{};
  std::string place{};             ///< the instance that found it, as in its message
  std::optional<pe_coord> pe{};    ///< the PE at `place`
  std::string sender{};            ///< sender of what arrived
  std::optional<pe_coord> from{};  ///< the PE that sent it
  std::optional<std::uint16_t> queue_pair{}, from_queue_pair{};
  std::uint64_t sequence{}, expected{}, value{};  ///< meaning depends on the kind of fault
  std::uint64_t address{};                        ///< address of the slot
  struct {
    std::uint64_t first{}, end{};
  } ring{};  ///< the slot ring that a token was matched with
  std::uint64_t offset{}, bytes{}, message_bytes{}, tag{};
  bool tag_matched{};                ///< the packet belongs to a tag-matched message
  std::vector<std::string> links{};  ///< links that the packet crossed
  std::string text{};                ///< details of the finder; queue pairs are marks
  std::string dump{};                ///< registers, a queue pair a line, with marks
};

/// The sentence that users read, with marks for the names of queue pairs.
[[nodiscard]] std::string marked_sentence(const fault_record& r);

/// A fault as an exception: what() names queue pairs by their directions, text() as the run calls them.
class fault_error : public protocol_error {
 public:
  explicit fault_error(fault_record r)
      : protocol_error(comm::with_names(marked_sentence(r))), record_(std::move(r)) {}
  [[nodiscard]] const fault_record& record() const { return record_; }
  [[nodiscard]] std::string text(const comm::direction_namer& names) const {
    return comm::with_names(marked_sentence(record_), names);
  }

 private:
  fault_record record_;
};

}  // namespace diecast
