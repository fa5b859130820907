// SPDX-License-Identifier: Apache-2.0
// The wait-for graph when nothing moves any more: a pure function of dumped registers and packets in flight.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/abi/hal.hpp"
#include "models/analysis/barrier_checker.hpp"
#include "models/comm/install_plan.hpp"
#include "models/events/events.hpp"
#include "models/protocol/ipcq_core.hpp"
#include "models/types/ids.hpp"

namespace diecast::analysis {

/// State of one PE at the end. Dumps are in any order; every PE of the run has one.
struct pe_dump {
  pe_coord pe;
  events::core_state state{};
  std::vector<protocol::queue_pair_state> queue_pairs;
  abi::firmware_tasks tasks{};
  bool awaits_copy{};                          ///< DMA_ARM waits for a copy of this PE
  std::optional<abi::poll_request> polls{};    ///< the word its firmware polls
  std::optional<abi::signal_watch> watches{};  ///< the word in global memory that its firmware polls
  std::vector<abi::operation_note> awaits{};   ///< messages and barriers that its tasks wait for

  DIECAST_MEMBERS(pe, state, queue_pairs, tasks, awaits_copy, polls, watches, awaits)
};

/// State of a message or credit that was sent.
enum class flight_state : std::uint8_t {
  under_way,
  part_arrived,  ///< some of its bytes have arrived, and the others are nowhere
  held_behind    ///< all of it has arrived, after a message of the same sender of which only a part has
};
[[nodiscard]] const char* to_string(flight_state s);

/// Where a packet is with respect to the routers and links.
enum class fabric_place : std::uint8_t {
  outside,  ///< in an engine or in host memory
  within,   ///< in a router or on a link
  held      ///< on a link that keeps it: those behind it cannot pass
};

/// A message or credit that one engine has sent and that has not taken effect at the other.
struct flight {
  bool credit{};
  abi::ipcq_fields fields;
  std::string where;  ///< "in the fabric"
  bool begins{};      ///< the message's first packet is in flight
  flight_state state{flight_state::under_way};
  fabric_place place{};
};

/// A packet that belongs to no queue pair: of a tag-matched message, a read or a write.
struct other_packet {
  abi::packet_header header;
  std::string where;
  fabric_place place{};
};

/// A machine that has stopped.
struct stopped_machine {
  std::vector<pe_dump> pes;
  std::vector<flight> flights;
  /// True: nothing moves any more. False: the run was cut off while packets still moved, so a message in
  /// flight explains a wait, and a message that no dump shows may be on a wire.
  bool still{true};
  std::vector<other_packet> others{};
  std::vector<watched_word> words{};  ///< known copies of the words of pe_dump::watches
};

/// Why a PE's wait for a word cannot end (yet) whatever other PEs do; nothing where another PE may end it.
[[nodiscard]] std::optional<word_finding> defect_of(const stopped_machine& machine, pe_coord pe);

/// The steps of the tasks that have not ended and, in a barrier, the PE's progress. May be empty.
[[nodiscard]] std::string present_step(const pe_dump& pe);
/// The step of one of its tasks. May be empty.
[[nodiscard]] std::string step_of(const pe_dump& pe, abi::task_id task);

/// copy: of the DMA's compute port; memory: a word that another PE is expected to write; message: a
/// tag-matched one, or its receipt. These belong to no queue pair: `dir` has no meaning.
enum class wait_kind : std::uint8_t { receive, send_space, source_read, copy, memory, message };
[[nodiscard]] constexpr bool of_queue_pair(wait_kind k) { return k <= wait_kind::source_read; }

/// Why a wait does not end.
enum class wait_cause : std::uint8_t {
  peer,          ///< the peer has not done its part
  in_flight,     ///< the message or credit is in flight at `where`
  lost_message,  ///< the peer has sent, the message never became visible here
  lost_credit,   ///< the peer has released, the credit never took effect here
  unwired,       ///< the other end has no queue pair of the pod, or no PE that should write
  signal,        ///< a word in global memory: the writer has done its part, or can no more (defect_of)
  ended,         ///< a message to or from a peer that has finished its program
  own_dma        ///< this PE's own DMA has not read the source, or not finished a copy
};

[[nodiscard]] const char* to_string(wait_kind k);
[[nodiscard]] const char* to_string(wait_cause c);

/// One armed request. `on` and `on_dir` are the queue pair at the other end, found by address; the
/// waiter's own when the cause is unwired or own_dma.
struct wait_edge {
  pe_coord waiter;
  comm::direction dir{};
  wait_kind kind{};
  wait_cause cause{};
  pe_coord on;
  comm::direction on_dir{};
  std::uint32_t missing{};  ///< messages sent or slots released that have not taken effect
  std::string where{};      ///< in_flight; lost_message: where the part of it is that has arrived
  std::optional<abi::operation_note> operation{};  ///< message
  abi::task_id task{abi::kernel_task};             ///< task of the waiter's firmware
  std::string step{};                              ///< step of that task
  flight_state flight{flight_state::under_way};    ///< state of the message or credit at `where`
  fabric_place place{};                            ///< of the message or credit at `where`
};

enum class root_kind : std::uint8_t {
  fault,  ///< one wait whose cause is not the peer: waits holds it
  peer,   ///< a PE that waits for no other, unfinished or awaited by others: members holds it,
          ///< waits the waits of others for it (perhaps none)
  cycle   ///< waits holds the cycle, each edge's `on` the next one's waiter; no wait of it ends at a fault
};

[[nodiscard]] const char* to_string(root_kind k);

struct wait_root {
  root_kind kind{};
  std::vector<pe_coord> members;
  std::vector<wait_edge> waits;
  std::string step;  ///< fault, peer: where the firmware of the member is; may be empty
};

struct wait_for_report {
  std::vector<wait_edge> edges;  ///< by waiter, direction, kind
  std::vector<wait_root> roots;  ///< faults first, then peers, then cycles
  std::string text;              ///< roots, waits, pointer dump
  std::string summary;  ///< words awaited, and the first lines of the text: at most ten, of which the
                        ///< last names the place of the rest
};

/// Builds the wait-for graph and finds its roots: every wait that does not end because of a loss, a missing
/// wire or a packet that does not move, every PE at the end of a chain of waits, and a cycle of each group of
/// tasks that wait for each other only. A task that waits for a queue pair waits for the task of the other PE
/// that uses it; where that is not known or has ended, for any of its tasks that continues.
[[nodiscard]] wait_for_report explain_waits(const machine_shape& shape, stopped_machine machine,
                                            const comm::direction_namer& names = comm::generic_names());

/// Every queue pair that is not idle: PE path, direction, rx base, four pointers, waiters.
[[nodiscard]] std::string pointer_dump(const machine_shape& shape, const std::vector<pe_dump>& dumps,
                                       const comm::direction_namer& names = comm::generic_names());

}  // namespace diecast::analysis
