// SPDX-License-Identifier: Apache-2.0
// The command scheduler of one DRAM channel: first ready, first come first served (or strictly first come),
// over a read and a write queue. Pure and lazy: run(t) issues every command up to tick t at the tick at which
// a controller that checks its queues on every tick would have issued it, even when called later, as long as
// no request arrived in between.
//
// At each tick at most one column and one row command. Among those that may be given, the oldest
// request's; a row with an older hit stays open. A request that had a row opened for it keeps the bank
// until it is served. Refreshes go before requests and hold them back until they are in progress. Writes
// wait until the write queue is fuller than its high mark, or no read waits; then they are drained down to
// the low mark; this is not decided anew while a refresh holds them back. A read of a burst that a waiting
// write will write is answered from the write queue; a write to a burst that a waiting read reads makes
// the reads go first. So accesses to one burst never pass each other.
#pragma once

#include <boost/container/deque.hpp>
#include <cstdint>
#include <vector>

#include "models/timing/dram.hpp"
#include "models/timing/dram_state.hpp"
#include "models/timing/lost_time.hpp"
#include "models/types/immovable.hpp"

namespace diecast::timing {

/// One burst to serve.
struct dram_burst {
  std::uint64_t tag{};
  dram_location at;
  bool write{};
};

/// A burst with its answer: a read's last data, or the command of a posted write.
struct served_burst {
  std::uint64_t tag{};
  dram_tick done{};
};

/// One command as it went over the bus. Fields that a command does not use are zero; `row` of a
/// precharge is the row it closes.
struct dram_event {
  dram_tick at{};
  dram_command command{};
  dram_location where;
};

/// Sees every command, for checkers and command traces.
class dram_command_observer : public abstract_interface {
 public:
  virtual void on_command(const dram_event& e) = 0;
};

struct dram_counters {
  std::uint64_t reads{};      ///< column commands
  std::uint64_t writes{};     ///< column commands
  std::uint64_t forwarded{};  ///< reads answered from the write queue
  std::uint64_t activates{};
  std::uint64_t precharges{};          ///< precharges of one bank, by command
  std::uint64_t misses{};              ///< requests that needed a row command
  std::uint64_t all_bank_refreshes{};  ///< commands
  std::uint64_t bank_refreshes{};      ///< commands for one bank
};

class dram_scheduler {
 public:
  explicit dram_scheduler(const dram_parameters& p);

  /// A burst arrived at or after tick `arrived` and before the next: it can be served from arrived + 1
  /// on. It enters its queue as soon as there is room, after those pushed before it.
  /// Precondition: `arrived` never goes back, and no run() or run_until_room() passed it.
  void push(const dram_burst& b, dram_tick arrived);
  /// Whether the next burst of this kind has a place in its queue, as far as known: a run() may free
  /// more places, only push() takes them.
  [[nodiscard]] bool has_room(bool write) const {
    const std::size_t reads = size_[0] + inbox_size_[0] + (write ? 0 : 1);
    const std::size_t writes = size_[1] + inbox_size_[1] + (write ? 1 : 0);
    return reads <= p_.read_queue && writes <= p_.write_queue;
  }

  /// Gives all commands up to tick `until`; appends the bursts they answer.
  void run(dram_tick until, std::vector<served_burst>& served);
  /// Continues until has_room(write), and returns the tick of the command that made room.
  /// Precondition: nothing arrives before that tick.
  dram_tick run_until_room(bool write, std::vector<served_burst>& served);

  /// Neither a command nor an answer comes before this tick unless something arrives; never_tick when
  /// nothing waits.
  [[nodiscard]] dram_tick next_tick() const;
  /// Bursts pushed and not yet served, and writes among them.
  [[nodiscard]] std::size_t waiting() const { return queued() + inbox_.size(); }
  [[nodiscard]] std::size_t waiting_writes() const { return size_[1] + active_writes_ + inbox_size_[1]; }
  /// Bursts in a queue; never above its size.
  [[nodiscard]] std::size_t queued(bool write) const { return size_[write ? 1 : 0]; }

  /// Searches for commands at every tick, as a clocked controller does: a reference for tests. Skipping ticks
  /// without possible commands must not change results.
  void look_at_every_tick() { every_tick_ = true; }
  void observe(dram_command_observer* o) { observer_ = o; }
  [[nodiscard]] const dram_counters& counters() const { return counters_; }
  /// The account of the data buses' time from tick 0 to `now`. Precondition: run(now) was called.
  [[nodiscard]] lost_time_report lost(dram_tick now) const { return lost_.report(now); }

 private:
  using index = std::uint32_t;
  static constexpr index none = UINT32_MAX;
  struct node {
    std::uint64_t tag{};
    std::uint64_t age{};
    dram_tick visible{};
    dram_location at;
    index next{none}, previous{none};
    bool write{};
    bool missed{};  ///< needed a row command
    bool alone{};   ///< fewer requests than pseudo-channels waited when it arrived
    bool hazard{};  ///< a read that a younger write to its burst waits for
  };
  struct bank_queue {
    index head{none}, tail{none};
    index hit{none};         ///< the oldest in the open row
    std::uint32_t passed{};  ///< younger hits served since the head last changed
  };
  struct bank_slot {
    bank_queue queue[2];  ///< reads, writes
    index active{none};   ///< the request the row was opened for
  };
  struct pc_slot {
    std::vector<bank_slot> banks;
    std::uint64_t active{};  ///< bit per bank: a request waits for its own row
    /// Bit per bank and queue: a column command, an activation, a precharge would serve its requests.
    std::uint64_t hit[2]{}, shut[2]{}, clash[2]{};
  };
  struct refresh_order {
    std::uint32_t pc{}, bank{};
    bool all{};
  };
  struct choice {
    std::uint64_t age{UINT64_MAX};
    dram_tick next{never_tick};
    std::uint32_t pc{}, bank{};
    bool precharge{};
    bool more{};  ///< others were ready too
    [[nodiscard]] bool found() const { return age != UINT64_MAX; }
    void take(std::uint64_t a, std::uint32_t p, std::uint32_t b, bool pre) {
      more = found();
      if (a < age) age = a, pc = p, bank = b, precharge = pre;
    }
  };

  struct arrival {
    dram_burst burst;
    dram_tick arrived{};
  };
  [[nodiscard]] std::size_t queued() const { return size_[0] + size_[1] + active_count_; }
  [[nodiscard]] bool front_fits() const {
    return inbox_.front().burst.write ? size_[1] < p_.write_queue : size_[0] < p_.read_queue;
  }
  [[nodiscard]] dram_tick next_step() const;
  [[nodiscard]] std::uint64_t commands() const {
    return counters_.reads + counters_.writes + counters_.activates + counters_.precharges;
  }
  void admit_before(dram_tick t);
  [[nodiscard]] bool wants_other_mode() const;
  void choose_mode(dram_tick t);
  void enter(const dram_burst& b, dram_tick now);
  [[nodiscard]] bool forward(const dram_burst& b, std::uint32_t bank, dram_tick now);
  void mark_hazard(const dram_burst& b, std::uint32_t bank);
  void append(std::uint32_t pc, std::uint32_t bank, index n);
  void unlink(std::uint32_t pc, std::uint32_t bank, index n);
  void update_masks(std::uint32_t pc, std::uint32_t bank, unsigned kind);
  [[nodiscard]] index first_hit(index n, std::uint32_t row) const;
  void find_hits(std::uint32_t pc, std::uint32_t bank);
  [[nodiscard]] index allocate();

  void step(dram_tick t, std::vector<served_burst>& served);
  void order_refresh(dram_tick t);
  void order_bank_refresh(dram_tick t);
  void skip_idle_refreshes(dram_tick until);
  void column_slot(dram_tick t, std::vector<served_burst>& served);
  void row_slot(dram_tick t);
  void refresh_slot(dram_tick t);
  template <class Mask, class Request>
  void scan_columns(dram_tick t, choice& c, bool all, Mask mask_of, Request request_of) const;
  void scan_rows(dram_tick t, choice& c) const;
  [[nodiscard]] bool may_serve(std::uint64_t age) const { return age <= age_limit_; }
  void serve_column(const choice& c, index n, dram_tick t, std::vector<served_burst>& served);
  void give_activate(const choice& c, dram_tick t);
  void wake_row(std::uint32_t pc, std::uint32_t bank, dram_tick from);
  void give_precharge(std::uint32_t pc, std::uint32_t bank, dram_tick t);
  void set_age_limit();
  void report(dram_command command, std::uint32_t pc, std::uint32_t bank, std::uint32_t row,
              std::uint32_t column, dram_tick t) const;

  const dram_parameters p_;
  dram_state state_;
  lost_time lost_;
  std::vector<pc_slot> pcs_;
  std::vector<node> nodes_;
  std::vector<index> free_nodes_;
  std::size_t size_[2]{};  ///< bursts in the read and the write queue
  std::size_t active_count_{}, active_writes_{}, hazards_{};
  boost::container::deque<arrival> inbox_;  ///< arrived, not yet in their queues
  std::size_t inbox_size_[2]{};
  std::vector<served_burst> answered_;  ///< forwarded reads of the present run()
  unsigned mode_{};                     ///< 0 reads, 1 writes
  std::uint64_t next_age_{};
  std::uint64_t age_limit_{UINT64_MAX};  ///< fcfs: only the oldest may be served

  boost::container::deque<refresh_order> refreshes_;       ///< given before any request's commands
  dram_tick next_refresh_{never_tick};                     ///< tick at which the next refresh is due
  dram_tick refresh_due_{never_tick};                      ///< per bank: when the next bank is due
  boost::container::deque<refresh_order> bank_refreshes_;  ///< per bank: one joins the line per tick
  std::uint32_t refresh_sid_{}, refresh_bank_{};
  std::vector<dram_tick> refresh_round_;  ///< by SID: first tick of its next round
  std::uint32_t idle_refreshes_{};        ///< since the last arrival

  dram_tick last_step_{};
  dram_tick next_column_{1};  ///< no column command is due before, nor a change of mode
  dram_tick next_row_{1};     ///< no row command is due before
  bool every_tick_{};
  dram_command_observer* observer_{};
  dram_counters counters_;
};

}  // namespace diecast::timing
