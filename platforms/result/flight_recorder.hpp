// SPDX-License-Identifier: Apache-2.0
// The flight recorder: the last operations of every PE, in a ring each.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "models/events/events.hpp"
#include "models/types/archive.hpp"
#include "models/types/ids.hpp"

namespace diecast::observe {

enum class flight_kind : std::uint8_t {
  queue_pair,  ///< a message of a queue pair
  message,     ///< a tag-matched one
  barrier
};
enum class flight_state : std::uint8_t { scheduled, started, completed, cancelled };

/// A send of a queue pair is started when its descriptor is taken and completed when its credit is back; a
/// receive is started when the message is visible and completed when its slot is released. A tag-matched
/// send is scheduled by the program, started when the unit has it, and completed when its source may be
/// reused; a receive is started when a message has matched and completed when its bytes are there. A barrier
/// is scheduled when a PE enters it, started when all cores of its rank have, completed when it leaves.
struct flight_operation {
  std::uint64_t record_id{};
  std::uint32_t launch{};
  flight_kind what{};
  flight_state state{};
  bool send{};
  std::uint16_t qp{};
  std::uint16_t step{};  ///< index of its name
  std::uint32_t step_index{};
  std::optional<pe_coord> peer;  ///< peer; none for a receive from any sender that nothing has matched
  std::uint32_t sequence{};  ///< sequence number of the queue pair; for a message or barrier its number at
                             ///< this PE, from 1
  std::uint64_t bytes{};
  std::uint64_t crc{};    ///< digest of a received message, while checksums are on
  std::uint32_t group{};  ///< communicator of a message; of a barrier, an index into groups()
  std::optional<std::uint32_t> tag;
  std::uint32_t count{};       ///< value of the flags of a barrier
  std::string_view algorithm;  ///< barrier algorithm
  std::string_view stage;      ///< stage that a barrier awaited last
  std::uint32_t stage_number{};
  sim_time created, started, ended;

  DIECAST_MEMBERS(record_id, launch, what, state, send, qp, step, step_index, peer, sequence, bytes, crc,
                  group, tag, count, algorithm, stage, stage_number, created, started, ended)
};

/// The PEs of a team: those that its barriers reported (where ranks have unlike PEs, the first of each) and
/// those that have entered one, rank by rank.
struct flight_group {
  std::uint32_t slot{};
  sim_time begun{sim_time::never()};  ///< time of the group's first barrier
  std::vector<pe_coord> listed;
  std::vector<pe_coord> members;

  DIECAST_MEMBERS(slot, begun, listed, members)
};

class flight_recorder : public events::observer {
 public:
  /// `operations`: kept of each PE.
  flight_recorder(const machine_shape& shape, std::uint64_t operations);

  /// No PE is in a step until its kernel says so.
  void next_launch();
  [[nodiscard]] std::uint32_t launches() const { return launches_; }
  /// Oldest first.
  [[nodiscard]] std::vector<flight_operation> operations_of(pe_coord pe) const;
  [[nodiscard]] const std::string& step_name(std::uint16_t index) const { return step_names_.at(index); }
  [[nodiscard]] const std::vector<flight_group>& groups() const { return groups_; }
  /// Numbers of barriers of a group that this PE has entered and left.
  struct barrier_counts {
    std::uint32_t entered{}, left{};
  };
  [[nodiscard]] barrier_counts barriers_of(pe_coord pe, std::uint32_t group) const;
  /// Adds the records of another process for its PEs.
  void add(const flight_recorder& other);
  DIECAST_MEMBERS(tracks_, step_names_, groups_)

  void on(const events::step_entered& e) override;
  void on(const events::queue_pair_used& e) override;
  void on(const events::message_event& e) override;
  void on(const events::message_content& e) override;
  void on(const events::operation_changed& e) override;

 private:
  struct open_record {
    std::uint64_t id{};
    std::uint32_t sequence{};
  };
  struct noted_record {
    std::uint64_t id{};
    std::uint32_t group{};  ///< group of a barrier
  };
  using operation_key = std::pair<abi::operation_kind, std::uint32_t>;
  struct marked_step {
    std::uint16_t name{};  ///< index into step_names_
    std::uint32_t index{};
  };
  struct track {
    std::vector<flight_operation> ring;  ///< record i at i modulo its size
    std::uint64_t records{};
    std::vector<marked_step> steps;     ///< by task of its firmware
    std::vector<abi::task_id> users{};  ///< by queue pair and direction: the task that used it last
    std::uint64_t crc{};                ///< checksum of the content that was written last
    /// Records not completed, oldest first, by queue pair and direction; `ring` may have dropped them.
    std::vector<std::deque<open_record>> open;
    std::map<operation_key, noted_record> noted;       ///< messages and barriers that have not ended
    std::uint32_t messages{};                          ///< posted in this launch
    std::map<std::uint32_t, barrier_counts> barriers;  ///< by group
    DIECAST_MEMBERS(ring, records, barriers)           // members that a report needs
  };
  flight_operation& add(track& t, sim_time at, abi::task_id task);
  [[nodiscard]] flight_operation* find(track& t, std::uint64_t record);
  void start(track& t, const events::message_event& e, bool send);
  void complete(track& t, const events::message_event& e, bool send);
  void post(track& t, const events::operation_changed& e);
  void end(track& t, const events::operation_changed& e, const noted_record& record);
  static void admit(flight_group& g, pe_coord pe);
  [[nodiscard]] std::uint32_t group_of(std::uint32_t slot, std::span<const pe_coord> pes);
  [[nodiscard]] std::uint16_t number_of(std::string_view step);

  machine_shape shape_;
  std::uint64_t kept_;
  std::vector<track> tracks_;  ///< by dense index of the PE
  std::vector<std::string> step_names_{""};
  std::unordered_map<std::string, std::uint16_t> step_numbers_{{"", 0}};
  std::vector<flight_group> groups_;
  std::map<std::uint32_t, std::uint32_t> latest_group_;  ///< by slot
  std::uint32_t launches_{};
};

}  // namespace diecast::observe
