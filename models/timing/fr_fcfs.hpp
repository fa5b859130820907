// SPDX-License-Identifier: Apache-2.0
// First-ready, first-come-first-served scheduling of one pseudo-channel with open pages: pure, driven
// by command clocks. The owner calls step() at the clocks it returns and nowhere else; a burst pushed
// meanwhile may move that clock forward.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "models/timing/dram.hpp"

namespace diecast::timing {

/// One burst to serve. `from` is the first clock at which the scheduler may see it.
struct dram_burst {
  std::uint64_t tag{};
  std::uint32_t bank{};
  std::uint32_t row{};
  bool write{};
  dram_clock from{};
};

struct served_burst {
  std::uint64_t tag{};
  dram_clock data_end{};
};

/// Sees every command, for checkers and command traces.
class dram_command_observer {
 public:
  dram_command_observer() = default;
  dram_command_observer(const dram_command_observer&) = delete;
  dram_command_observer& operator=(const dram_command_observer&) = delete;
  virtual ~dram_command_observer() = default;
  virtual void on_command(dram_command c, std::uint32_t bank, std::uint32_t row, dram_clock at) = 0;
};

/// Row hits before misses, then oldest first. Bursts of one row and bank are served in the order they
/// came, so accesses to one address never pass each other. A miss is passed by at most 4 x depth hits
/// of its bank, so that no burst waits for ever.
class fr_fcfs {
 public:
  /// depth: bursts the scheduler chooses among; later ones wait in order behind them.
  /// Precondition: at most 64 banks.
  fr_fcfs(const dram_parameters& p, std::uint32_t depth);

  /// Precondition: `from` is not below that of the last burst pushed, and after the last step.
  void push(const dram_burst& b) { arrivals_.push_back(b); }

  /// Gives the commands of clock `now`: at most one column and one row command. Appends the burst a
  /// column command serves. Returns the next clock to call at, never_clock when there is no work.
  dram_clock step(dram_clock now, std::vector<served_burst>& served);

  void observe(dram_command_observer* o) { observer_ = o; }
  [[nodiscard]] bool idle() const { return arrivals_.empty() && occupied_ == 0; }
  [[nodiscard]] std::uint64_t row_hits() const { return columns_ - activates_; }
  [[nodiscard]] std::uint64_t activates() const { return activates_; }
  [[nodiscard]] std::uint64_t columns() const { return columns_; }

 private:
  static constexpr std::size_t no_hit = SIZE_MAX;
  struct waiting_burst {
    std::uint64_t tag;
    std::uint64_t age;
    std::uint32_t row;
    bool write;
  };
  struct bank_queue {
    std::vector<waiting_burst> waiting;  ///< oldest first
    std::size_t hit{no_hit};             ///< the oldest of them in the open row
    std::uint32_t passed{};              ///< hits served before the oldest
  };
  void admit(dram_clock now);
  void find_hit(std::uint32_t bank);
  [[nodiscard]] bool servable(const bank_queue& q) const;
  void give_column(dram_clock now, std::vector<served_burst>& served);
  void give_row(dram_clock now);
  [[nodiscard]] dram_clock next_clock(dram_clock now) const;
  void report(dram_command c, std::uint32_t bank, std::uint32_t row, dram_clock at) const {
    if (observer_ != nullptr) observer_->on_command(c, bank, row, at);
  }

  std::uint32_t depth_;
  std::uint32_t occupied_{};  ///< bursts in the bank queues
  std::uint64_t next_age_{};
  std::uint64_t active_{};  ///< bit per bank with a waiting burst
  dram_banks banks_;
  std::vector<bank_queue> queues_;
  std::deque<dram_burst> arrivals_;
  dram_command_observer* observer_{};
  std::uint64_t activates_{};
  std::uint64_t columns_{};
};

}  // namespace diecast::timing
