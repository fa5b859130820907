// SPDX-License-Identifier: Apache-2.0
// Replays a command stream against the constraints of the standard, knowing nothing of the scheduler:
// every pair of commands is looked at from the whole history of its bank.
#pragma once

#include <fmt/format.h>
#include <optional>
#include <string>
#include <vector>

#include "models/timing/fr_fcfs.hpp"

namespace diecast::test {

class dram_checker : public timing::dram_command_observer {
 public:
  explicit dram_checker(const timing::dram_parameters& p) : p_(p) {}

  void on_command(timing::dram_command c, std::uint32_t bank, std::uint32_t row,
                  timing::dram_clock at) override {
    using enum timing::dram_command;
    const entry now{c, bank, row, at};
    const bool column = c == read || c == write;
    if (const auto last = latest([&](const entry& e) { return is_column(e) == column; })) {
      expect(at > last->at, now, "two commands on one bus");
    }
    const auto opened = latest([&](const entry& e) { return e.bank == bank && e.what == activate; });
    const auto closed = latest([&](const entry& e) { return e.bank == bank && e.what == precharge; });
    const bool open = opened && (!closed || closed->at < opened->at);
    if (c == activate) {
      expect(!open, now, "activate of an open bank");
      if (closed) expect(at >= closed->at + p_.trp, now, "tRP");
    } else {
      expect(open && opened->row == row, now, "row is not open");
      if (c == precharge && opened) expect(at >= opened->at + p_.tras, now, "tRAS");
      if (column && opened) expect(at >= opened->at + p_.trcd, now, "tRCD");
    }
    if (c == precharge) {
      const auto last = latest([&](const entry& e) { return e.bank == bank && e.what == write; });
      if (last) expect(at >= last->at + p_.cwl + p_.burst + p_.twr, now, "tWR");
    }
    if (column) check_column(now);
    history_.push_back(now);
    if (history_.size() > 4096) history_.erase(history_.begin(), history_.begin() + 2048);
  }
  [[nodiscard]] const std::vector<std::string>& violations() const { return violations_; }

 private:
  struct entry {
    timing::dram_command what;
    std::uint32_t bank, row;
    timing::dram_clock at;
  };
  static bool is_column(const entry& e) {
    return e.what == timing::dram_command::read || e.what == timing::dram_command::write;
  }
  [[nodiscard]] timing::dram_clock data_start(const entry& e) const {
    return e.at + (e.what == timing::dram_command::write ? p_.cwl : p_.cl);
  }
  void check_column(const entry& now) {
    const auto group = [&](std::uint32_t bank) { return bank / p_.banks_per_group; };
    const auto any = latest([](const entry& e) { return is_column(e); });
    if (any) {
      expect(now.at >= any->at + p_.burst, now, "tCCD_S");
      expect(data_start(now) >= data_start(*any) + p_.burst, now, "data bus");
    }
    const auto same =
        latest([&](const entry& e) { return is_column(e) && group(e.bank) == group(now.bank); });
    if (same) expect(now.at >= same->at + p_.tccd_l, now, "tCCD_L");
  }
  template <class Predicate>
  std::optional<entry> latest(Predicate&& is) const {
    for (auto it = history_.rbegin(); it != history_.rend(); ++it) {
      if (is(*it)) return *it;
    }
    return std::nullopt;
  }
  void expect(bool ok, const entry& e, const char* what) {
    if (!ok)
      violations_.push_back(fmt::format("{} broken by command {} to bank {} row {} at clock {}", what,
                                        static_cast<int>(e.what), e.bank, e.row, e.at));
  }

  timing::dram_parameters p_;
  std::vector<entry> history_;
  std::vector<std::string> violations_;
};

}  // namespace diecast::test
