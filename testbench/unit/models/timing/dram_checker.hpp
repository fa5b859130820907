// SPDX-License-Identifier: Apache-2.0
// Replays the command stream of a channel against the rules of the standards (JESD235, JESD238),
// knowing nothing of the model: times come from the config block in nanoseconds, every command is
// compared with every one before it within the longest constraint: of a refresh, whose constraints are
// several times as long as all others, or of any other command.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <fmt/format.h>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "models/timing/fr_fcfs.hpp"

namespace diecast::test {

class dram_checker : public timing::dram_command_observer {
 public:
  explicit dram_checker(const config::hbm_block& h)
      : h_(h), half_(h.row_bus == config::hbm_row_bus::half_clock), tck_(h.burst_ns / 2) {
    for (const double t : {h.trc_ns, h.tfaw_ns, h.trtw_ns, write_to_act(), 100.0})
      others_.horizon = std::max(others_.horizon, t + 4 * tck_);
    for (const double t : {others_.horizon, h.trfc_ns + 4 * tck_, h.trfcpb_ns + 4 * tck_})
      refreshes_before_.horizon = std::max(refreshes_before_.horizon, t);
  }

  void on_command(const timing::dram_event& e) override {
    ++commands_;
    need(e.at >= last_, e, "time goes back");
    last_ = e.at;
    check_edges(e);
    for (past* p : {&refreshes_before_, &others_}) {
      while (!p->commands.empty() && ns(e.at - p->commands.front().at) > p->horizon) p->commands.pop_front();
      for (const timing::dram_event& before : p->commands) check_pair(before, e);
    }
    check_window(e);
    apply(e);
    (refreshes(e.command) ? refreshes_before_ : others_).commands.push_back(e);
    if (column(e.command)) columns_.emplace(e.at, e.where, writes(e.command));
  }
  /// Whether there was such a column command that no call asked for yet.
  [[nodiscard]] bool take_access(std::uint64_t at, const timing::dram_location& l, bool write) {
    return columns_.erase({at, l, write}) != 0;
  }
  [[nodiscard]] const std::vector<std::string>& violations() const { return violations_; }
  [[nodiscard]] std::uint64_t commands() const { return commands_; }
  [[nodiscard]] std::uint64_t count(timing::dram_command c) const {
    const auto it = counts_.find(c);
    return it == counts_.end() ? 0 : it->second;
  }
  /// Refreshes owed at `end_ns` and not given, of the bank that has the fewest.
  [[nodiscard]] double refreshes_owed(double end_ns) const {
    if (h_.refresh == config::hbm_refresh::none) return 0;
    const std::uint64_t banks =
        h_.pseudo_channels *
        (h_.refresh == config::hbm_refresh::all_bank ? 1 : h_.sids * h_.bank_groups * h_.banks_per_group);
    std::uint64_t fewest = refreshes_.size() < banks ? 0 : UINT64_MAX;
    for (const auto& [bank, given] : refreshes_) fewest = std::min(fewest, given);
    return end_ns / h_.trefi_ns - static_cast<double>(fewest);
  }

 private:
  using kind = timing::dram_command;
  using bank_key = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>;
  /// Commands that a later one may come too soon after.
  struct past {
    double horizon{};  ///< ns
    std::deque<timing::dram_event> commands;
  };

  [[nodiscard]] double ns(std::uint64_t ticks) const {
    return static_cast<double>(ticks) * tck_ / (half_ ? 2 : 1);
  }
  static bool reads(kind c) { return c == kind::read || c == kind::read_precharge; }
  static bool writes(kind c) { return c == kind::write || c == kind::write_precharge; }
  static bool column(kind c) { return reads(c) || writes(c); }
  static bool refreshes(kind c) { return c == kind::refresh_all || c == kind::refresh_bank; }
  static bool closes(kind c) { return c == kind::precharge || c == kind::precharge_all; }
  [[nodiscard]] std::uint64_t length(kind c) const {
    if (c == kind::activate) return half_ ? 3 : 2;
    return column(c) && half_ ? 2 : 1;
  }
  /// Times of the standards run from the last edge of a command to the last edge of the next.
  [[nodiscard]] double point(const timing::dram_event& e) const { return ns(e.at + length(e.command) - 1); }
  [[nodiscard]] double write_to_pre() const { return h_.cwl_ns + h_.burst_ns + h_.twr_ns; }
  [[nodiscard]] double write_to_act() const { return write_to_pre() + h_.trp_ns; }
  /// From a command that closes its bank to the bank's next activation or refresh; 0 of others.
  [[nodiscard]] double close_to_act(kind c) const {
    if (closes(c)) return h_.trp_ns;
    return c == kind::read_precharge    ? h_.trtp_ns + h_.trp_ns
           : c == kind::write_precharge ? write_to_act()
                                        : 0;
  }
  /// closing: the read closes the bank that was written, tRTP later.
  [[nodiscard]] double write_to_read(bool group, bool closing) const {
    const double turned = h_.cwl_ns + h_.burst_ns + (group ? h_.twtr_l_ns : h_.twtr_s_ns);
    return closing ? std::max(turned, write_to_pre() - h_.trtp_ns) : turned;
  }
  static bank_key key(const timing::dram_location& l) {
    return {l.pseudo_channel, l.sid, l.bank_group, l.bank};
  }

  void need(bool ok, const timing::dram_event& e, const char* what) {
    if (ok || violations_.size() > 20) return;
    violations_.push_back(fmt::format("{}: command {} to pc {} sid {} bank {}.{} row {} at tick {}", what,
                                      static_cast<int>(e.command), e.where.pseudo_channel, e.where.sid,
                                      e.where.bank_group, e.where.bank, e.where.row, e.at));
  }

  void check_edges(const timing::dram_event& e) {
    if (half_ && !closes(e.command)) need(e.at % 2 == 1, e, "not at a rising edge");
  }

  void check_buses(const timing::dram_event& a, const timing::dram_event& b) {
    if (column(a.command) != column(b.command)) return;
    need(b.at >= a.at + length(a.command), b, column(a.command) ? "column bus" : "row bus");
    const bool paired = half_ && !column(a.command) && a.at % 2 == 1 && b.at == a.at + length(a.command);
    if (!paired || a.where.pseudo_channel != b.where.pseudo_channel) return;
    const bool all = a.command == kind::refresh_all || a.command == kind::precharge_all ||
                     b.command == kind::precharge_all;
    if (closes(b.command) && b.at % 2 == 0) need(!all && key(a.where) != key(b.where), b, "pairing");
  }

  /// The least time from a to b, both in one pseudo-channel; 0 when the standards name none.
  [[nodiscard]] double least(const timing::dram_event& a, const timing::dram_event& b) const {
    const bool bank = key(a.where) == key(b.where);
    const bool sid = a.where.sid == b.where.sid;
    const bool group = sid && a.where.bank_group == b.where.bank_group;
    switch (b.command) {
      case kind::activate:
        if (a.command == kind::activate)
          return bank ? std::max(h_.trc_ns, h_.tras_ns + h_.trp_ns) : group ? h_.trrd_l_ns : h_.trrd_s_ns;
        if (a.command == kind::refresh_all) return h_.trfc_ns;
        if (a.command == kind::refresh_bank) return bank ? h_.trfcpb_ns : h_.trrefd_ns;
        return bank || a.command == kind::precharge_all ? close_to_act(a.command) : 0;
      case kind::precharge:
      case kind::precharge_all: {
        const bool concerned = bank || b.command == kind::precharge_all;
        if (closes(a.command)) return h_.tppd_ns;
        if (!concerned) return 0;
        if (a.command == kind::activate) return h_.tras_ns;
        if (a.command == kind::read) return h_.trtp_ns;
        if (a.command == kind::write) return write_to_pre();
        return 0;
      }
      case kind::read:
      case kind::read_precharge:
      case kind::write:
      case kind::write_precharge:
        if (a.command == kind::activate) return !bank ? 0 : reads(b.command) ? h_.trcd_rd_ns : h_.trcd_wr_ns;
        if (!column(a.command)) return 0;
        if (reads(a.command) == reads(b.command))
          return group ? h_.tccd_l_ns : sid ? h_.burst_ns : h_.tccd_r_ns;
        return reads(a.command) ? h_.trtw_ns
                                : write_to_read(group, bank && b.command == kind::read_precharge);
      case kind::refresh_all:
        if (a.command == kind::activate) return h_.trc_ns;
        if (a.command == kind::refresh_all) return h_.trfc_ns;
        return close_to_act(a.command);
      case kind::refresh_bank:
        if (a.command == kind::activate) return bank ? h_.trc_ns : h_.trrd_s_ns;
        if (a.command == kind::refresh_bank) return bank ? h_.trfcpb_ns : h_.trrefd_ns;
        return bank ? close_to_act(a.command) : 0;
    }
    return 0;
  }

  void check_pair(const timing::dram_event& a, const timing::dram_event& b) {
    check_buses(a, b);
    if (a.where.pseudo_channel != b.where.pseudo_channel) return;
    // Data sheets print rounded figures: a tenth of a clock is granted.
    const double gap = point(b) - point(a) + 0.1 * tck_ + 1e-9;
    if (const double t = least(a, b); t > 0 && gap < t)
      need(false, b, fmt::format("{} ns after command {}", gap, static_cast<int>(a.command)).c_str());
    if (column(a.command) && column(b.command)) {
      const double first = point(a) + (writes(a.command) ? h_.cwl_ns : h_.cl_ns);
      const double next = point(b) + (writes(b.command) ? h_.cwl_ns : h_.cl_ns);
      need(next + 0.2 * tck_ + 1e-9 >= first + h_.burst_ns, b, "data bus");
    }
  }

  void check_window(const timing::dram_event& e) {
    if (e.command != kind::activate) return;
    std::deque<double>& acts = activates_[e.where.pseudo_channel];
    if (acts.size() == 4) {
      need(point(e) - acts.front() + 0.1 * tck_ + 1e-9 >= h_.tfaw_ns, e, "tFAW");
      acts.pop_front();
    }
    acts.push_back(point(e));
  }

  void apply(const timing::dram_event& e) {
    ++counts_[e.command];
    if (refreshes(e.command)) ++refreshes_[key(e.where)];
    const auto it = rows_.find(key(e.where));
    const bool open = it != rows_.end();
    switch (e.command) {
      case kind::activate:
        need(!open, e, "activation of an open bank");
        rows_[key(e.where)] = e.where.row;
        break;
      case kind::precharge:
        need(open, e, "precharge of a closed bank");
        rows_.erase(key(e.where));
        break;
      case kind::precharge_all:
        std::erase_if(rows_, [&](const auto& r) { return std::get<0>(r.first) == e.where.pseudo_channel; });
        break;
      case kind::refresh_bank: need(!open, e, "refresh of an open bank"); break;
      case kind::refresh_all:
        for (const auto& r : rows_)
          need(std::get<0>(r.first) != e.where.pseudo_channel, e, "refresh with open rows");
        break;
      default:
        need(open && it->second == e.where.row, e, "row is not open");
        if (e.command == kind::read_precharge || e.command == kind::write_precharge)
          rows_.erase(key(e.where));
    }
  }

  const config::hbm_block h_;
  bool half_;
  double tck_;
  past refreshes_before_, others_;
  std::uint64_t last_{};
  std::map<std::uint32_t, std::deque<double>> activates_;
  std::map<bank_key, std::uint32_t> rows_;
  std::map<kind, std::uint64_t> counts_;
  std::map<bank_key, std::uint64_t> refreshes_;  ///< refreshes of all banks are counted under the first bank
  std::set<std::tuple<std::uint64_t, timing::dram_location, bool>> columns_;
  std::uint64_t commands_{};
  std::vector<std::string> violations_;
};

}  // namespace diecast::test
