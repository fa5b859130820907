// SPDX-License-Identifier: Apache-2.0
#include "models/timing/dram_state.hpp"

#include <algorithm>

namespace diecast::timing {
namespace {

void raise(dram_tick& at, dram_tick to) { at = std::max(at, to); }

}  // namespace

dram_state::dram_state(const dram_parameters& p) : p_(p), channels_(p.pseudo_channels) {
  for (channel_state& c : channels_) {
    c.banks.resize(p.banks_per_pc());
    c.groups.resize(p.groups_per_pc());
    for (std::uint32_t b = 0; b < c.banks.size(); ++b) c.banks[b].group = b / p.banks_per_group;
  }
}

void dram_state::took_row_bus(std::uint32_t pc, std::uint32_t b, bool all, dram_tick t, dram_tick length) {
  row_bus_ = t + length;
  if (p_.clock == 1 || !p_.rising(t)) return;
  pairing_edge_ = t + length;
  pairing_pc_ = pc;
  pairing_bank_ = b;
  pairing_all_ = all;
}

void dram_state::activate(std::uint32_t pc, std::uint32_t b, std::uint32_t row, dram_tick t) {
  channel_state& c = channels_[pc];
  bank_state& k = c.banks[b];
  k.row = row;
  k.opened = t;
  c.open |= std::uint64_t{1} << b;
  k.act = t + p_.act_to_act;
  k.read = t + p_.act_to_read;
  k.write = t + p_.act_to_write;
  raise(k.pre, t + p_.act_to_pre);
  raise(k.refresh, t + p_.act_to_ref);
  raise(c.pre_all, t + p_.act_to_pre);
  raise(c.refresh_all, t + p_.act_to_ref);
  raise(c.refresh_bank, t + p_.act_to_refpb);
  c.acts[c.act_count++ % c.acts.size()] = t;
  const dram_tick oldest = c.acts[c.act_count % c.acts.size()];
  dram_tick next = t + p_.act_to_act_s;
  if (c.act_count >= c.acts.size()) raise(next, oldest + p_.faw);
  raise(c.act, next);
  for (group_state& g : c.groups) raise(g.act, next);
  raise(c.groups[k.group].act, t + p_.act_to_act_l);
  took_row_bus(pc, b, false, t, p_.activate_bus);
}

void dram_state::precharge(std::uint32_t pc, std::uint32_t b, dram_tick t) {
  channel_state& c = channels_[pc];
  bank_state& k = c.banks[b];
  k.row = no_row;
  c.open &= ~(std::uint64_t{1} << b);
  raise(k.act, t + p_.pre_to_act);
  raise(k.refresh, t + p_.pre_to_ref);
  raise(c.pre, t + p_.pre_to_pre);
  raise(c.refresh_all, t + p_.pre_to_ref);
  took_row_bus(pc, b, false, t, 1);
}

void dram_state::precharge_all(std::uint32_t pc, dram_tick t) {
  channel_state& c = channels_[pc];
  for (bank_state& k : c.banks) {
    k.row = no_row;
    raise(k.act, t + p_.pre_to_act);
    raise(k.refresh, t + p_.pre_to_ref);
  }
  c.open = 0;
  raise(c.pre, t + p_.pre_to_pre);
  raise(c.refresh_all, t + p_.pre_to_ref);
  took_row_bus(pc, 0, true, t, 1);
}

void dram_state::refresh_all(std::uint32_t pc, dram_tick t) {
  channel_state& c = channels_[pc];
  raise(c.act, t + p_.ref_to_act);
  for (group_state& g : c.groups) raise(g.act, t + p_.ref_to_act);
  raise(c.pre_all, t + p_.ref_to_pre);
  raise(c.refresh_bank, t + p_.ref_to_pre);
  raise(c.refresh_all, t + p_.ref_to_pre);
  took_row_bus(pc, 0, true, t, 1);
}

void dram_state::refresh_bank(std::uint32_t pc, std::uint32_t b, dram_tick t) {
  channel_state& c = channels_[pc];
  raise(c.banks[b].act, t + p_.refpb_to_act);
  raise(c.banks[b].refresh, t + p_.refpb_to_act + p_.activate_bus - 1);
  raise(c.act, t + p_.refpb_to_act_d);
  for (group_state& g : c.groups) raise(g.act, t + p_.refpb_to_act_d);
  raise(c.refresh_bank, t + p_.refpb_to_refpb);
  took_row_bus(pc, b, false, t, 1);
}

void dram_state::column(std::uint32_t pc, std::uint32_t b, bool write, bool close, dram_tick t) {
  channel_state& c = channels_[pc];
  bank_state& k = c.banks[b];
  const std::uint32_t own = k.group;
  const std::uint32_t sid = own / p_.bank_groups;
  c.column = t + p_.burst;
  for (std::uint32_t g = 0; g < c.groups.size(); ++g) {
    group_state& s = c.groups[g];
    const dram_tick same = t + (g == own                    ? p_.col_to_col_l
                                : g / p_.bank_groups == sid ? p_.col_to_col_s
                                                            : p_.col_to_col_r);
    if (write) {
      raise(s.write, same);
      raise(s.read, t + (g == own ? std::max(p_.write_to_read_l, p_.write_to_read_s) : p_.write_to_read_s));
    } else {
      raise(s.read, same);
      raise(s.write, t + p_.read_to_write);
    }
  }
  const dram_tick restored = t + (write ? p_.write_to_pre : p_.read_to_pre);
  if (!close) {
    raise(k.pre, restored);
    raise(c.pre_all, restored);
    if (write) k.restored = restored;
    return;
  }
  // The bank closes itself when tRAS and its own recovery are over.
  const dram_tick aged = k.opened + p_.act_to_pre;
  k.row = no_row;
  c.open &= ~(std::uint64_t{1} << b);
  raise(k.act, std::max(aged + p_.pre_to_act, t + (write ? p_.writep_to_act : p_.readp_to_act)));
  const dram_tick refresh = std::max(aged + p_.pre_to_ref, t + (write ? p_.writep_to_ref : p_.readp_to_ref));
  raise(k.refresh, refresh);
  raise(c.refresh_all, refresh);
}

}  // namespace diecast::timing
