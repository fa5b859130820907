// SPDX-License-Identifier: Apache-2.0
// DRAM arithmetic without a simulator: parameters in command clocks, the address map, and the state
// of the banks of one pseudo-channel. Row commands (activate, precharge) and column commands (read,
// write) have buses of their own, as in HBM: one of each kind per command clock.
#pragma once

#include <cstdint>
#include <vector>

#include "models/config/machine_config.hpp"
#include "models/types/time.hpp"

namespace diecast::timing {

using dram_clock = std::uint64_t;  ///< a count of command clocks (tCK)
inline constexpr dram_clock never_clock = UINT64_MAX;

/// One pseudo-channel; times in command clocks.
struct dram_parameters {
  sim_time tck;
  std::uint32_t bank_groups{};
  std::uint32_t banks_per_group{};
  dram_clock burst{};   ///< data-bus time of one burst; also tCCD_S
  dram_clock trcd{};    ///< activate to read or write
  dram_clock trp{};     ///< precharge to activate
  dram_clock tras{};    ///< activate to precharge
  dram_clock cl{};      ///< read to its first data
  dram_clock cwl{};     ///< write to its first data
  dram_clock tccd_l{};  ///< column to column in one bank group
  dram_clock twr{};     ///< end of write data to precharge

  [[nodiscard]] std::uint32_t banks() const { return bank_groups * banks_per_group; }
};

/// Clocks that cover a time from a data sheet. Sheets print rounded nanoseconds (19.4 for 31 clocks of
/// 0.625), so up to a tenth of a clock above a whole number is taken for that number.
[[nodiscard]] dram_clock command_clocks(double ns, sim_time tck);

/// Every HBM generation moves a burst in two command clocks: tCK = burst_ns / 2.
/// Throws user_error with all problems of the block (keys below "hbm.").
[[nodiscard]] dram_parameters make_dram_parameters(const config::hbm_block& hbm);

/// Where one burst lies within a port.
struct dram_location {
  std::uint32_t pseudo_channel{};
  std::uint32_t bank_group{};
  std::uint32_t bank{};  ///< within its group
  std::uint32_t row{};
  std::uint32_t column{};  ///< burst within the row
  auto operator<=>(const dram_location&) const = default;
};

/// The port's address map, from the least significant bit: byte within the burst, pseudo-channel,
/// bank group, column, bank, row. A sequential stream so alternates pseudo-channels and bank groups
/// with every burst and stays in its rows until they are used up.
class dram_address_map {
 public:
  /// Throws user_error with all problems: every count a power of two, at least one row.
  explicit dram_address_map(const config::hbm_block& hbm);

  [[nodiscard]] dram_location decode(std::uint64_t offset) const;
  /// Offset of the first byte of a burst: the inverse of decode.
  [[nodiscard]] std::uint64_t encode(const dram_location& l) const;
  [[nodiscard]] std::uint32_t rows() const { return rows_; }
  [[nodiscard]] std::uint32_t burst_bytes() const { return 1U << pseudo_channel_.shift; }

 private:
  struct field {
    unsigned shift{};
    unsigned bits{};
    [[nodiscard]] std::uint32_t of(std::uint64_t offset) const {
      return static_cast<std::uint32_t>(offset >> shift & ((std::uint64_t{1} << bits) - 1));
    }
  };
  field pseudo_channel_, bank_group_, column_, bank_, row_;
  std::uint32_t rows_{};
};

enum class dram_command : std::uint8_t { activate, precharge, read, write };

/// What the banks of one pseudo-channel allow, and when. Banks are numbered group * banks_per_group +
/// bank.
class dram_banks {
 public:
  static constexpr std::uint32_t no_row = UINT32_MAX;

  explicit dram_banks(const dram_parameters& p);

  [[nodiscard]] std::uint32_t open_row(std::uint32_t bank) const { return banks_[bank].row; }
  /// First clock at which the command may be given. Preconditions: the bank is closed (activate), open
  /// (others).
  [[nodiscard]] dram_clock earliest_activate(std::uint32_t bank) const { return banks_[bank].activate_from; }
  [[nodiscard]] dram_clock earliest_precharge(std::uint32_t bank) const {
    return banks_[bank].precharge_from;
  }
  [[nodiscard]] dram_clock earliest_column(std::uint32_t bank, bool write) const;

  /// Precondition: `at` is not before the earliest clock of the command.
  void activate(std::uint32_t bank, std::uint32_t row, dram_clock at);
  void precharge(std::uint32_t bank, dram_clock at);
  /// Returns the clock at which the last data of the burst has crossed the bus.
  dram_clock column(std::uint32_t bank, bool write, dram_clock at);

 private:
  struct bank_state {
    std::uint32_t row{no_row};
    dram_clock activate_from{};
    dram_clock precharge_from{};
    dram_clock column_from{};
  };
  dram_parameters p_;
  std::vector<bank_state> banks_;
  std::vector<dram_clock> group_column_from_;  ///< tCCD_L
  dram_clock column_from_{};                   ///< tCCD_S
  dram_clock data_free_{};
};

}  // namespace diecast::timing
