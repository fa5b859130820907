// SPDX-License-Identifier: Apache-2.0
// Why a DRAM channel's data buses were idle: every tick in which a pseudo-channel moved no data is
// charged to the one constraint that allowed the next column command last.
//
// If the opening of a row delayed a command, the limit that delayed the activation is charged. Of a gap that
// two limits delayed, the last to end is charged the time that it alone delayed, and the time of both goes to
// the one that alone delays more over the run: a rare limit is charged what it adds to the common one.
// Opening a row that a refresh closed is charged to the refresh.
//
// Time in which the channel held no request, or waited for one that arrived at an almost empty channel, is
// charged to the initiator. A pseudo-channel without requests, while the channel works on others, shares the
// causes of those; while those move data, no request waits. The time that the row-command bus needs for the
// same activations is charged to the bus: it would be lost without the other limits, too. See docs/adr/0018.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "models/config/machine_config.hpp"
#include "models/timing/dram.hpp"
#include "models/timing/dram_state.hpp"

namespace diecast::timing {

enum class lost_cause : std::uint8_t {
  refresh,          ///< tRFC, tRFCpb, and requests that wait for a pending refresh
  activate_window,  ///< tFAW, tRRD
  row_bus,          ///< the row- or column-command bus was busy
  turnaround,       ///< between reads and writes, and between stack IDs
  bank_conflict,    ///< tRC, tRP, tRCD, tRAS, tRTP, tWR, tCCD_L
  initiator         ///< no request waited for this pseudo-channel
};
inline constexpr std::size_t lost_causes = 6;
/// "refresh", "faw_rrd", "row_bus", "turnaround", "bank_conflict", "initiator".
[[nodiscard]] const char* to_string(lost_cause c);

/// Ticks summed over the pseudo-channels: busy and lost add up to total.
struct lost_time_report {
  std::uint64_t total{};
  std::uint64_t busy{};
  std::array<std::uint64_t, lost_causes> lost{};
  /// Share of the channel's peak, 0 to 1.
  [[nodiscard]] double share(lost_cause c) const {
    return total == 0 ? 0
                      : static_cast<double>(lost[static_cast<std::size_t>(c)]) / static_cast<double>(total);
  }
  [[nodiscard]] double busy_share() const {
    return total == 0 ? 0 : static_cast<double>(busy) / static_cast<double>(total);
  }
};

class lost_time {
 public:
  explicit lost_time(const dram_parameters& p);

  /// What a column command serves.
  struct origin {
    dram_tick visible{};  ///< first tick its request could be served
    bool alone{};         ///< fewer requests than pseudo-channels waited when it arrived
    dram_tick opened{};   ///< activation of its row
  };

  /// The channel's queues ran empty after tick t, or got a request that counts from tick t.
  void emptied(dram_tick t) { empty_since_ = t; }
  void filled(dram_tick t) {
    if (empty_since_ == never_tick) return;
    empty_ += t > empty_since_ ? t - empty_since_ : 0;
    empty_since_ = never_tick;
  }
  /// Refreshes delayed all requests until tick t.
  void released(dram_tick t) { released_ = t; }
  void changed_mode(dram_tick t) { mode_changed_ = t; }

  /// Commands, each reported before it is applied to `s`. visible: first tick the request could be
  /// examined; row: the one it opens.
  void activate(const dram_state& s, std::uint32_t pc, std::uint32_t bank, std::uint32_t row, dram_tick t,
                dram_tick visible);
  /// A refresh is about to close a bank.
  void close_for_refresh(const dram_state& s, std::uint32_t pc, std::uint32_t bank);
  void column(std::uint32_t pc, std::uint32_t bank, bool write, dram_tick t, const origin& from);
  void refresh(const dram_state& s, std::uint32_t pc, std::uint32_t bank, bool all, dram_tick t);

  /// The lost time at tick `now`; idle: nothing waits.
  [[nodiscard]] lost_time_report report(dram_tick now) const;

 private:
  /// Accounts of lost ticks: the causes, and (elsewhere) requests that were all for other pseudo-channels.
  static constexpr std::size_t elsewhere = lost_causes;
  static constexpr std::size_t lost_accounts = lost_causes + 1;
  using bill = std::array<std::uint64_t, lost_accounts>;
  /// Tick until which each account's limit delayed a command; 0: it did not.
  using limits = std::array<dram_tick, lost_accounts>;
  struct bank_account {
    limits until{};                                ///< limits that delayed the last activation
    std::uint32_t closed_row{dram_state::no_row};  ///< the row that a refresh closed
    dram_tick ready{};  ///< tick at which the bank could have been opened without its last refresh
    dram_tick refreshed{};
  };
  struct pc_account {
    dram_tick data_end{};  ///< end of the data of its last burst
    dram_tick last_column{};
    std::uint64_t empty{};                 ///< empty_ at its last column command
    dram_tick refreshed{};                 ///< all banks can be opened again
    dram_tick refreshed_one{};             ///< other banks can be opened after a refresh of one
    std::array<dram_tick, 2> last{};       ///< last read, last write
    std::array<dram_tick, 4> activates{};  ///< the last four, oldest at activate_count
    std::uint64_t activate_count{};
    std::vector<dram_tick> activated;    ///< last activation by bank group
    std::vector<dram_tick> last_in_sid;  ///< last column command by SID
    std::vector<dram_tick> last_in_group;
    std::vector<bank_account> banks;
  };
  struct window {
    bill alone{};                             ///< ticks delayed by this limit alone
    std::array<bill, lost_accounts> joint{};  ///< ticks delayed by two limits together
    std::uint64_t activates{};
    std::uint64_t columns{};
  };
  void limit_by_activations(const pc_account& c, std::uint32_t group, limits& until) const;
  void limit_by_columns(const pc_account& c, std::uint32_t bank, bool write, limits& until) const;
  [[nodiscard]] limits limits_of(const pc_account& c, std::uint32_t bank, bool write,
                                 const origin& from) const;
  void charge_gap(const pc_account& c, std::uint32_t bank, bool write, dram_tick begin, dram_tick t,
                  const origin& from);
  std::uint64_t close_window(const window& w, bill& into) const;
  static std::uint64_t move_to_bus(std::uint64_t floor, std::uint64_t& from, bill& lost);
  void divide_elsewhere(std::uint64_t ticks, std::uint64_t to_bus, bill& lost) const;
  [[nodiscard]] std::uint64_t bus_floor(std::uint64_t activates, std::uint64_t columns) const;
  [[nodiscard]] std::uint64_t empty_until(dram_tick t) const {
    return empty_ + (empty_since_ < t ? t - empty_since_ : 0);
  }

  const dram_parameters p_;
  std::vector<pc_account> pcs_;
  bill lost_{};             ///< lost in earlier windows
  bill alone_{};            ///< lost in earlier windows to one limit and no other
  std::uint64_t to_bus_{};  ///< time in earlier windows moved from tFAW and tRRD to the row bus
  window window_;
  std::uint64_t activates_{};
  std::uint64_t columns_{};
  std::uint64_t empty_{};  ///< ticks without any request so far
  dram_tick empty_since_{0};
  dram_tick released_{};
  dram_tick mode_changed_{};
};

// A memory without one of its limits: tests compare the account of lost time with it, and studies run it to
// measure the cost of a limit.

/// No refresh.
void without_refresh(config::hbm_block& h);
/// No window of four activations, and no distance between two: tFAW, tRRD.
void without_activate_window(config::hbm_block& h);
/// No change of direction or stack ID on the data bus: tRTW, tWTR, tCCD_R, and the latencies tCL and tCWL
/// that the bus waits for. A bank recovers after a write as before: from its command, after tCWL and tWR.
void without_turnaround(config::hbm_block& h);
/// No time of a bank or bank group: tRP, tRCD, tRAS, tRC, tRTP, tWR, tCCD_L.
void without_bank_times(config::hbm_block& h);

struct removable_limit {
  lost_cause cause;
  void (*remove)(config::hbm_block&);
};
/// Every cause of lost time but the row-command bus and the initiator, which no setting takes away.
inline constexpr std::array<removable_limit, 4> removable_limits{
    {{lost_cause::refresh, without_refresh},
     {lost_cause::activate_window, without_activate_window},
     {lost_cause::turnaround, without_turnaround},
     {lost_cause::bank_conflict, without_bank_times}}};

}  // namespace diecast::timing
