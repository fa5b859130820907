// SPDX-License-Identifier: Apache-2.0
// The refresh half of the scheduler. Deadlines are at multiples of an interval from time zero; each
// puts an order in front of all requests, served in turn.
#include <algorithm>

#include "models/timing/fr_fcfs.hpp"

namespace diecast::timing {

void dram_scheduler::order_refresh(dram_tick t) {
  if (p_.refresh == config::hbm_refresh::per_bank) {
    order_bank_refresh(t);
  } else {
    for (std::uint32_t pc = 0; pc < p_.pseudo_channels; ++pc) refreshes_.push_back({pc, 0, true});
    next_refresh_ += p_.refi;
    ++idle_refreshes_;
  }
  next_row_ = std::min(next_row_, t);
}

/// One order per tick: the bank whose turn it is, in each pseudo-channel, then the next bank one
/// interval later. A stack ID starts its next round only when the last one is over.
void dram_scheduler::order_bank_refresh(dram_tick t) {
  if (bank_refreshes_.empty()) {
    if (t < refresh_round_[refresh_sid_]) {
      next_refresh_ = refresh_round_[refresh_sid_];
      return;
    }
    const std::uint32_t banks = p_.bank_groups * p_.banks_per_group;
    for (std::uint32_t pc = 0; pc < p_.pseudo_channels; ++pc)
      bank_refreshes_.push_back({pc, refresh_sid_ * banks + refresh_bank_, false});
    refresh_due_ += p_.refi_bank;
    ++idle_refreshes_;
    if (++refresh_bank_ == banks) {
      refresh_round_[refresh_sid_] = t + p_.pseudo_channels - 1 + p_.refresh_set;
      refresh_bank_ = 0;
      refresh_sid_ = (refresh_sid_ + 1) % p_.sids;
    }
  }
  refreshes_.push_back(bank_refreshes_.front());
  bank_refreshes_.pop_front();
  next_refresh_ = bank_refreshes_.empty() ? std::max(refresh_due_, t + 1) : t + 1;
}

void dram_scheduler::skip_idle_refreshes(dram_tick until) {
  if (next_refresh_ == never_tick || !bank_refreshes_.empty()) return;
  const bool all = p_.refresh == config::hbm_refresh::all_bank;
  const std::uint32_t round = all ? 1 : p_.banks_per_pc();
  if (idle_refreshes_ < round) return;  // rows may still be open
  const dram_tick interval = all ? p_.refi : p_.refi_bank * round;
  if (until < next_refresh_ + 2 * interval) return;
  const dram_tick rounds = (until - next_refresh_) / interval - 1;
  next_refresh_ += rounds * interval;
  refresh_due_ += rounds * interval;
  for (dram_tick& r : refresh_round_) r += rounds * interval;
  (all ? counters_.all_bank_refreshes : counters_.bank_refreshes) += rounds * round * p_.pseudo_channels;
}

void dram_scheduler::refresh_slot(dram_tick t) {
  const refresh_order r = refreshes_.front();
  const auto& c = state_.channel(r.pc);
  const bool rising = p_.rising(t);
  const bool open = r.all ? c.open != 0 : state_.open_row(r.pc, r.bank) != dram_state::no_row;
  const bool held = r.all ? pcs_[r.pc].active != 0 : pcs_[r.pc].banks[r.bank].active != none;
  if (open && held) {  // the row stays open until the column command of the request that opened it
    next_row_ = never_tick;
    return;
  }
  dram_tick at = 0;
  if (open) {
    at = r.all ? dram_state::earliest_precharge_all(c) : dram_state::earliest_precharge(c, r.bank);
  } else {
    at = r.all ? c.refresh_all : dram_state::earliest_refresh_bank(c, r.bank);
  }
  at = std::max(at, state_.row_bus());
  const bool may = rising || (open && state_.pairs(t, r.pc, r.bank, r.all));
  if (at > t || !may) {
    next_row_ = std::max(t + 1, open ? at : p_.rising_from(std::max(at, t + 1)));
    return;
  }
  if (open && !r.all) {
    lost_.close_for_refresh(state_, r.pc, r.bank);
    give_precharge(r.pc, r.bank, t);
    next_row_ = t + 1;
    return;
  }
  if (open) {
    report(dram_command::precharge_all, r.pc, 0, 0, 0, t);
    for (std::uint32_t b = 0; b < p_.banks_per_pc(); ++b) lost_.close_for_refresh(state_, r.pc, b);
    state_.precharge_all(r.pc, t);
    for (std::uint32_t b = 0; b < p_.banks_per_pc(); ++b) find_hits(r.pc, b);
    next_row_ = t + 1;
    return;
  }
  report(r.all ? dram_command::refresh_all : dram_command::refresh_bank, r.pc, r.bank, 0, 0, t);
  lost_.refresh(state_, r.pc, r.bank, r.all, t);
  if (r.all) {
    state_.refresh_all(r.pc, t);
    ++counters_.all_bank_refreshes;
  } else {
    state_.refresh_bank(r.pc, r.bank, t);
    ++counters_.bank_refreshes;
  }
  refreshes_.pop_front();
  next_row_ = t + 1;
  if (!refreshes_.empty()) return;
  lost_.released(t + 1);
  next_column_ = t + 1;
}

}  // namespace diecast::timing
