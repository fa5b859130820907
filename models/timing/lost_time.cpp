// SPDX-License-Identifier: Apache-2.0
#include "models/timing/lost_time.hpp"

#include <algorithm>
#include <numeric>

namespace diecast::timing {
namespace {

/// Column commands after which the row bus's part of tFAW is settled.
constexpr std::uint64_t window_columns = 256;

constexpr std::size_t at(lost_cause c) { return static_cast<std::size_t>(c); }

}  // namespace

const char* to_string(lost_cause c) {
  static constexpr std::array names{"refresh",    "faw_rrd",       "row_bus",
                                    "turnaround", "bank_conflict", "initiator"};
  return names[at(c)];
}

lost_time::lost_time(const dram_parameters& p) : p_(p), pcs_(p.pseudo_channels) {
  for (pc_account& c : pcs_) {
    c.last_in_sid.resize(p.sids);
    c.last_in_group.resize(p.groups_per_pc());
    c.bank_refreshed.resize(p.banks_per_pc());
    c.opened_by.resize(p.banks_per_pc());
  }
}

void lost_time::activate(const dram_state& s, std::uint32_t pc, std::uint32_t bank, dram_tick t,
                         dram_tick visible) {
  const auto& channel = s.channel(pc);
  const auto& k = channel.banks[bank];
  pc_account& c = pcs_[pc];
  ++window_.activates;
  moment last;
  last.offer(std::max({c.refreshed, c.bank_refreshed[bank], c.refreshed_one, released_}),
             lost_cause::refresh);
  // What the group says beyond refreshes is tRRD and tFAW.
  last.offer(channel.groups[k.group].act, lost_cause::activate_window);
  // Right behind another row command, with nothing longer to wait for: the bus was the limit.
  const bool free = std::max(last.at, visible) + 2 * p_.clock < t;
  if (free && s.row_bus() > 1 && p_.rising_from(s.row_bus()) == t) last.offer(t, lost_cause::row_bus);
  last.offer(k.act, lost_cause::bank_conflict);
  const dram_tick ready = std::max(last.at, visible);
  c.opened_by[bank] = {last.cause, ready - last.at, t > ready + 2 * p_.clock ? t - ready : 0};
}

void lost_time::refresh(std::uint32_t pc, std::uint32_t bank, bool all, dram_tick t) {
  pc_account& c = pcs_[pc];
  if (all) {
    c.refreshed = t + p_.ref_to_act;
  } else {
    c.bank_refreshed[bank] = t + p_.refpb_to_act;
    c.refreshed_one = t + p_.refpb_to_act_d;
  }
}

lost_time::moment lost_time::spacing(const pc_account& c, std::uint32_t bank, bool write) const {
  const std::uint32_t group = bank / p_.banks_per_group;
  const std::uint32_t sid = group / p_.bank_groups;
  moment last;
  if (const dram_tick other = c.last[write ? 0 : 1]; other != 0) {
    const bool same_group = c.last_in_group[group] >= other;
    const dram_tick to_read = same_group ? p_.write_to_read_l : p_.write_to_read_s;
    last.offer(other + (write ? p_.read_to_write : to_read), lost_cause::turnaround);
  }
  for (std::uint32_t s = 0; s < p_.sids; ++s) {
    if (s != sid && c.last_in_sid[s] != 0)
      last.offer(c.last_in_sid[s] + p_.col_to_col_r, lost_cause::turnaround);
  }
  if (c.last_in_group[group] != 0)
    last.offer(c.last_in_group[group] + p_.col_to_col_l, lost_cause::bank_conflict);
  return last;
}

/// Charges ticks that a row was late by.
void lost_time::charge_row(const opening& o, bool alone, dram_tick begin, dram_tick end) {
  dram_tick left = end - begin;
  const auto take = [&left](dram_tick most) {
    const dram_tick n = std::min(most, left);
    left -= n;
    return n;
  };
  charge(lost_cause::row_bus, take(o.waited));
  (alone ? window_.lost[at(lost_cause::initiator)] : elsewhere_) += take(o.late);
  charge(o.cause, left);
}

/// Charges the ticks from `begin` to the command at t.
void lost_time::charge_gap(const pc_account& c, std::uint32_t bank, bool write, dram_tick begin, dram_tick t,
                           const origin& from) {
  moment row;
  const opening& opened = c.opened_by[bank];
  if (from.opened != 0) row = {from.opened + (write ? p_.act_to_write : p_.act_to_read), opened.cause};
  const moment column = spacing(c, bank, write);
  moment last = row;
  last.offer(released_ > c.last_column ? released_ : 0, lost_cause::refresh);
  last.offer(column.at, column.cause);
  const dram_tick ready = std::max({begin, last.at, from.visible});
  if (t > ready + 2 * p_.clock) {  // the scheduler was at something else first
    charge(mode_changed_ > c.last_column ? lost_cause::turnaround : lost_cause::row_bus, t - ready);
    t = ready;
  }
  if (from.visible > last.at || (last.cause == lost_cause::initiator && last.at != row.at)) {
    (from.alone ? window_.lost[at(lost_cause::initiator)] : elsewhere_) += t - begin;
    return;
  }
  if (last.at == row.at && last.cause == row.cause) return charge_row(opened, from.alone, begin, t);
  // A spacing that outlasts the row by a little.
  const bool outlasts = last.at == column.at && row.at > begin && row.at < last.at;
  const dram_tick split = outlasts ? std::min(row.at, t) : begin;
  if (split > begin) charge_row(opened, from.alone, begin, split);
  charge(last.cause, t - split);
}

void lost_time::column(std::uint32_t pc, std::uint32_t bank, bool write, dram_tick t, const origin& from) {
  pc_account& c = pcs_[pc];
  const dram_tick latency = (write ? p_.write_end : p_.read_end) - p_.burst;
  const dram_tick start = t + latency;
  const std::uint64_t empty = empty_until(t);
  if (start > c.data_end) {
    const std::uint64_t gap = start - c.data_end;
    // The first burst of all waits for its own latency.
    const std::uint64_t filling = c.last_column == 0 ? latency : 0;
    const std::uint64_t grace = c.last_column == 0 ? 0 : p_.burst;
    const std::uint64_t none = empty - c.empty + filling;
    const std::uint64_t idle = std::min(gap, none > grace ? none - grace : 0);
    charge(lost_cause::initiator, idle);
    // In the time of commands; a read after a write may reach back before tick 0 of them.
    const std::uint64_t rest = gap - idle;
    const std::uint64_t before = rest > t ? rest - t : 0;
    charge(lost_cause::turnaround, before);
    if (rest > before) charge_gap(c, bank, write, t - (rest - before), t, from);
  }
  const std::uint32_t group = bank / p_.banks_per_group;
  c.data_end = std::max(c.data_end, start) + p_.burst;
  c.last_column = t;
  c.empty = empty;
  c.last[write ? 1 : 0] = t;
  c.last_in_sid[group / p_.bank_groups] = t;
  c.last_in_group[group] = t;
  ++columns_;
  if (++window_.columns < window_columns) return;
  settle(window_, lost_);
  window_ = {};
}

void lost_time::settle(const window& w, std::array<std::uint64_t, lost_causes>& into) const {
  std::array<std::uint64_t, lost_causes> lost = w.lost;
  // Row commands go over one bus for all pseudo-channels, activations from a rising edge.
  const dram_tick per_activate = p_.rising_from(1 + p_.activate_bus + 1) - 1;
  const std::uint64_t bus = w.activates * per_activate * p_.pseudo_channels;
  const std::uint64_t data = w.columns * p_.burst;
  const std::uint64_t floor = std::min(bus > data ? bus - data : 0, lost[at(lost_cause::activate_window)]);
  lost[at(lost_cause::activate_window)] -= floor;
  lost[at(lost_cause::row_bus)] += floor;
  for (std::size_t i = 0; i < lost_causes; ++i) into[i] += lost[i];
}

/// Time lost elsewhere shares in the causes of those that had requests; where nobody lost any, a request
/// just came late.
void lost_time::spread(std::uint64_t ticks, std::array<std::uint64_t, lost_causes>& over) {
  const std::array<std::uint64_t, lost_causes> known = over;
  const std::uint64_t sum =
      std::accumulate(known.begin(), known.end(), std::uint64_t{}) - known[at(lost_cause::initiator)];
  if (sum == 0) {
    over[at(lost_cause::initiator)] += ticks;
    return;
  }
  std::uint64_t left = ticks;
  std::size_t largest = 0;
  for (std::size_t i = 0; i < lost_causes; ++i) {
    if (i == at(lost_cause::initiator)) continue;
    const double part = static_cast<double>(ticks) * static_cast<double>(known[i]) / static_cast<double>(sum);
    const std::uint64_t whole = std::min(left, static_cast<std::uint64_t>(part));
    over[i] += whole;
    left -= whole;
    if (known[i] > known[largest] || largest == at(lost_cause::initiator)) largest = i;
  }
  over[largest] += left;  // what rounding leaves
}

lost_time_report lost_time::report(dram_tick now) const {
  lost_time_report r;
  r.lost = lost_;
  dram_tick end = now;
  for (const pc_account& c : pcs_) end = std::max(end, c.data_end);
  settle(window_, r.lost);
  std::uint64_t elsewhere = elsewhere_;
  for (const pc_account& c : pcs_) {
    const std::uint64_t tail = end - c.data_end;
    const std::uint64_t idle = std::min(tail, empty_until(end) - c.empty);
    r.lost[at(lost_cause::initiator)] += idle;
    elsewhere += tail - idle;
  }
  spread(elsewhere, r.lost);
  r.busy = columns_ * p_.burst;
  r.total = end * p_.pseudo_channels;
  return r;
}

}  // namespace diecast::timing
