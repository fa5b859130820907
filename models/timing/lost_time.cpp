// SPDX-License-Identifier: Apache-2.0
#include "models/timing/lost_time.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace diecast::timing {
namespace {

/// Column commands after which the row bus's part of tFAW is known.
constexpr std::uint64_t window_columns = 256;

constexpr std::size_t index(lost_cause c) { return static_cast<std::size_t>(c); }

}  // namespace

const char* to_string(lost_cause c) {
  static constexpr std::array names{"refresh",    "faw_rrd",       "row_bus",
                                    "turnaround", "bank_conflict", "initiator"};
  return names[index(c)];
}

lost_time::lost_time(const dram_parameters& p) : p_(p), pcs_(p.pseudo_channels) {
  for (pc_account& c : pcs_) {
    c.activated.resize(p.groups_per_pc());
    c.last_in_sid.resize(p.sids);
    c.last_in_group.resize(p.groups_per_pc());
    c.banks.resize(p.banks_per_pc());
  }
}

/// tRRD and tFAW, as dram_state has them without refreshes.
void lost_time::limit_by_activations(const pc_account& c, std::uint32_t group, limits& until) const {
  dram_tick& at = until[index(lost_cause::activate_window)];
  const std::size_t size = c.activates.size();
  if (c.activate_count == 0) return;
  at = c.activates[(c.activate_count - 1) % size] + p_.act_to_act_s;
  if (c.activated[group] != 0) at = std::max(at, c.activated[group] + p_.act_to_act_l);
  if (c.activate_count >= size) at = std::max(at, c.activates[c.activate_count % size] + p_.faw);
}

void lost_time::activate(const dram_state& s, std::uint32_t pc, std::uint32_t bank, std::uint32_t row,
                         dram_tick t, dram_tick visible) {
  const auto& k = s.bank(pc, bank);
  pc_account& c = pcs_[pc];
  bank_account& b = c.banks[bank];
  const std::uint32_t closed_row = std::exchange(b.closed_row, dram_state::no_row);
  b.until = {};
  if (closed_row == row) {  // without the refresh the row would still be open
    b.until[index(lost_cause::refresh)] = t;
  } else {
    b.until[index(lost_cause::refresh)] = std::max({c.refreshed, b.refreshed, c.refreshed_one, released_});
    limit_by_activations(c, k.group, b.until);
    dram_tick& conflict = b.until[index(lost_cause::bank_conflict)];
    conflict = k.act == b.refreshed ? b.ready : k.act;
    if (closed_row != dram_state::no_row) conflict = k.opened + p_.act_to_act;
    b.until[elsewhere] = visible;
    const dram_tick ready = *std::ranges::max_element(b.until);
    if (t > ready + 2 * p_.clock) b.until[index(lost_cause::row_bus)] = t;
  }
  c.activates[c.activate_count++ % c.activates.size()] = t;
  c.activated[k.group] = t;
  ++window_.activates;
  ++activates_;
}

void lost_time::close_for_refresh(const dram_state& s, std::uint32_t pc, std::uint32_t bank) {
  if (const std::uint32_t row = s.open_row(pc, bank); row != dram_state::no_row)
    pcs_[pc].banks[bank].closed_row = row;
}

void lost_time::refresh(const dram_state& s, std::uint32_t pc, std::uint32_t bank, bool all, dram_tick t) {
  pc_account& c = pcs_[pc];
  if (all) {
    c.refreshed = t + p_.ref_to_act;
  } else {
    c.banks[bank].ready = s.bank(pc, bank).act;
    c.banks[bank].refreshed = t + p_.refpb_to_act;
    c.refreshed_one = t + p_.refpb_to_act_d;
  }
}

/// Earliest tick that the previous column commands allow.
void lost_time::limit_by_columns(const pc_account& c, std::uint32_t bank, bool write, limits& until) const {
  const std::uint32_t group = bank / p_.banks_per_group;
  const std::uint32_t sid = group / p_.bank_groups;
  dram_tick& turnaround = until[index(lost_cause::turnaround)];
  if (const dram_tick other = c.last[write ? 0 : 1]; other != 0) {
    const bool same_group = c.last_in_group[group] >= other;
    const dram_tick to_read = same_group ? p_.write_to_read_l : p_.write_to_read_s;
    turnaround = other + (write ? p_.read_to_write : to_read);
  }
  for (std::uint32_t s = 0; s < p_.sids; ++s) {
    if (s != sid && c.last_in_sid[s] != 0)
      turnaround = std::max(turnaround, c.last_in_sid[s] + p_.col_to_col_r);
  }
  dram_tick& conflict = until[index(lost_cause::bank_conflict)];
  if (c.last_in_group[group] != 0) conflict = std::max(conflict, c.last_in_group[group] + p_.col_to_col_l);
}

/// All limits that delayed a column command.
lost_time::limits lost_time::limits_of(const pc_account& c, std::uint32_t bank, bool write,
                                       const origin& from) const {
  limits until{};
  if (from.opened != 0) {
    const dram_tick row = write ? p_.act_to_write : p_.act_to_read;
    for (std::size_t i = 0; i < lost_accounts; ++i)
      if (const dram_tick at = c.banks[bank].until[i]; at != 0) until[i] = at + row;
  }
  limit_by_columns(c, bank, write, until);
  dram_tick& refresh = until[index(lost_cause::refresh)];
  if (released_ > c.last_column) refresh = std::max(refresh, released_);
  until[elsewhere] = std::max(until[elsewhere], from.visible);
  if (from.alone) std::swap(until[elsewhere], until[index(lost_cause::initiator)]);
  return until;
}

/// Charges the ticks from `begin` to the command at t: to the last limit the time that it alone delayed, to
/// the last two together the time before.
void lost_time::charge_gap(const pc_account& c, std::uint32_t bank, bool write, dram_tick begin, dram_tick t,
                           const origin& from) {
  limits until = limits_of(c, bank, write, from);
  const auto latest = [&until](std::size_t but) {
    std::size_t last = but == 0 ? 1 : 0;
    for (std::size_t i = last + 1; i < lost_accounts; ++i)
      if (i != but && until[i] > until[last]) last = i;
    return last;
  };
  std::size_t first = latest(lost_accounts);
  if (t > std::max(begin, until[first]) + 2 * p_.clock) {  // the scheduler did something else first
    first = index(mode_changed_ > c.last_column ? lost_cause::turnaround : lost_cause::row_bus);
    until[first] = t;
  }
  const std::size_t second = latest(first);
  const dram_tick split = std::clamp(until[second], begin, t);
  window_.alone[first] += t - split;
  window_.joint[first][second] += split - begin;
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
    window_.alone[index(lost_cause::initiator)] += idle;
    // In ticks of commands; a read after a write may reach back before tick 0.
    const std::uint64_t rest = gap - idle;
    const std::uint64_t before = rest > t ? rest - t : 0;
    window_.alone[index(lost_cause::turnaround)] += before;
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
  to_bus_ += close_window(window_, lost_);
  for (std::size_t i = 0; i < lost_accounts; ++i) alone_[i] += window_.alone[i];
  window_ = {};
}

/// Ticks of the data buses that activations and bursts would lose if their buses were the only limit.
std::uint64_t lost_time::bus_floor(std::uint64_t activates, std::uint64_t columns) const {
  // Row commands go over one bus for all pseudo-channels, activations from a rising edge.
  const dram_tick per_activate = p_.rising_from(1 + p_.activate_bus + 1) - 1;
  const std::uint64_t bus = activates * per_activate * p_.pseudo_channels;
  const std::uint64_t data = columns * p_.burst;
  return bus > data ? bus - data : 0;
}

/// Moves ticks that the row-command bus would need in any case, up to `floor`, from another limit to the bus.
/// Returns how many.
std::uint64_t lost_time::move_to_bus(std::uint64_t floor, std::uint64_t& from, bill& lost) {
  std::uint64_t& bus = lost[index(lost_cause::row_bus)];
  const std::uint64_t moved = std::min(from, floor > bus ? floor - bus : 0);
  from -= moved;
  bus += moved;
  return moved;
}

/// Adds a window to `into`. Time that two limits delayed together goes to the one that alone delays more: the
/// other is charged what it adds. Returns the part of tFAW and tRRD that is charged to the row bus.
std::uint64_t lost_time::close_window(const window& w, bill& into) const {
  bill lost = w.alone;
  for (std::size_t a = 0; a < lost_accounts; ++a) {
    for (std::size_t b = 0; b < lost_accounts; ++b) {
      const bool first = alone_[a] + w.alone[a] >= alone_[b] + w.alone[b];
      lost[first ? a : b] += w.joint[a][b];
    }
  }
  const std::uint64_t floor = bus_floor(w.activates, w.columns);
  const std::uint64_t moved = move_to_bus(floor, lost[index(lost_cause::activate_window)], lost);
  for (std::size_t i = 0; i < lost_accounts; ++i) into[i] += lost[i];
  return moved;
}

/// Ticks of pseudo-channels without requests, while another had some, are divided as that one's: what held it
/// up, or that it moved data and no request waited. `to_bus`: what the row bus took of tFAW and tRRD.
void lost_time::divide_elsewhere(std::uint64_t ticks, std::uint64_t to_bus, bill& lost) const {
  std::uint64_t& faw = lost[index(lost_cause::activate_window)];
  bill known = lost;
  known[index(lost_cause::activate_window)] += to_bus;
  known[index(lost_cause::row_bus)] -= to_bus;
  known[index(lost_cause::initiator)] = columns_ * p_.burst;
  const std::uint64_t sum = std::accumulate(known.begin(), known.end(), std::uint64_t{});
  std::uint64_t nobody = ticks;
  for (std::size_t i = 0; i < lost_accounts && sum != 0; ++i) {
    if (i == index(lost_cause::initiator)) continue;
    const double part = static_cast<double>(ticks) * static_cast<double>(known[i]) / static_cast<double>(sum);
    const std::uint64_t whole = std::min(nobody, static_cast<std::uint64_t>(part));
    lost[i] += whole;
    nobody -= whole;
  }
  // The row bus may use time without requests; it then takes so much less of tFAW and tRRD.
  const std::uint64_t met = std::min(nobody, to_bus);
  nobody -= met;
  faw += met;
  const std::uint64_t floor = bus_floor(activates_, columns_);
  move_to_bus(floor, nobody, lost);
  move_to_bus(floor, lost[index(lost_cause::bank_conflict)], lost);
  lost[index(lost_cause::initiator)] += nobody;
}

lost_time_report lost_time::report(dram_tick now) const {
  bill lost = lost_;
  dram_tick end = now;
  for (const pc_account& c : pcs_) end = std::max(end, c.data_end);
  const std::uint64_t to_bus = to_bus_ + close_window(window_, lost);
  std::uint64_t others = std::exchange(lost[elsewhere], 0);
  for (const pc_account& c : pcs_) {
    const std::uint64_t tail = end - c.data_end;
    const std::uint64_t idle = std::min(tail, empty_until(end) - c.empty);
    lost[index(lost_cause::initiator)] += idle;
    others += tail - idle;
  }
  divide_elsewhere(others, to_bus, lost);
  lost_time_report r;
  std::copy_n(lost.begin(), lost_causes, r.lost.begin());
  r.busy = columns_ * p_.burst;
  r.total = end * p_.pseudo_channels;
  return r;
}

void without_refresh(config::hbm_block& h) { h.refresh = config::hbm_refresh::none; }

void without_activate_window(config::hbm_block& h) { h.tfaw_ns = h.trrd_s_ns = h.trrd_l_ns = 0; }

void without_turnaround(config::hbm_block& h) {
  h.twr_ns += h.cwl_ns;
  h.trtw_ns = h.twtr_s_ns = h.twtr_l_ns = h.cwl_ns = h.tccd_r_ns = 0;
  h.cl_ns = 0.01;  // data with its command is refused
}

void without_bank_times(config::hbm_block& h) {
  h.trp_ns = h.trcd_rd_ns = h.trcd_wr_ns = h.tras_ns = h.trc_ns = h.trtp_ns = h.twr_ns = 0;
  h.tccd_l_ns = h.burst_ns;
}

}  // namespace diecast::timing
