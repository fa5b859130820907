// SPDX-License-Identifier: Apache-2.0
// Why a DRAM channel's data buses stood still: every tick in which a pseudo-channel moved no data is
// charged to the one constraint that allowed the next column command last.
//
// A row opened for a command passes the charge on to what had delayed its activation; a spacing of
// column commands that then held the command up a little longer pays for the little. Time in which
// the channel held no request at all, or waited for one that came to an all but empty channel, is the
// initiator's. A pseudo-channel without requests, while the channel works on others, shares in the
// causes of those. Of the time charged to tFAW and tRRD, what
// the row-command bus would have needed for the same activations is the bus's: without tFAW it would
// still be lost. See docs/adr/0018.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "models/timing/dram.hpp"
#include "models/timing/dram_state.hpp"

namespace diecast::timing {

enum class lost_cause : std::uint8_t {
  refresh,          ///< tRFC, tRFCpb, and requests held back while a refresh waits for its turn
  activate_window,  ///< tFAW, tRRD
  row_bus,          ///< the row- or column-command bus was taken
  turnaround,       ///< between reads and writes, and between stack IDs
  bank_conflict,    ///< tRC, tRP, tRCD, tRAS, tRTP, tWR, tCCD_L
  initiator         ///< no request waited
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
    dram_tick visible{};  ///< first tick its request could be looked at
    bool alone{};         ///< fewer requests than pseudo-channels waited when it came
    dram_tick opened{};   ///< activation of its row
  };

  /// The channel's queues ran empty after tick t, or got a request that counts from tick t.
  void emptied(dram_tick t) { empty_since_ = t; }
  void filled(dram_tick t) {
    if (empty_since_ == never_tick) return;
    empty_ += t > empty_since_ ? t - empty_since_ : 0;
    empty_since_ = never_tick;
  }
  /// Refreshes held all requests back until tick t.
  void released(dram_tick t) { released_ = t; }
  void changed_mode(dram_tick t) { mode_changed_ = t; }

  /// Commands, each reported before it is applied to `s`. visible: first tick the request could be
  /// looked at.
  void activate(const dram_state& s, std::uint32_t pc, std::uint32_t bank, dram_tick t, dram_tick visible);
  void column(std::uint32_t pc, std::uint32_t bank, bool write, dram_tick t, const origin& from);
  void refresh(std::uint32_t pc, std::uint32_t bank, bool all, dram_tick t);

  /// The account at tick `now`; idle: nothing waits.
  [[nodiscard]] lost_time_report report(dram_tick now) const;

 private:
  /// The latest of several moments and what it stands for; of equal ones the first.
  struct moment {
    dram_tick at{};
    lost_cause cause{lost_cause::initiator};
    void offer(dram_tick t, lost_cause c) {
      if (t > at) *this = {t, c};
    }
  };
  /// What allowed a bank's activation last.
  struct opening {
    lost_cause cause{lost_cause::initiator};
    dram_tick late{};    ///< then there was no request for so long
    dram_tick waited{};  ///< then others went first on the row bus for so long
  };
  struct pc_account {
    dram_tick data_end{};  ///< of its last burst
    dram_tick last_column{};
    std::uint64_t empty{};               ///< empty_ at its last column command
    dram_tick refreshed{};               ///< all banks can be opened again
    dram_tick refreshed_one{};           ///< other banks can be opened after a refresh of one
    std::array<dram_tick, 2> last{};     ///< last read, last write
    std::vector<dram_tick> last_in_sid;  ///< last column command by SID
    std::vector<dram_tick> last_in_group;
    std::vector<dram_tick> bank_refreshed;
    std::vector<opening> opened_by;  ///< by bank
  };
  struct window {
    std::array<std::uint64_t, lost_causes> lost{};
    std::uint64_t activates{};
    std::uint64_t columns{};
  };
  /// What the column commands before allow at the earliest.
  [[nodiscard]] moment spacing(const pc_account& c, std::uint32_t bank, bool write) const;
  void charge_gap(const pc_account& c, std::uint32_t bank, bool write, dram_tick begin, dram_tick t,
                  const origin& from);
  void charge_row(const opening& o, bool alone, dram_tick begin, dram_tick end);
  void settle(const window& w, std::array<std::uint64_t, lost_causes>& into) const;
  static void spread(std::uint64_t ticks, std::array<std::uint64_t, lost_causes>& over);
  void charge(lost_cause c, std::uint64_t ticks) { window_.lost[static_cast<std::size_t>(c)] += ticks; }
  [[nodiscard]] std::uint64_t empty_until(dram_tick t) const {
    return empty_ + (empty_since_ < t ? t - empty_since_ : 0);
  }

  const dram_parameters p_;
  std::vector<pc_account> pcs_;
  std::array<std::uint64_t, lost_causes> lost_{};
  window window_;
  std::uint64_t elsewhere_{};  ///< lost while only other pseudo-channels had requests
  std::uint64_t columns_{};
  std::uint64_t empty_{};  ///< ticks without any request so far
  dram_tick empty_since_{0};
  dram_tick released_{};
  dram_tick mode_changed_{};
};

}  // namespace diecast::timing
