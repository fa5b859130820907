// SPDX-License-Identifier: Apache-2.0
// Typed events and the observer interface. Counters are always on; events cost one branch when
// nobody listens. Instances are named by the dense index the netlist gave them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "models/abi/wire.hpp"
#include "models/types/ids.hpp"
#include "models/types/time.hpp"

namespace diecast::events {

enum class core_state : std::uint8_t { idle, waiting_start, running, asleep, done };

struct core_state_changed {
  sim_time at;
  pe_coord pe;
  core_state state{};
};
struct step_entered {
  sim_time at;
  pe_coord pe;
  std::string_view name;  ///< valid during the call only
  std::uint32_t index{};
};
/// Any change of a queue pair's pointers; `seq` values are modulo W.
struct queue_pair_changed {
  sim_time at;
  pe_coord pe;
  std::uint16_t qp{};
  std::uint32_t my_head{}, my_tail{}, peer_head_cache{}, peer_tail_cache{}, free_credits{};
};
enum class message_phase : std::uint8_t { sent, visible, released, credited };
/// sent: descriptor taken at the source; visible: token published at the destination;
/// released: tail written at the destination; credited: credit applied at the source.
struct message_event {
  sim_time at;
  message_phase phase{};
  pe_coord pe;  ///< where it happened
  std::uint16_t qp{};
  pe_coord peer;
  std::uint32_t sequence{};
  std::uint32_t bytes{};
};
/// All bytes of a message are written at its destination; at the instant of the last.
struct message_content {
  sim_time at;
  pe_coord pe;  ///< the receiver
  abi::ipcq_fields fields;
  std::uint64_t digest{};  ///< of the bytes and their offsets, in whatever parts they came
};
/// A packet occupies a directed link (index in fabric::topology::links) from the start of its first flit
/// (`head`) to the end of its last (`tail`).
struct link_occupied {
  sim_time head, tail;
  std::uint32_t link{};
  std::uint8_t vc{};
  std::uint32_t flits{};
};

class observer {
 public:
  observer() = default;
  observer(const observer&) = delete;
  observer& operator=(const observer&) = delete;
  virtual ~observer() = default;
  virtual void on(const core_state_changed&) {}
  virtual void on(const step_entered&) {}
  virtual void on(const queue_pair_changed&) {}
  virtual void on(const message_event&) {}
  virtual void on(const link_occupied&) {}
  virtual void on(const message_content&) {}
};

/// What an observer wants to hear.
enum interest : std::uint8_t {
  core_states = 1,
  steps = 2,
  queue_pairs = 4,
  messages = 8,
  links = 16,
  contents = 32,
  everything = 63
};

/// Fan-out to observers. Modules hold a reference; `wants()` guards the construction of events.
class hub {
 public:
  void attach(observer& o, unsigned interests = everything) {
    observers_.push_back({&o, interests});
    wanted_ |= interests;
  }
  [[nodiscard]] bool wants(interest what) const { return (wanted_ & what) != 0; }

  void publish(const core_state_changed& e) const { to_all(core_states, e); }
  void publish(const step_entered& e) const { to_all(steps, e); }
  void publish(const queue_pair_changed& e) const { to_all(queue_pairs, e); }
  void publish(const message_event& e) const { to_all(messages, e); }
  void publish(const link_occupied& e) const { to_all(links, e); }
  void publish(const message_content& e) const { to_all(contents, e); }

 private:
  struct listener {
    observer* to;
    unsigned interests;
  };
  template <class Event>
  void to_all(interest what, const Event& e) const {
    for (const listener& l : observers_) {
      if ((l.interests & what) != 0) l.to->on(e);
    }
  }
  std::vector<listener> observers_;
  unsigned wanted_{};
};

}  // namespace diecast::events
