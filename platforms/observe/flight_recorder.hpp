// SPDX-License-Identifier: Apache-2.0
// The flight recorder: the last operations of every PE, in a ring each.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "models/events/events.hpp"
#include "models/types/ids.hpp"

namespace diecast::observe {

/// A send is started when its descriptor is taken and completed when its credit is back; a receive is started
/// when the message is visible and completed when its slot is released.
struct flight_operation {
  std::uint64_t record_id{};
  std::uint32_t launch{};
  bool send{}, completed{};
  std::uint16_t qp{};
  std::uint16_t step{};  ///< index of its name
  std::uint32_t step_index{};
  pe_coord peer;
  std::uint32_t sequence{}, bytes{};
  std::uint64_t crc{};  ///< digest of a received message, while checksums are on
  sim_time started, ended;
};

class flight_recorder : public events::observer {
 public:
  /// `operations`: kept of each PE.
  flight_recorder(const machine_shape& shape, std::uint64_t operations);

  /// No PE is in a step until its kernel says so.
  void next_launch() {
    ++launches_;
    for (track& t : tracks_) {
      t.step = 0;
      t.step_index = 0;
    }
  }
  [[nodiscard]] std::uint32_t launches() const { return launches_; }
  /// Oldest first.
  [[nodiscard]] std::vector<flight_operation> operations_of(pe_coord pe) const;
  [[nodiscard]] const std::string& step_name(std::uint16_t index) const { return step_names_.at(index); }

  void on(const events::step_entered& e) override;
  void on(const events::message_event& e) override;
  void on(const events::message_content& e) override;

 private:
  struct open_record {
    std::uint64_t id{};
    std::uint32_t sequence{};
  };
  struct track {
    std::vector<flight_operation> ring;  ///< record i at i modulo its size
    std::uint64_t records{};
    std::uint16_t step{};
    std::uint32_t step_index{};
    std::uint64_t crc{};  ///< of the content that was written last
    /// Of each queue pair and direction: records not completed, oldest first; the ring may hold them no more.
    std::vector<std::deque<open_record>> open;
  };
  void start(track& t, const events::message_event& e, bool send);
  void complete(track& t, const events::message_event& e, bool send);

  machine_shape shape_;
  std::uint64_t kept_;
  std::vector<track> tracks_;  ///< by dense index of the PE
  std::vector<std::string> step_names_{""};
  std::unordered_map<std::string, std::uint16_t> step_numbers_{{"", 0}};
  std::uint32_t launches_{};
};

}  // namespace diecast::observe
