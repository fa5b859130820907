// SPDX-License-Identifier: Apache-2.0
#include "models/timing/dram.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <fmt/format.h>

#include "models/types/error.hpp"

namespace diecast::timing {
namespace {

/// More than one machine word of banks would cost the scheduler its bit masks.
constexpr std::uint64_t max_banks = 64;

class checks {
 public:
  void power_of_two(const char* key, std::uint64_t value) {
    if (!std::has_single_bit(value))
      add(key, "is not a power of two", fmt::format("{}", value), "1, 2, 4, ...");
  }
  void positive(const char* key, double value) {
    if (!(value > 0) || !std::isfinite(value))
      add(key, "is not positive", fmt::format("{}", value), "> 0 ns");
  }
  void not_negative(const char* key, double value) {
    if (!(value >= 0) || !std::isfinite(value)) add(key, "is negative", fmt::format("{}", value), ">= 0 ns");
  }
  void add(const char* key, const char* what, std::string value, std::string expected) {
    problems_.push_back({fmt::format("hbm.{}", key), what, std::move(value), std::move(expected)});
  }
  void finish() const {
    if (!problems_.empty()) throw user_error(problems_);
  }
  [[nodiscard]] bool clean() const { return problems_.empty(); }

 private:
  std::vector<problem> problems_;
};

unsigned bits_of(std::uint64_t power_of_two) { return static_cast<unsigned>(std::countr_zero(power_of_two)); }

}  // namespace

dram_clock command_clocks(double ns, sim_time tck) {
  constexpr double printed_rounding = 0.1;
  const double clocks = ns / tck.ns();
  return static_cast<dram_clock>(std::ceil(std::max(0.0, clocks - printed_rounding)));
}

dram_parameters make_dram_parameters(const config::hbm_block& hbm) {
  checks check;
  check.positive("burst_ns", hbm.burst_ns);
  check.positive("trcd_ns", hbm.trcd_ns);
  check.positive("trp_ns", hbm.trp_ns);
  check.positive("tras_ns", hbm.tras_ns);
  check.positive("cl_ns", hbm.cl_ns);
  check.positive("cwl_ns", hbm.cwl_ns);
  check.positive("tccd_l_ns", hbm.tccd_l_ns);
  check.positive("twr_ns", hbm.twr_ns);
  check.not_negative("controller_ns", hbm.controller_ns);
  check.power_of_two("bank_groups", hbm.bank_groups);
  check.power_of_two("banks_per_group", hbm.banks_per_group);
  if (hbm.queue == 0) check.add("queue", "holds no transaction", "0", "1 or more");
  if (hbm.bank_groups > max_banks || hbm.banks_per_group > max_banks ||
      hbm.bank_groups * hbm.banks_per_group > max_banks) {
    check.add("bank_groups", "x hbm.banks_per_group gives too many banks",
              fmt::format("{} x {}", hbm.bank_groups, hbm.banks_per_group),
              fmt::format("at most {}", max_banks));
  }
  check.finish();

  dram_parameters p;
  p.burst = 2;
  p.tck = {nanoseconds(hbm.burst_ns).fs / p.burst};
  p.bank_groups = static_cast<std::uint32_t>(hbm.bank_groups);
  p.banks_per_group = static_cast<std::uint32_t>(hbm.banks_per_group);
  p.trcd = command_clocks(hbm.trcd_ns, p.tck);
  p.trp = command_clocks(hbm.trp_ns, p.tck);
  p.tras = command_clocks(hbm.tras_ns, p.tck);
  p.cl = command_clocks(hbm.cl_ns, p.tck);
  p.cwl = command_clocks(hbm.cwl_ns, p.tck);
  p.tccd_l = std::max(command_clocks(hbm.tccd_l_ns, p.tck), p.burst);
  p.twr = command_clocks(hbm.twr_ns, p.tck);
  return p;
}

dram_address_map::dram_address_map(const config::hbm_block& hbm) {
  checks check;
  check.power_of_two("pseudo_channels", hbm.pseudo_channels);
  check.power_of_two("bank_groups", hbm.bank_groups);
  check.power_of_two("banks_per_group", hbm.banks_per_group);
  check.power_of_two("page_bytes", hbm.page_bytes);
  check.power_of_two("burst_bytes", hbm.burst_bytes);
  check.power_of_two("port_mib", hbm.port_mib);
  if (check.clean() && hbm.page_bytes < hbm.burst_bytes) {
    check.add("page_bytes", "is below hbm.burst_bytes", fmt::format("{}", hbm.page_bytes),
              fmt::format("at least {}", hbm.burst_bytes));
  }
  check.finish();

  unsigned next = bits_of(hbm.burst_bytes);
  const auto take = [&next](std::uint64_t count) {
    const field f{next, bits_of(count)};
    next += f.bits;
    return f;
  };
  pseudo_channel_ = take(hbm.pseudo_channels);
  bank_group_ = take(hbm.bank_groups);
  column_ = take(hbm.page_bytes / hbm.burst_bytes);
  bank_ = take(hbm.banks_per_group);
  const unsigned port_bits = bits_of(hbm.port_mib) + 20;
  if (port_bits < next || port_bits - next > 31) {
    check.add("port_mib", "does not give between 1 and 2^31 rows", fmt::format("{}", hbm.port_mib),
              fmt::format("2^{} to 2^{} bytes with these banks and pages", next, next + 31));
    check.finish();
  }
  row_ = {next, port_bits - next};
  rows_ = 1U << row_.bits;
}

dram_location dram_address_map::decode(std::uint64_t offset) const {
  return {pseudo_channel_.of(offset), bank_group_.of(offset), bank_.of(offset), row_.of(offset),
          column_.of(offset)};
}

std::uint64_t dram_address_map::encode(const dram_location& l) const {
  return std::uint64_t{l.pseudo_channel} << pseudo_channel_.shift |
         std::uint64_t{l.bank_group} << bank_group_.shift | std::uint64_t{l.column} << column_.shift |
         std::uint64_t{l.bank} << bank_.shift | std::uint64_t{l.row} << row_.shift;
}

dram_banks::dram_banks(const dram_parameters& p)
    : p_(p), banks_(p.banks()), group_column_from_(p.bank_groups) {}

dram_clock dram_banks::earliest_column(std::uint32_t bank, bool write) const {
  const dram_clock latency = write ? p_.cwl : p_.cl;
  const dram_clock bus = data_free_ > latency ? data_free_ - latency : 0;
  return std::max(
      {banks_[bank].column_from, group_column_from_[bank / p_.banks_per_group], column_from_, bus});
}

void dram_banks::activate(std::uint32_t bank, std::uint32_t row, dram_clock at) {
  bank_state& b = banks_[bank];
  b.row = row;
  b.column_from = at + p_.trcd;
  b.precharge_from = at + p_.tras;
}

void dram_banks::precharge(std::uint32_t bank, dram_clock at) {
  banks_[bank].row = no_row;
  banks_[bank].activate_from = at + p_.trp;
}

dram_clock dram_banks::column(std::uint32_t bank, bool write, dram_clock at) {
  const dram_clock end = at + (write ? p_.cwl : p_.cl) + p_.burst;
  column_from_ = at + p_.burst;
  group_column_from_[bank / p_.banks_per_group] = at + p_.tccd_l;
  data_free_ = end;
  bank_state& b = banks_[bank];
  // A read holds its row while the burst leaves the array, a write until its data is restored.
  b.precharge_from = std::max(b.precharge_from, write ? end + p_.twr : at + p_.burst);
  return end;
}

}  // namespace diecast::timing
