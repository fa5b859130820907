// SPDX-License-Identifier: Apache-2.0
// DRAM arithmetic without a simulator: the parameters of a channel in ticks of its row-command bus,
// and its state after commands (the first time of each next command).
//
// HBM has a bus for row commands (activate, precharge, refresh) and one for column commands (read,
// write), both shared by the pseudo-channels of a channel. HBM3 and HBM4 take row commands at both
// edges of the command clock: there a tick is half a clock, an activation takes three ticks, other row
// commands one, column commands two. HBM2 takes one command of a kind per clock, an activation two.
// Times between commands count from their last ticks (JESD235, JESD238). Structure, pairing rules and
// constraints are those of Ramulator 2.1's HBM2, HBM3 and HBM4 models.
#pragma once

#include <array>
#include <compare>
#include <cstdint>

#include "models/config/machine_config.hpp"
#include "models/types/time.hpp"

namespace diecast::timing {

// Where a byte of a DRAM channel lies: the fields of an address in the order the config names them,
// and the XOR hash that spreads rows over banks.

/// Where one burst lies within a channel.
struct dram_location {
  std::uint32_t pseudo_channel{};
  std::uint32_t sid{};         ///< stack ID
  std::uint32_t bank_group{};  ///< within its pseudo-channel and SID
  std::uint32_t bank{};        ///< within its group
  std::uint32_t row{};
  std::uint32_t column{};  ///< burst within the row
  auto operator<=>(const dram_location&) const = default;
};

/// A channel's address map: above the byte within the burst come the fields of hbm.address_map. With
/// hbm.bank_hash row_xor the low bits of the row are XORed into (bank group, bank), so that rows at
/// a stride fall into different banks. One to one over the channel's capacity.
class dram_address_map {
 public:
  /// Throws user_error as config::need_sound does.
  explicit dram_address_map(const config::hbm_block& hbm);

  /// Precondition: offset < capacity().
  [[nodiscard]] dram_location decode(std::uint64_t offset) const;
  /// Offset of the first byte of a burst: the inverse of decode.
  [[nodiscard]] std::uint64_t encode(const dram_location& l) const;
  [[nodiscard]] std::uint32_t rows() const { return 1U << at(field_id::row).bits; }
  /// Bursts in a row.
  [[nodiscard]] std::uint32_t columns() const { return 1U << at(field_id::column).bits; }
  [[nodiscard]] std::uint32_t burst_bytes() const { return 1U << burst_bits_; }
  [[nodiscard]] unsigned burst_bits() const { return burst_bits_; }
  [[nodiscard]] std::uint64_t capacity() const { return capacity_; }

 private:
  enum class field_id : std::uint8_t { pseudo_channel, sid, bank_group, bank, row, column };
  struct field {
    unsigned shift{};
    unsigned bits{};
    [[nodiscard]] std::uint32_t of(std::uint64_t offset) const {
      return static_cast<std::uint32_t>(offset >> shift & ((std::uint64_t{1} << bits) - 1));
    }
    [[nodiscard]] std::uint64_t place(std::uint32_t value) const { return std::uint64_t{value} << shift; }
  };
  [[nodiscard]] const field& at(field_id id) const { return fields_[static_cast<std::size_t>(id)]; }
  void hash(dram_location& l) const;

  std::array<field, 6> fields_;
  unsigned burst_bits_{};
  std::uint64_t capacity_{};
  bool row_xor_{};
};

using dram_tick = std::uint64_t;  ///< a count of ticks since time zero
inline constexpr dram_tick never_tick = UINT64_MAX;

enum class dram_command : std::uint8_t {
  activate,
  precharge,
  precharge_all,
  read,
  write,
  read_precharge,
  write_precharge,
  refresh_all,
  refresh_bank
};

/// A channel; times in ticks between the first ticks of two commands unless said otherwise.
struct dram_parameters {
  sim_time tick;
  dram_tick clock{};  ///< ticks of a command clock: 2 or 1
  std::uint32_t pseudo_channels{};
  std::uint32_t sids{};
  std::uint32_t bank_groups{};
  std::uint32_t banks_per_group{};
  config::hbm_refresh refresh{};
  config::hbm_scheduler scheduler{};
  config::hbm_page_policy page_policy{};
  std::uint32_t read_queue{};
  std::uint32_t write_queue{};
  double drain_high{};  ///< bursts in the write queue above which it drains
  double drain_low{};   ///< bursts below which draining ends; it does with none left, too

  dram_tick burst{};          ///< data-bus time of one burst; also tCCD_S
  dram_tick activate_bus{};   ///< ticks of the row bus an activation takes
  dram_tick read_end{};       ///< read to its last data
  dram_tick write_end{};      ///< write to its last data
  dram_tick act_to_read{};    ///< tRCD_RD
  dram_tick act_to_write{};   ///< tRCD_WR
  dram_tick act_to_pre{};     ///< tRAS
  dram_tick act_to_act{};     ///< tRC
  dram_tick act_to_act_s{};   ///< tRRD_S
  dram_tick act_to_act_l{};   ///< tRRD_L
  dram_tick faw{};            ///< first to fifth activation
  dram_tick act_to_ref{};     ///< tRC
  dram_tick act_to_refpb{};   ///< tRRD_S, another bank
  dram_tick pre_to_act{};     ///< tRP
  dram_tick pre_to_pre{};     ///< tPPD
  dram_tick pre_to_ref{};     ///< tRP
  dram_tick read_to_pre{};    ///< tRTP
  dram_tick write_to_pre{};   ///< CWL + burst + tWR
  dram_tick readp_to_act{};   ///< tRTP + tRP, auto-precharge
  dram_tick writep_to_act{};  ///< CWL + burst + tWR + tRP, auto-precharge
  dram_tick readp_to_ref{};
  dram_tick writep_to_ref{};
  dram_tick col_to_col_s{};     ///< tCCD_S
  dram_tick col_to_col_l{};     ///< tCCD_L
  dram_tick col_to_col_r{};     ///< tCCD_R, other SID
  dram_tick read_to_write{};    ///< tRTW
  dram_tick write_to_read_s{};  ///< CWL + burst + tWTR_S
  dram_tick write_to_read_l{};  ///< CWL + burst + tWTR_L
  dram_tick refi{};             ///< between all-bank refreshes
  dram_tick refi_bank{};        ///< between refreshes of a bank each
  dram_tick refresh_set{};      ///< last bank of a round of per-bank refreshes to the next round
  dram_tick ref_to_act{};       ///< tRFC
  dram_tick ref_to_pre{};       ///< tRFC
  dram_tick refpb_to_act{};     ///< tRFCpb, the same bank
  dram_tick refpb_to_act_d{};   ///< tRREFD, another bank
  dram_tick refpb_to_refpb{};   ///< tRREFD

  bool operator==(const dram_parameters&) const = default;
  [[nodiscard]] std::uint32_t groups_per_pc() const { return sids * bank_groups; }
  [[nodiscard]] std::uint32_t banks_per_pc() const { return sids * bank_groups * banks_per_group; }
  [[nodiscard]] std::uint32_t banks() const { return pseudo_channels * banks_per_pc(); }
  /// Row commands other than precharges, and column commands, start at the rising edge.
  [[nodiscard]] bool rising(dram_tick t) const { return clock == 1 || (t & 1) != 0; }
  [[nodiscard]] dram_tick rising_from(dram_tick t) const { return rising(t) ? t : t + 1; }
};

/// Clocks that cover a time from a data sheet. Sheets print rounded nanoseconds (19.4 for 31 clocks of
/// 0.625), so up to a tenth of a clock above a whole number is taken for that number.
[[nodiscard]] std::uint64_t command_clocks(double ns, sim_time tck);

/// Every HBM generation moves a burst in two command clocks: tCK = burst_ns / 2.
/// Throws user_error as config::need_sound does.
[[nodiscard]] dram_parameters make_dram_parameters(const config::hbm_block& hbm);

/// Banks within a pseudo-channel: (sid * bank_groups + bank_group) * banks_per_group + bank.
[[nodiscard]] inline std::uint32_t bank_index(const dram_parameters& p, const dram_location& l) {
  return (l.sid * p.bank_groups + l.bank_group) * p.banks_per_group + l.bank;
}

// Closed forms: what one DRAM channel can reach when a single constraint limits it, for reads of a burst
// each. No simulation comes above them.

/// Data rate of an HBM port, all its pseudo-channels together, 1e9 bytes/s; of either hbm.model.
[[nodiscard]] double port_gbytes_s(const config::hbm_block& hbm);

struct dram_bound {
  double gbytes_s{};
  const char* limit{};  ///< the constraint, as data sheets name it
};

/// The data bus without a pause.
[[nodiscard]] dram_bound bus_bound(const config::hbm_block& hbm);
/// One activation per burst: the tightest of tFAW, tRRD and the row-command bus that the
/// pseudo-channels share (an activation and a precharge each).
[[nodiscard]] dram_bound activation_bound(const config::hbm_block& hbm);
/// One bank, another row each time: an access per tRC.
[[nodiscard]] dram_bound row_cycle_bound(const config::hbm_block& hbm);
/// One open row per pseudo-channel: a burst per tCCD_L.
[[nodiscard]] dram_bound bank_group_bound(const config::hbm_block& hbm);

/// Share of time that refresh leaves: 1 - tRFC / tREFI with all-bank refresh, 1 without. With per-bank
/// refresh there is no closed form; 1 is its upper limit.
[[nodiscard]] double refresh_share(const config::hbm_block& hbm);

}  // namespace diecast::timing
