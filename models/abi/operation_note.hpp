// SPDX-License-Identifier: Apache-2.0
// What firmware does with other PEs beside its queue pairs, as it announces it: tag-matched messages and
// barriers. For the flight recorder and reports of hangs; nothing of the machine depends on it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/abi/firmware_tasks.hpp"
#include "models/types/ids.hpp"

namespace diecast::abi {

/// receipt: at the end of a program, until a peer has taken what it was sent.
enum class operation_kind : std::uint8_t { send, receive, probe, receipt, barrier };
[[nodiscard]] const char* to_string(operation_kind k);

enum class operation_phase : std::uint8_t {
  posted,     ///< firmware has asked for it
  started,    ///< a send is with the unit; a receive has its message: peer, tag and bytes are that message's
  awaited,    ///< some activity of the PE does nothing else until it has ended
  resumed,    ///< that activity goes on, whatever became of it
  completed,  ///< the end
  cancelled   ///< another one
};

struct operation_note {
  operation_kind kind{};
  operation_phase phase{};
  std::uint32_t id{};              ///< one per kind, PE and open operation
  std::optional<pe_coord> peer{};  ///< the other end; of a barrier, whose flag is awaited. None: anybody
  std::uint32_t group{};           ///< communicator; team slot of a barrier
  /// Every core of every member of a barrier, by rank. With `posted` only, valid during the call only.
  std::span<const pe_coord> members{};
  std::optional<std::uint32_t> tag{};  ///< none: any
  std::uint64_t bytes{};               ///< bytes of the message; for a receive without one, of its buffer
  std::uint32_t count{};               ///< value of the flags of a barrier; messages of a receipt
  std::string_view algorithm{};        ///< algorithm of a barrier; static storage
  std::string_view stage{};            ///< what of the barrier is awaited: "round"; static storage
  std::uint32_t stage_number{};
  task_id task{kernel_task};  ///< firmware task; the machine adds it
};

/// "receive from sip0.cube1.pe2, tag 5 of communicator 0", "dissemination of team 0, count 4, round 1".
[[nodiscard]] std::string describe(const operation_note& n);

/// What the activities of one PE wait for, oldest first.
class awaited_operations {
 public:
  void hear(const operation_note& n);
  [[nodiscard]] const std::vector<operation_note>& list() const { return list_; }

 private:
  std::vector<operation_note> list_;
};

// How a step that firmware has marked reads in reports.

/// step_marker::index of a step that has no number.
inline constexpr std::uint32_t no_step_index = UINT32_MAX;

/// "all_gather 3", or the name alone.
inline std::string step_text(std::string_view name, std::uint32_t index) {
  std::string text{name};
  if (index == no_step_index) return text;
  text += ' ';
  text += std::to_string(index);
  return text;
}

// How the tag of a message reads in reports.

/// "tag 5 of communicator 0"; without a tag, "any tag of communicator 0".
inline std::string tag_text(std::optional<std::uint64_t> tag, std::uint64_t communicator) {
  return (tag ? "tag " + std::to_string(*tag) : "any tag") + " of communicator " +
         std::to_string(communicator);
}

}  // namespace diecast::abi
