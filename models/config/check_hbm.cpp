// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <utility>
#include <vector>

#include "models/config/check.hpp"
#include "models/config/field.hpp"
#include "models/types/error.hpp"

namespace diecast::config {
namespace {

/// The banks of a pseudo-channel are the bits of one machine word in the scheduler.
constexpr std::uint64_t max_banks = 64;
/// Rows of a bank are counted in 32 bits.
constexpr std::uint64_t max_rows = std::uint64_t{1} << 31;

/// Fields of an address are whole bits.
template <std::uint64_t hbm_block::*Count>
verdict power_of_two(const machine_config& c) {
  const std::uint64_t count = c.hbm.*Count;
  if (std::has_single_bit(count)) return {};
  return broken_rule{"is not a power of two", std::to_string(count), "1, 2, 4, ..."};
}

/// Checks a count that only the bank model has.
template <std::uint64_t hbm_block::*Count>
verdict bank_power_of_two(const machine_config& c) {
  return c.hbm.model == hbm_model::bank ? power_of_two<Count>(c) : verdict{};
}

/// Banks of a pseudo-channel.
std::uint64_t banks_of(const hbm_block& h) { return h.sids * h.bank_groups * h.banks_per_group; }

verdict banks_fit_a_word(const machine_config& c) {
  const hbm_block& h = c.hbm;
  if (h.model != hbm_model::bank || banks_of(h) <= max_banks) return {};
  return broken_rule{"x hbm.banks_per_group x hbm.sids is not a possible number of banks",
                     fmt::format("{} x {} x {}", h.bank_groups, h.banks_per_group, h.sids),
                     fmt::format("1 to {}", max_banks)};
}

verdict pages_hold_a_burst(const machine_config& c) {
  if (c.hbm.model != hbm_model::bank || c.hbm.page_bytes >= c.hbm.burst_bytes) return {};
  return broken_rule{"is below hbm.burst_bytes", std::to_string(c.hbm.page_bytes),
                     fmt::format("at least {}", c.hbm.burst_bytes)};
}

verdict simple_ports_are_full_rows(const machine_config& c) {
  const std::uint64_t row = c.hbm.pseudo_channels * c.hbm.burst_bytes;
  if (c.hbm.model != hbm_model::simple || row == 0 || (c.hbm.port_mib << 20) % row == 0) return {};
  return broken_rule{"a channel is not a whole number of bursts of all its pseudo-channels",
                     fmt::format("{} MiB", c.hbm.port_mib), fmt::format("a multiple of {} B", row)};
}

verdict banks_have_rows(const machine_config& c) {
  const hbm_block& h = c.hbm;
  if (h.model != hbm_model::bank) return {};
  const std::uint64_t one_row_each = h.pseudo_channels * banks_of(h) * h.page_bytes;
  if (one_row_each == 0) return {};  // reported for the count that is 0
  const std::uint64_t rows = (h.port_mib << 20) / one_row_each;
  if (rows >= 1 && rows <= max_rows) return {};
  return broken_rule{"does not give between 1 and 2^31 rows", fmt::format("{} MiB", h.port_mib),
                     fmt::format("{} to 2^31 x {} B with these banks and pages", one_row_each, one_row_each)};
}

verdict data_follow_the_command(const machine_config& c) {
  if (c.hbm.model != hbm_model::bank || c.hbm.cl_ns > 0) return {};
  return broken_rule{"leaves no time between a read command and its data", fmt::format("{} ns", c.hbm.cl_ns),
                     "> 0 ns"};
}

verdict columns_outlast_bursts(const machine_config& c) {
  if (c.hbm.model != hbm_model::bank || c.hbm.tccd_l_ns >= c.hbm.burst_ns) return {};
  return broken_rule{"is shorter than the burst it follows", fmt::format("{} ns", c.hbm.tccd_l_ns),
                     fmt::format("at least hbm.burst_ns = {}", c.hbm.burst_ns)};
}

verdict rows_stay_open(const machine_config& c) {
  if (c.hbm.model != hbm_model::bank || c.hbm.tras_ns >= c.hbm.trcd_rd_ns) return {};
  return broken_rule{"a row would close before its first column command", fmt::format("{} ns", c.hbm.tras_ns),
                     fmt::format("at least hbm.trcd_rd_ns = {}", c.hbm.trcd_rd_ns)};
}

verdict rows_close_before_they_open_again(const machine_config& c) {
  if (c.hbm.model != hbm_model::bank || c.hbm.trc_ns >= c.hbm.tras_ns) return {};
  return broken_rule{"a row would be opened again before it may be closed",
                     fmt::format("{} ns", c.hbm.trc_ns),
                     fmt::format("at least hbm.tras_ns = {}", c.hbm.tras_ns)};
}

constexpr const char* fields_expected = "pc, sid, bank_group, bank, row and column, each once, in any order";

verdict address_map_names_fields(const machine_config& c) {
  const std::string text = "," + c.hbm.address_map + ",";
  for (const char* field : {"pc", "sid", "bank_group", "bank", "row", "column"}) {
    if (text.find("," + std::string(field) + ",") != std::string::npos) continue;
    return broken_rule{fmt::format("lacks the field {}", field), c.hbm.address_map, fields_expected};
  }
  if (std::ranges::count(text, ',') == 7) return {};  // eight bits: six fields
  return broken_rule{"has more than its six fields", c.hbm.address_map, fields_expected};
}

verdict drain_marks_ordered(const machine_config& c) {
  if (c.hbm.drain_low <= c.hbm.drain_high) return {};
  return broken_rule{"is above the level at which draining starts", fmt::format("{}", c.hbm.drain_low),
                     fmt::format("at most hbm.drain_high = {}", c.hbm.drain_high)};
}

verdict refresh_fits(const machine_config& c) {
  const hbm_block& h = c.hbm;
  if (h.model != hbm_model::bank || h.refresh != hbm_refresh::all_bank) return {};
  if (h.trfc_ns + h.trc_ns < h.trefi_ns) return {};
  return broken_rule{"leaves no time for a row between refreshes", fmt::format("{} ns", h.trfc_ns),
                     fmt::format("less than hbm.trefi_ns - hbm.trc_ns = {}", h.trefi_ns - h.trc_ns)};
}

verdict bank_refresh_fits(const machine_config& c) {
  const hbm_block& h = c.hbm;
  if (h.model != hbm_model::bank || h.refresh != hbm_refresh::per_bank) return {};
  if (h.trfcpb_ns + h.trc_ns < h.trefi_ns) return {};
  return broken_rule{"leaves a bank no time for a row between its refreshes",
                     fmt::format("{} ns", h.trfcpb_ns),
                     fmt::format("less than hbm.trefi_ns - hbm.trc_ns = {}", h.trefi_ns - h.trc_ns)};
}

/// A refresh is served before all requests: if the next refresh is due too early, no row is opened between
/// the two and no request is ever served. tRREFD is the least time from a refresh to an activation; twice
/// that leaves a margin.
verdict bank_refreshes_leave_time(const machine_config& c) {
  const hbm_block& h = c.hbm;
  if (h.model != hbm_model::bank || h.refresh != hbm_refresh::per_bank) return {};
  const auto banks = static_cast<double>(banks_of(h));
  const double least = banks * (2 * h.trrefd_ns + static_cast<double>(h.pseudo_channels) * h.burst_ns);
  if (h.trefi_ns > least) return {};
  return broken_rule{
      "leaves no time for a row between the refreshes of two banks", fmt::format("{} ns", h.trefi_ns),
      fmt::format("more than {} banks x (2 hbm.trrefd_ns + hbm.pseudo_channels x hbm.burst_ns) = {} ns",
                  banks, least)};
}

const rule rules[]{
    {{"hbm.pseudo_channels"}, power_of_two<&hbm_block::pseudo_channels>},
    {{"hbm.burst_bytes"}, power_of_two<&hbm_block::burst_bytes>},
    {{"hbm.sids", "hbm.model"}, bank_power_of_two<&hbm_block::sids>},
    {{"hbm.bank_groups", "hbm.model"}, bank_power_of_two<&hbm_block::bank_groups>},
    {{"hbm.banks_per_group", "hbm.model"}, bank_power_of_two<&hbm_block::banks_per_group>},
    {{"hbm.page_bytes", "hbm.model"}, bank_power_of_two<&hbm_block::page_bytes>},
    {{"hbm.port_mib", "hbm.model"}, bank_power_of_two<&hbm_block::port_mib>},
    {{"hbm.bank_groups", "hbm.banks_per_group", "hbm.sids", "hbm.model"}, banks_fit_a_word},
    {{"hbm.page_bytes", "hbm.burst_bytes", "hbm.model"}, pages_hold_a_burst},
    {{"hbm.port_mib", "hbm.pseudo_channels", "hbm.burst_bytes", "hbm.model"}, simple_ports_are_full_rows},
    {{"hbm.port_mib", "hbm.pseudo_channels", "hbm.sids", "hbm.bank_groups", "hbm.banks_per_group",
      "hbm.page_bytes", "hbm.model"},
     banks_have_rows},
    {{"hbm.cl_ns", "hbm.model"}, data_follow_the_command},
    {{"hbm.tccd_l_ns", "hbm.burst_ns", "hbm.model"}, columns_outlast_bursts},
    {{"hbm.tras_ns", "hbm.trcd_rd_ns", "hbm.model"}, rows_stay_open},
    {{"hbm.trc_ns", "hbm.tras_ns", "hbm.model"}, rows_close_before_they_open_again},
    {{"hbm.address_map"}, address_map_names_fields},
    {{"hbm.drain_low", "hbm.drain_high"}, drain_marks_ordered},
    {{"hbm.trfc_ns", "hbm.trc_ns", "hbm.trefi_ns", "hbm.refresh", "hbm.model"}, refresh_fits},
    {{"hbm.trfcpb_ns", "hbm.trc_ns", "hbm.trefi_ns", "hbm.refresh", "hbm.model"}, bank_refresh_fits},
    {{"hbm.trefi_ns", "hbm.sids", "hbm.bank_groups", "hbm.banks_per_group", "hbm.trrefd_ns",
      "hbm.pseudo_channels", "hbm.burst_ns", "hbm.refresh", "hbm.model"},
     bank_refreshes_leave_time},
};

/// Checks ranges of numbers that come from no file. Texts are checked by rules: a pattern would be compiled
/// for each memory of a machine.
std::vector<problem> out_of_range(const machine_config& c) {
  std::vector<problem> problems;
  for (const field& f : find_block("hbm")->fields) {
    if (f.type == field_type::text) continue;
    const field_value value = f.get(c);
    if (!accepts(f, value)) problems.push_back({f.path(), "is out of range", to_text(value), expectation(f)});
  }
  return problems;
}

/// Checks the rules, which assume values within their ranges.
void add_broken(const machine_config& c, std::vector<problem>& problems) {
  const std::vector<problem> out = problems;
  const auto is_out = [&](const std::string& key) {
    return std::ranges::any_of(out, [&](const problem& p) { return p.where == key; });
  };
  for (const rule& r : rules) {
    if (std::ranges::any_of(r.keys, is_out)) continue;
    if (verdict v = r.test(c))
      problems.push_back({r.keys.front(), std::move(v->what), std::move(v->value), std::move(v->expected)});
  }
}

}  // namespace

std::span<const rule> hbm_rules() { return rules; }

void need_sound(const hbm_block& hbm) {
  thread_local std::optional<hbm_block> sound;  // the last one: the memories of a machine have equal blocks
  if (sound == hbm) return;
  machine_config c;
  c.hbm = hbm;
  std::vector<problem> problems = out_of_range(c);
  add_broken(c, problems);
  if (!problems.empty()) throw user_error(std::move(problems));
  sound = hbm;
}

}  // namespace diecast::config
