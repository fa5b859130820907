// SPDX-License-Identifier: Apache-2.0
// Events of a run for the critical path; and, from an install plan, the transmit half that sends to each
// receive half.
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "models/comm/install_plan.hpp"
#include "models/events/events.hpp"
#include "models/types/archive.hpp"

namespace diecast::analysis {

/// One queue pair of the pod.
struct queue_end {
  pe_coord pe;
  comm::direction qp{};
  auto operator<=>(const queue_end&) const = default;
};

class queue_ends {
 public:
  explicit queue_ends(const comm::install_plan& plan);
  /// Where messages sent here become visible; empty when the plan has no such transmit half.
  [[nodiscard]] std::optional<queue_end> receiver_of(queue_end sender) const;
  /// The sender of the messages that become visible here; empty when the plan has no such receive half.
  [[nodiscard]] std::optional<queue_end> sender_to(queue_end receiver) const;
  /// The queue pairs of a PE.
  [[nodiscard]] std::span<const queue_end> of(pe_coord pe) const;

 private:
  std::map<pe_coord, std::vector<queue_end>> pairs_;
  std::map<queue_end, queue_end> receivers_, senders_;
};

// Data for the critical path of a launch: when each core waited and worked, and when each message, credit and
// copy passed its stations.

/// The stations of a message, in the order of time.
enum class station : std::uint8_t { sent, queued, issued, injected, arrived, written, visible };
inline constexpr std::size_t stations = 7;

struct message_record {
  std::array<sim_time, stations> at{};
  std::uint32_t bytes{};
  [[nodiscard]] sim_time operator[](station s) const { return at[static_cast<std::size_t>(s)]; }
};

/// Items of one queue in order, numbered from the start of the run. Items that a launch no longer needs are
/// dropped.
template <class Item, std::size_t Stations>
class record_queue {
 public:
  /// The next item to pass a station; the first station creates it.
  Item& pass(std::size_t s) {
    const std::uint64_t number = passed_[s]++;
    if (s == 0) items_.emplace_back();
    return items_.at(number - first_);
  }
  /// Whether an item can pass the station: one has been created that has not passed it. It need not have
  /// passed those between: a message can be visible before it is written.
  [[nodiscard]] bool may_pass(std::size_t s) const { return s == 0 || passed_[s] < passed_[0]; }
  [[nodiscard]] const Item* find(std::uint64_t number) const {
    return number < first_ || number - first_ >= items_.size() ? nullptr : &items_[number - first_];
  }
  [[nodiscard]] const std::deque<Item>& items() const { return items_; }
  /// Number of items() that have passed every station.
  [[nodiscard]] std::size_t complete() const { return *std::ranges::min_element(passed_) - first_; }
  void drop_complete() {
    const std::size_t done = complete();
    items_.erase(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(done));
    first_ += done;
  }
  // For a queue whose items pass their first stations in one process and the others in another one.

  /// Takes the oldest item, which has passed the first `here` stations.
  [[nodiscard]] Item leave(std::size_t here) {
    for (std::size_t s = here; s < Stations; ++s) ++passed_[s];
    Item item = items_.front();
    items_.pop_front();
    ++first_;
    return item;
  }
  /// Adds an item that has passed the first `there` stations.
  void arrive(const Item& item, std::size_t there) {
    for (std::size_t s = 0; s < there; ++s) ++passed_[s];
    items_.push_back(item);
  }
  DIECAST_MEMBERS(passed_, first_, items_)

 private:
  std::array<std::uint64_t, Stations> passed_{};
  std::uint64_t first_{};
  std::deque<Item> items_;
};

struct credit_record {
  sim_time released, credited;
};

/// Record of one core in the launch.
struct core_record {
  sim_time running, done;  ///< done: zero until the kernel has ended
  std::vector<events::core_waited> waits;
  std::vector<events::core_worked> works;
  struct step {
    sim_time at;
    std::uint32_t name{};  ///< index into path_events::step_names()
    std::uint32_t index{};
  };
  std::vector<step> steps;
  DIECAST_MEMBERS(running, done, waits, works, steps)
};

class path_events : public events::observer {
 public:
  /// Keeps at most `limit` events of a launch; of a launch with more, only the messages and credits in
  /// flight.
  path_events(const comm::install_plan& plan, std::uint64_t limit) : ends_(plan), limit_(limit) {}

  static constexpr unsigned interests =
      events::core_states | events::steps | events::messages | events::work | events::transfers;

  /// Drops the last launch's records, except those of messages and credits in flight.
  void reset();

  using events::observer::on;
  void on(const events::core_state_changed& e) override;
  void on(const events::step_entered& e) override;
  void on(const events::message_event& e) override;
  void on(const events::core_waited& e) override;
  void on(const events::core_worked& e) override;
  void on(const events::transfer_event& e) override;
  void on(const events::copy_started& e) override;

  [[nodiscard]] const queue_ends& ends() const { return ends_; }
  [[nodiscard]] const std::map<pe_coord, core_record>& cores() const { return cores_; }
  using messages = record_queue<message_record, stations>;
  using credits = record_queue<credit_record, 2>;
  /// By transmit half; null when nothing was ever sent there.
  [[nodiscard]] const messages* messages_of(queue_end sender) const;
  [[nodiscard]] const credits* credits_of(queue_end sender) const;
  /// When the copy of that number (from 0, over the whole run) was requested; never() when not in this
  /// launch.
  [[nodiscard]] sim_time copy_start(pe_coord pe, std::uint64_t number) const;
  [[nodiscard]] const std::vector<std::string>& step_names() const { return step_names_; }
  /// The launch had more events than the limit, or messages arrived that the plan does not contain.
  [[nodiscard]] bool incomplete() const { return overflow_ || unmatched_; }

  /// A message or a credit whose remaining stations are in the process that simulates SIP `to`.
  struct carried {
    sip_id to;
    queue_end sender;
    bool credit{};
    message_record message;
    credit_record returned;
  };
  /// SIPs of this process. Messages and credits that leave them are kept for take_leaving().
  void set_here(std::function<bool(sip_id)> here) { here_ = std::move(here); }
  [[nodiscard]] std::vector<carried> take_leaving() { return std::exchange(leaving_, {}); }
  void arrive(const carried& c);
  /// At the end: drops messages and credits that were not sent to the process of their remaining stations.
  void drop_unsent();
  /// Adds the events of another process.
  void add(const path_events& other);
  DIECAST_MEMBERS(kept_, overflow_, unmatched_, cores_, messages_, credits_, copies_, step_names_)

 private:
  struct copies {
    std::uint64_t first{};  ///< number of the first start that is kept
    std::vector<sim_time> starts;
    void forget() {
      first += starts.size();
      starts.clear();
    }
    DIECAST_MEMBERS(first, starts)
  };
  [[nodiscard]] bool count();
  void pass(queue_end sender, station s, sim_time at, std::uint32_t bytes);
  [[nodiscard]] std::uint32_t number_of(std::string_view step);
  [[nodiscard]] bool away(pe_coord pe) const { return here_ && !here_(pe.sip); }

  queue_ends ends_;
  std::uint64_t limit_;
  std::uint64_t kept_{};
  bool overflow_{}, unmatched_{};
  std::map<pe_coord, core_record> cores_;
  std::map<queue_end, messages> messages_;
  std::map<queue_end, credits> credits_;
  std::map<pe_coord, copies> copies_;
  std::vector<std::string> step_names_;
  std::map<std::string, std::uint32_t, std::less<>> step_numbers_;
  std::function<bool(sip_id)> here_;
  std::vector<carried> leaving_;
};

}  // namespace diecast::analysis
