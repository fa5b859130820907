// SPDX-License-Identifier: Apache-2.0
#include "models/timing/address_map.hpp"

#include <algorithm>
#include <bit>
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

}  // namespace diecast::timing
