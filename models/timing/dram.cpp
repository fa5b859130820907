// SPDX-License-Identifier: Apache-2.0
#include "models/timing/dram.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <string_view>

#include "models/config/check.hpp"

namespace diecast::timing {
namespace {

constexpr std::array<std::string_view, 6> field_names{"pc", "sid", "bank_group", "bank", "row", "column"};
constexpr std::size_t row_field = 4;

unsigned bits_of(std::uint64_t power_of_two) { return static_cast<unsigned>(std::countr_zero(power_of_two)); }

/// Indices into field_names, from the burst upwards.
std::vector<std::size_t> order_of(const std::string& text) {
  std::vector<std::size_t> order;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view name = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
    order.push_back(static_cast<std::size_t>(std::ranges::find(field_names, name) - field_names.begin()));
  }
  return order;
}

}  // namespace

dram_address_map::dram_address_map(const config::hbm_block& hbm)
    : row_xor_(hbm.bank_hash == config::hbm_bank_hash::row_xor) {
  config::need_sound(hbm);
  burst_bits_ = bits_of(hbm.burst_bytes);
  const std::array<unsigned, 6> bits{bits_of(hbm.pseudo_channels),
                                     bits_of(hbm.sids),
                                     bits_of(hbm.bank_groups),
                                     bits_of(hbm.banks_per_group),
                                     0,
                                     bits_of(hbm.page_bytes / hbm.burst_bytes)};
  unsigned below_rows = burst_bits_;
  for (const unsigned b : bits) below_rows += b;
  const unsigned port_bits = bits_of(hbm.port_mib) + 20;
  capacity_ = hbm.port_mib << 20;
  unsigned next = burst_bits_;
  for (const std::size_t f : order_of(hbm.address_map)) {
    fields_[f] = {next, f == row_field ? port_bits - below_rows : bits[f]};
    next += fields_[f].bits;
  }
}

void dram_address_map::hash(dram_location& l) const {
  const unsigned bank_bits = at(field_id::bank).bits;
  l.bank ^= l.row & ((1U << bank_bits) - 1);
  l.bank_group ^= l.row >> bank_bits & ((1U << at(field_id::bank_group).bits) - 1);
}

dram_location dram_address_map::decode(std::uint64_t offset) const {
  dram_location l{at(field_id::pseudo_channel).of(offset),
                  at(field_id::sid).of(offset),
                  at(field_id::bank_group).of(offset),
                  at(field_id::bank).of(offset),
                  at(field_id::row).of(offset),
                  at(field_id::column).of(offset)};
  if (row_xor_) hash(l);
  return l;
}

std::uint64_t dram_address_map::encode(const dram_location& location) const {
  dram_location l = location;
  if (row_xor_) hash(l);  // an XOR undoes itself
  return at(field_id::pseudo_channel).place(l.pseudo_channel) | at(field_id::sid).place(l.sid) |
         at(field_id::bank_group).place(l.bank_group) | at(field_id::bank).place(l.bank) |
         at(field_id::row).place(l.row) | at(field_id::column).place(l.column);
}

namespace {

constexpr std::uint64_t clocks_per_burst = 2;

/// Turns times into ticks, and shifts them by the lengths of commands: a time of the standard runs
/// from the last tick of one command to the last tick of the next.
class converter {
 public:
  converter(sim_time tck, bool half_clock) : tck_(tck), clock_(half_clock ? 2 : 1) {}

  [[nodiscard]] dram_tick ticks(double ns) const { return command_clocks(ns, tck_) * clock_; }
  [[nodiscard]] dram_tick activate_length() const { return clock_ == 2 ? 3 : 2; }
  [[nodiscard]] dram_tick column_length() const { return clock_; }
  static dram_tick from(dram_tick nominal, dram_tick first_length, dram_tick next_length) {
    const dram_tick late = nominal + first_length;
    return late > next_length ? late - next_length : 0;
  }

 private:
  sim_time tck_;
  dram_tick clock_;
};

void set_shape(dram_parameters& p, const config::hbm_block& hbm) {
  const bool half = hbm.row_bus == config::hbm_row_bus::half_clock;
  p.clock = half ? 2 : 1;
  p.tick = {nanoseconds(hbm.burst_ns).fs / (clocks_per_burst * p.clock)};
  p.pseudo_channels = static_cast<std::uint32_t>(hbm.pseudo_channels);
  p.sids = static_cast<std::uint32_t>(hbm.sids);
  p.bank_groups = static_cast<std::uint32_t>(hbm.bank_groups);
  p.banks_per_group = static_cast<std::uint32_t>(hbm.banks_per_group);
  p.refresh = hbm.refresh;
  p.scheduler = hbm.scheduler;
  p.page_policy = hbm.page_policy;
  p.read_queue = static_cast<std::uint32_t>(hbm.read_queue);
  p.write_queue = static_cast<std::uint32_t>(hbm.write_queue);
  p.drain_high = hbm.drain_high * static_cast<double>(hbm.write_queue);
  p.drain_low = hbm.drain_low * static_cast<double>(hbm.write_queue);
}

void set_row_times(dram_parameters& p, const config::hbm_block& hbm, const converter& c) {
  const dram_tick act = c.activate_length();
  const dram_tick col = c.column_length();
  constexpr dram_tick row = 1;  // command cycles of a precharge or refresh
  p.activate_bus = act;
  p.act_to_read = converter::from(c.ticks(hbm.trcd_rd_ns), act, col);
  p.act_to_write = converter::from(c.ticks(hbm.trcd_wr_ns), act, col);
  p.act_to_pre = converter::from(c.ticks(hbm.tras_ns), act, row);
  p.act_to_act = c.ticks(hbm.trc_ns);
  p.act_to_act_s = c.ticks(hbm.trrd_s_ns);
  p.act_to_act_l = c.ticks(hbm.trrd_l_ns);
  p.faw = c.ticks(hbm.tfaw_ns);
  p.act_to_ref = converter::from(c.ticks(hbm.trc_ns), act, row);
  p.act_to_refpb = converter::from(c.ticks(hbm.trrd_s_ns), act, row);
  p.pre_to_act = converter::from(c.ticks(hbm.trp_ns), row, act);
  p.pre_to_pre = c.ticks(hbm.tppd_ns);
  p.pre_to_ref = c.ticks(hbm.trp_ns);
  const dram_tick written = p.write_end + c.ticks(hbm.twr_ns);
  p.read_to_pre = converter::from(c.ticks(hbm.trtp_ns), col, row);
  p.write_to_pre = converter::from(written, col, row);
  p.readp_to_act = converter::from(c.ticks(hbm.trtp_ns) + c.ticks(hbm.trp_ns), col, act);
  p.writep_to_act = converter::from(written + c.ticks(hbm.trp_ns), col, act);
  p.readp_to_ref = converter::from(c.ticks(hbm.trtp_ns) + c.ticks(hbm.trp_ns), col, row);
  p.writep_to_ref = converter::from(written + c.ticks(hbm.trp_ns), col, row);
}

/// Whole clocks within a time.
std::uint64_t interval_clocks(double ns, sim_time tck) {
  constexpr double arithmetic = 1e-6;  // a quotient of doubles may fall short of the whole number it is
  return static_cast<std::uint64_t>(std::max(0.0, ns / tck.ns() + arithmetic));
}

void set_refresh_times(dram_parameters& p, const config::hbm_block& hbm, const converter& c, sim_time tck) {
  const dram_tick act = c.activate_length();
  constexpr dram_tick row = 1;
  // Refreshes may come early, on average never late: their intervals are rounded down.
  p.refi = std::max<dram_tick>(1, interval_clocks(hbm.trefi_ns, tck)) * p.clock;
  const double share_ns = hbm.trefi_ns / static_cast<double>(p.banks_per_pc());
  p.refi_bank = std::max<dram_tick>(1, interval_clocks(share_ns, tck)) * p.clock;
  p.refresh_set = c.ticks(hbm.trfcpb_ns);
  p.ref_to_act = converter::from(c.ticks(hbm.trfc_ns), row, act);
  p.ref_to_pre = c.ticks(hbm.trfc_ns);
  p.refpb_to_act = converter::from(c.ticks(hbm.trfcpb_ns), row, act);
  p.refpb_to_act_d = converter::from(c.ticks(hbm.trrefd_ns), row, act);
  p.refpb_to_refpb = c.ticks(hbm.trrefd_ns);
}

}  // namespace

std::uint64_t command_clocks(double ns, sim_time tck) {
  constexpr double printed_rounding = 0.1;
  const double clocks = ns / tck.ns();
  return static_cast<std::uint64_t>(std::ceil(std::max(0.0, clocks - printed_rounding)));
}

dram_parameters make_dram_parameters(const config::hbm_block& hbm) {
  config::need_sound(hbm);
  dram_parameters p;
  set_shape(p, hbm);
  const sim_time tck = p.tick * p.clock;
  const converter c(tck, p.clock == 2);
  p.burst = clocks_per_burst * p.clock;
  p.read_end = c.ticks(hbm.cl_ns) + p.burst;
  const dram_tick cwl = c.ticks(hbm.cwl_ns);
  p.write_end = cwl + p.burst;
  set_row_times(p, hbm, c);
  p.col_to_col_s = p.burst;
  p.col_to_col_l = std::max(c.ticks(hbm.tccd_l_ns), p.burst);
  p.col_to_col_r = std::max(c.ticks(hbm.tccd_r_ns), p.burst);
  // Whatever tRTW is, a write's data may not start before the read's data has ended.
  p.read_to_write = std::max({c.ticks(hbm.trtw_ns), p.burst, p.read_end - std::min(p.read_end, cwl)});
  p.write_to_read_s = p.write_end + c.ticks(hbm.twtr_s_ns);
  p.write_to_read_l = p.write_end + c.ticks(hbm.twtr_l_ns);
  set_refresh_times(p, hbm, c, tck);
  return p;
}

namespace {

/// Rate of `pseudo_channels` that each give a burst every `ticks`.
double rate(const config::hbm_block& hbm, const dram_parameters& p, std::uint64_t pseudo_channels,
            double ticks) {
  return static_cast<double>(pseudo_channels * hbm.burst_bytes) / (ticks * p.tick.ns());
}

double real(dram_tick t) { return static_cast<double>(t); }

}  // namespace

double port_gbytes_s(const config::hbm_block& hbm) {
  const double pseudo_channel = hbm.model == config::hbm_model::simple
                                    ? hbm.simple_gbytes_s
                                    : static_cast<double>(hbm.burst_bytes) / hbm.burst_ns;
  return static_cast<double>(hbm.pseudo_channels) * pseudo_channel;
}

dram_bound bus_bound(const config::hbm_block& hbm) {
  const auto p = make_dram_parameters(hbm);
  return {rate(hbm, p, hbm.pseudo_channels, real(p.burst)), "data bus"};
}

dram_bound activation_bound(const config::hbm_block& hbm) {
  const auto p = make_dram_parameters(hbm);
  constexpr double activations_in_faw = 4;
  constexpr dram_tick precharge_bus = 1;
  const dram_tick pair = p.rising_from(p.rising_from(0) + p.activate_bus + precharge_bus) - p.rising_from(0);
  const std::array bounds{
      bus_bound(hbm),
      dram_bound{rate(hbm, p, hbm.pseudo_channels, real(p.faw) / activations_in_faw), "tFAW"},
      dram_bound{rate(hbm, p, hbm.pseudo_channels, real(p.act_to_act_s)), "tRRD_S"},
      dram_bound{rate(hbm, p, 1, real(pair)), "row-command bus"},
  };
  return *std::ranges::min_element(bounds, {}, &dram_bound::gbytes_s);
}

dram_bound row_cycle_bound(const config::hbm_block& hbm) {
  const auto p = make_dram_parameters(hbm);
  return {rate(hbm, p, 1, real(p.act_to_act)), "tRC"};
}

dram_bound bank_group_bound(const config::hbm_block& hbm) {
  const auto p = make_dram_parameters(hbm);
  return {rate(hbm, p, hbm.pseudo_channels, real(p.col_to_col_l)), "tCCD_L"};
}

double refresh_share(const config::hbm_block& hbm) {
  if (hbm.refresh != config::hbm_refresh::all_bank) return 1;
  const auto p = make_dram_parameters(hbm);
  return 1 - real(p.ref_to_pre) / real(p.refi);
}

}  // namespace diecast::timing
