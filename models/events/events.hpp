// SPDX-License-Identifier: Apache-2.0
// Typed events and the observer interface. Counters are always on; events cost one branch without an
// observer. Instances are named by the dense index the netlist gave them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/abi/firmware_tasks.hpp"
#include "models/abi/wire.hpp"
#include "models/types/enum_name.hpp"
#include "models/types/ids.hpp"
#include "models/types/immovable.hpp"
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
  abi::task_id task{abi::kernel_task};
};
/// From here on this task of the PE's firmware sends to or receives from a queue pair.
struct queue_pair_used {
  sim_time at;
  pe_coord pe;
  std::uint16_t qp{};
  bool send{};
  abi::task_id task{};
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
/// All bytes of a message are written at its destination; at the instant of the last. Every packet of
/// tag-matched messages is reported when it arrives: its source_direction is comm::no_direction, its source
/// the sender, or the receiver itself for what that reads.
struct message_content {
  sim_time at;
  pe_coord pe;  ///< the receiver
  abi::ipcq_fields fields;
  std::uint64_t digest{};  ///< digest of the bytes and their offsets, for any division into parts
};
/// A packet occupies a directed link (index in fabric::topology::links) from the start of its first flit
/// (`head`) to the end of its last (`tail`).
struct link_occupied {
  sim_time head, tail;
  std::uint32_t link{};
  std::uint8_t vc{};
  std::uint32_t flits{};
};

/// Credits of a VC of a directed link, as its sender counts them. Usable again: one after the other from
/// `first` to `last`, on edges of a clock of `cycle`. Missing from `first` on (flits < 0): spent now; or
/// delayed, because transfers that share a port end later than was reported: they are reported again with
/// their new times.
struct link_credits {
  sim_time at;
  std::uint32_t link{};
  std::uint8_t vc{};
  std::int32_t flits{};
  sim_time first, last;
  sim_time cycle{};
};

enum class memory_phase : std::uint8_t { store, write_back, fill };
/// A PE's data cache: bytes stored into a line, a whole line written to memory, a whole line fetched.
struct memory_event {
  sim_time at;
  memory_phase phase{};
  pe_coord pe;
  abi::address address{};
  std::span<const std::byte> bytes;  ///< valid during the call only
};
/// What a core waits for: a message to arrive, a slot of the peer to become free, a source to be read
/// by the DMA engine, a copy to end, a completion of the tag-matching unit, an error to be reported.
enum class wait_cause : std::uint8_t { data, credit, dma, memory, message, error };
[[nodiscard]] constexpr std::string_view to_string(wait_cause c) { return enum_name(c); }
/// A core slept, or waited for the interrupt's latency only. Published when it runs again.
struct core_waited {
  sim_time from, to;
  sim_time raised;  ///< when the event that ended the wait was queued; may be before `from`
  pe_coord pe;
  wait_cause cause{};
  std::uint16_t qp{};     ///< for data, credit, dma
  std::uint32_t value{};  ///< abi::ipcq_event_word::value of that event
};
/// What a core did in an interval; time without an event is firmware. A pause is the time between two polls
/// of a value that another block changes.
enum class core_work : std::uint8_t { vector, tcm, pause };
[[nodiscard]] constexpr std::string_view to_string(core_work w) { return enum_name(w); }
struct core_worked {
  sim_time from, to;
  pe_coord pe;
  core_work what{};
};
/// Stations of a message between `sent` and `visible`. queued: the DMA engine has the descriptor; issued:
/// it begins to read the source; injected: the last packet is at the NoC; arrived: the last packet is at the
/// destination's DMA engine; written: every byte is acknowledged and the token forwarded.
enum class transfer_phase : std::uint8_t { queued, issued, injected, arrived, written };
struct transfer_event {
  sim_time at;
  transfer_phase phase{};
  pe_coord source;
  std::uint16_t qp{};  ///< at the source
};
/// The core has requested a copy by the compute port of the DMA engine.
struct copy_started {
  sim_time at;
  pe_coord pe;
  std::uint64_t bytes{};
};

/// Firmware's report of the state of a tag-matched message or a barrier. `note.members` is valid during the
/// call only.
struct operation_changed {
  sim_time at;
  pe_coord pe;
  abi::operation_note note;
};

class observer : public abstract_interface {
 public:
  virtual void on(const core_state_changed&) {}
  virtual void on(const step_entered&) {}
  virtual void on(const queue_pair_used&) {}
  virtual void on(const queue_pair_changed&) {}
  virtual void on(const message_event&) {}
  virtual void on(const link_occupied&) {}
  virtual void on(const link_credits&) {}
  virtual void on(const message_content&) {}
  virtual void on(const memory_event&) {}
  virtual void on(const core_waited&) {}
  virtual void on(const core_worked&) {}
  virtual void on(const transfer_event&) {}
  virtual void on(const copy_started&) {}
  virtual void on(const operation_changed&) {}
};

/// The kinds of events that an observer receives.
enum interest : std::uint16_t {
  core_states = 1,
  steps = 2,
  queue_pairs = 4,
  messages = 8,
  links = 16,
  work = 32,          ///< core_waited, core_worked
  transfers = 64,     ///< transfer_event, copy_started
  memory = 128,       ///< memory_event
  contents = 256,     ///< message_content
  credits = 512,      ///< link_credits
  operations = 1024,  ///< operation_changed
  everything = 2047
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
  void publish(const queue_pair_used& e) const { to_all(steps, e); }
  void publish(const queue_pair_changed& e) const { to_all(queue_pairs, e); }
  void publish(const message_event& e) const { to_all(messages, e); }
  void publish(const link_occupied& e) const { to_all(links, e); }
  void publish(const link_credits& e) const { to_all(credits, e); }
  void publish(const message_content& e) const { to_all(contents, e); }
  void publish(const memory_event& e) const { to_all(memory, e); }
  void publish(const core_waited& e) const { to_all(work, e); }
  void publish(const core_worked& e) const { to_all(work, e); }
  void publish(const transfer_event& e) const { to_all(transfers, e); }
  void publish(const copy_started& e) const { to_all(transfers, e); }
  void publish(const operation_changed& e) const { to_all(operations, e); }

 private:
  struct listener {
    observer* to;
    unsigned interests;
  };
  template <class Event>
  void to_all(interest what, const Event& e) const {
    for (const listener& l : observers_)
      if ((l.interests & what) != 0) l.to->on(e);
  }
  std::vector<listener> observers_;
  unsigned wanted_{};
};

// States of cores in words.

[[nodiscard]] const char* to_string(core_state s);

// Fingerprint of a run: an order-free combination of per-instance hashes, so that it depends on
// what happened where and when, never on the order in which modules were built or visited.

/// Hash chain of one instance: path, then (time relative to the run's start, payload) per event.
class instance_fingerprint {
 public:
  instance_fingerprint() = default;
  explicit instance_fingerprint(std::string_view path);
  void add(sim_time at, std::uint64_t payload);
  [[nodiscard]] std::uint64_t value() const { return chain_; }

 private:
  std::uint64_t chain_{};
  std::uint64_t count_{};
};

/// Sum over instances; `add` in any order.
class run_fingerprint {
 public:
  void add(const instance_fingerprint& f);
  void add_bytes(std::string_view path, std::span<const std::byte> bytes);
  /// Adds the sum() of a fingerprint of other instances.
  void add_sum(std::uint64_t sum) { sum_ += sum; }
  [[nodiscard]] std::uint64_t sum() const { return sum_; }
  /// Sixteen hexadecimal digits.
  [[nodiscard]] std::string text() const;

 private:
  std::uint64_t sum_{};
};

/// A good 64-bit mix of two words.
[[nodiscard]] std::uint64_t mix(std::uint64_t a, std::uint64_t b);

}  // namespace diecast::events
