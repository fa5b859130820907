// SPDX-License-Identifier: Apache-2.0
// State of a channel's banks after the commands so far: open rows, and the first tick at which each command
// is allowed for each bank. Independent of requests.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "models/timing/dram.hpp"

namespace diecast::timing {

class dram_state {
 public:
  static constexpr std::uint32_t no_row = UINT32_MAX;

  /// One bank; group times are kept apart because every column command changes them.
  struct bank_state {
    std::uint32_t row{no_row};
    std::uint32_t group{};  ///< sid * bank_groups + bank_group
    dram_tick act{}, pre{}, read{}, write{}, refresh{};
    dram_tick opened{};    ///< time of the last activation
    dram_tick restored{};  ///< tick from which on a precharge loses no write to the open row
  };
  struct group_state {
    dram_tick act{}, read{}, write{};
  };
  struct channel_state {        ///< one pseudo-channel
    dram_tick act{}, column{};  ///< earliest, for any bank
    dram_tick pre{}, pre_all{}, refresh_all{}, refresh_bank{};
    std::array<dram_tick, 4> acts{};  ///< the last four activations, oldest at act_count % 4
    std::uint32_t act_count{};
    std::uint64_t open{};  ///< bit per bank
    std::vector<bank_state> banks;
    std::vector<group_state> groups;
  };

  explicit dram_state(const dram_parameters& p);

  [[nodiscard]] const channel_state& channel(std::uint32_t pc) const { return channels_[pc]; }
  [[nodiscard]] const bank_state& bank(std::uint32_t pc, std::uint32_t b) const {
    return channels_[pc].banks[b];
  }
  [[nodiscard]] std::uint32_t open_row(std::uint32_t pc, std::uint32_t b) const { return bank(pc, b).row; }
  [[nodiscard]] dram_tick row_bus() const { return row_bus_; }

  /// First tick of a command, edges and pairing of the row bus left out. Preconditions: the bank is
  /// closed (activate, refresh) or open (others).
  [[nodiscard]] static dram_tick earliest_column(const channel_state& c, std::uint32_t b, bool write) {
    const bank_state& k = c.banks[b];
    const group_state& g = c.groups[k.group];
    return write ? (k.write > g.write ? k.write : g.write) : (k.read > g.read ? k.read : g.read);
  }
  [[nodiscard]] static dram_tick earliest_activate(const channel_state& c, std::uint32_t b) {
    const bank_state& k = c.banks[b];
    const group_state& g = c.groups[k.group];
    return k.act > g.act ? k.act : g.act;
  }
  [[nodiscard]] static dram_tick earliest_precharge(const channel_state& c, std::uint32_t b) {
    return c.banks[b].pre > c.pre ? c.banks[b].pre : c.pre;
  }
  [[nodiscard]] static dram_tick earliest_precharge_all(const channel_state& c) {
    return c.pre_all > c.pre ? c.pre_all : c.pre;
  }
  [[nodiscard]] static dram_tick earliest_refresh_bank(const channel_state& c, std::uint32_t b) {
    return c.banks[b].refresh > c.refresh_bank ? c.banks[b].refresh : c.refresh_bank;
  }
  /// Whether a precharge at the falling edge may pair with the row command before it: not for the same bank.
  [[nodiscard]] bool pairs(dram_tick t, std::uint32_t pc, std::uint32_t b, bool all) const {
    if (t != pairing_edge_ || pc != pairing_pc_) return true;
    return !pairing_all_ && !all && b != pairing_bank_;
  }

  /// Precondition for all: `t` is not before the earliest tick of the command.
  void activate(std::uint32_t pc, std::uint32_t b, std::uint32_t row, dram_tick t);
  void precharge(std::uint32_t pc, std::uint32_t b, dram_tick t);
  void precharge_all(std::uint32_t pc, dram_tick t);
  void refresh_all(std::uint32_t pc, dram_tick t);
  void refresh_bank(std::uint32_t pc, std::uint32_t b, dram_tick t);
  /// Whether a column command at t may close its bank: not a read so soon after a write that the bank would
  /// be precharged before the write has recovered.
  [[nodiscard]] bool may_close(std::uint32_t pc, std::uint32_t b, bool write, dram_tick t) const {
    return write || t + p_.read_to_pre >= bank(pc, b).restored;
  }
  /// close: with auto-precharge. Precondition of it: may_close().
  void column(std::uint32_t pc, std::uint32_t b, bool write, bool close, dram_tick t);

 private:
  void took_row_bus(std::uint32_t pc, std::uint32_t b, bool all, dram_tick t, dram_tick length);

  const dram_parameters p_;
  std::vector<channel_state> channels_;
  dram_tick row_bus_{};  ///< first tick at which it is free
  dram_tick pairing_edge_{never_tick};
  std::uint32_t pairing_pc_{}, pairing_bank_{};
  bool pairing_all_{};
};

}  // namespace diecast::timing
