// SPDX-License-Identifier: Apache-2.0
#include "models/timing/address_map.hpp"

#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <string_view>

#include "models/types/error.hpp"

namespace diecast::timing {
namespace {

constexpr std::array<std::string_view, 6> field_names{"pc", "sid", "bank_group", "bank", "row", "column"};
constexpr std::size_t row_field = 4;
constexpr unsigned most_row_bits = 31;

unsigned bits_of(std::uint64_t power_of_two) { return static_cast<unsigned>(std::countr_zero(power_of_two)); }

void need_power_of_two(const char* key, std::uint64_t value, std::vector<problem>& problems) {
  if (std::has_single_bit(value)) return;
  problems.push_back(
      {fmt::format("hbm.{}", key), "is not a power of two", fmt::format("{}", value), "1, 2, 4, ..."});
}

/// Indices into field_names, from the burst upwards.
std::vector<std::size_t> order_of(const std::string& text, std::vector<problem>& problems) {
  std::vector<std::size_t> order;
  std::string_view rest = text;
  bool known = true;
  while (!rest.empty()) {
    const std::string_view name = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
    const auto it = std::ranges::find(field_names, name);
    known = known && it != field_names.end();
    if (it != field_names.end()) order.push_back(static_cast<std::size_t>(it - field_names.begin()));
  }
  std::vector<std::size_t> sorted = order;
  std::ranges::sort(sorted);
  if (!known || order.size() != field_names.size() || std::ranges::adjacent_find(sorted) != sorted.end()) {
    problems.push_back({"hbm.address_map", "does not name every field once", text,
                        "pc, sid, bank_group, bank, row and column in any order"});
  }
  return order;
}

}  // namespace

dram_address_map::dram_address_map(const config::hbm_block& hbm)
    : row_xor_(hbm.bank_hash == config::hbm_bank_hash::row_xor) {
  std::vector<problem> problems;
  need_power_of_two("pseudo_channels", hbm.pseudo_channels, problems);
  need_power_of_two("sids", hbm.sids, problems);
  need_power_of_two("bank_groups", hbm.bank_groups, problems);
  need_power_of_two("banks_per_group", hbm.banks_per_group, problems);
  need_power_of_two("page_bytes", hbm.page_bytes, problems);
  need_power_of_two("burst_bytes", hbm.burst_bytes, problems);
  need_power_of_two("port_mib", hbm.port_mib, problems);
  if (problems.empty() && hbm.page_bytes < hbm.burst_bytes) {
    problems.push_back({"hbm.page_bytes", "is below hbm.burst_bytes", fmt::format("{}", hbm.page_bytes),
                        fmt::format("at least {}", hbm.burst_bytes)});
  }
  const std::vector<std::size_t> order = order_of(hbm.address_map, problems);
  if (!problems.empty()) throw user_error(problems);

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
  if (port_bits < below_rows || port_bits - below_rows > most_row_bits) {
    problems.push_back({"hbm.port_mib", "does not give between 1 and 2^31 rows",
                        fmt::format("{}", hbm.port_mib),
                        fmt::format("2^{} to 2^{} bytes with these banks and pages", below_rows,
                                    below_rows + most_row_bits)});
    throw user_error(problems);
  }
  capacity_ = hbm.port_mib << 20;
  unsigned next = burst_bits_;
  for (const std::size_t f : order) {
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

}  // namespace diecast::timing
