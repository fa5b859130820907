// SPDX-License-Identifier: Apache-2.0
#include "models/timing/fr_fcfs.hpp"

#include <algorithm>
#include <bit>

namespace diecast::timing {
namespace {

/// Younger hits of a bank that may pass its oldest request, per entry of the queue.
constexpr std::uint32_t passes_per_entry = 4;

/// Calls body(bank) for every set bit, lowest first.
template <class Body>
void for_each_bank(std::uint64_t mask, Body&& body) {
  for (; mask != 0; mask &= mask - 1) body(static_cast<std::uint32_t>(std::countr_zero(mask)));
}

constexpr std::uint64_t bit(std::uint32_t bank) { return std::uint64_t{1} << bank; }

void set_bit(std::uint64_t& mask, std::uint32_t bank, bool on) {
  mask = on ? mask | bit(bank) : mask & ~bit(bank);
}

}  // namespace

dram_scheduler::dram_scheduler(const dram_parameters& p)
    : p_(p), state_(p), lost_(p), pcs_(p.pseudo_channels), refresh_round_(p.sids) {
  for (pc_slot& c : pcs_) c.banks.resize(p.banks_per_pc());
  if (p.refresh == config::hbm_refresh::all_bank) next_refresh_ = p.refi;
  if (p.refresh == config::hbm_refresh::per_bank) next_refresh_ = refresh_due_ = p.refi_bank;
}

bool dram_scheduler::wants_other_mode() const {
  const auto writes = static_cast<double>(size_[1]);
  if (mode_ == 0) return hazards_ == 0 && (writes > p_.drain_high || size_[0] == 0);
  return hazards_ > 0 || (size_[0] != 0 && (writes < p_.drain_low || size_[1] == 0));
}

void dram_scheduler::choose_mode(dram_tick t) {
  if (!wants_other_mode()) return;
  mode_ ^= 1U;
  lost_.changed_mode(t);
  next_column_ = next_row_ = t;
}

void dram_scheduler::push(const dram_burst& b, dram_tick arrived) {
  inbox_.push_back({b, arrived});
  ++inbox_size_[b.write ? 1 : 0];
}

/// Admits the requests that a controller would have seen before tick t.
void dram_scheduler::admit_before(dram_tick t) {
  while (!inbox_.empty() && inbox_.front().arrived < t && front_fits()) {
    const dram_tick now = std::max(inbox_.front().arrived, last_step_);
    const dram_burst b = inbox_.front().burst;
    inbox_.pop_front();
    --inbox_size_[b.write ? 1 : 0];
    idle_refreshes_ = 0;
    enter(b, now);
    t = std::min(t, next_step());
  }
}

void dram_scheduler::enter(const dram_burst& b, dram_tick now) {
  const std::uint32_t bank = bank_index(p_, b.at);
  if (!b.write && forward(b, bank, now)) return;
  if (b.write) mark_hazard(b, bank);
  const index n = allocate();
  if (queued() == 0) lost_.filled(now + 1);
  nodes_[n] = {b.tag, next_age_++, now + 1, b.at, none, none, b.write, false, queued() < p_.pseudo_channels,
               false};
  append(b.at.pseudo_channel, bank, n);
  const unsigned kind = b.write ? 1 : 0;
  ++size_[kind];
  if (refreshes_.empty() && wants_other_mode()) {
    next_column_ = next_row_ = now + 1;
  } else if (kind == mode_) {
    const auto& c = state_.channel(b.at.pseudo_channel);
    if (state_.open_row(b.at.pseudo_channel, bank) == b.at.row)
      next_column_ = std::min(next_column_, std::max(now + 1, dram_state::earliest_column(c, bank, b.write)));
    wake_row(b.at.pseudo_channel, bank, now + 1);
  }
}

bool dram_scheduler::forward(const dram_burst& b, std::uint32_t bank, dram_tick now) {
  const bank_slot& slot = pcs_[b.at.pseudo_channel].banks[bank];
  bool found = slot.active != none && nodes_[slot.active].write && nodes_[slot.active].at == b.at;
  for (index n = slot.queue[1].head; n != none && !found; n = nodes_[n].next) found = nodes_[n].at == b.at;
  if (!found) return false;
  ++counters_.forwarded;
  answered_.push_back({b.tag, now + 1});
  return true;
}

void dram_scheduler::mark_hazard(const dram_burst& b, std::uint32_t bank) {
  const bank_slot& slot = pcs_[b.at.pseudo_channel].banks[bank];
  const auto mark = [&](index n) {
    if (nodes_[n].write || nodes_[n].hazard || nodes_[n].at != b.at) return;
    nodes_[n].hazard = true;
    ++hazards_;
  };
  if (slot.active != none) mark(slot.active);
  for (index n = slot.queue[0].head; n != none; n = nodes_[n].next) mark(n);
}

dram_scheduler::index dram_scheduler::allocate() {
  if (free_nodes_.empty()) {  // most channels of a large machine never wait for this many
    nodes_.emplace_back();
    return static_cast<index>(nodes_.size() - 1);
  }
  const index n = free_nodes_.back();
  free_nodes_.pop_back();
  return n;
}

void dram_scheduler::append(std::uint32_t pc, std::uint32_t bank, index n) {
  const unsigned kind = nodes_[n].write ? 1 : 0;
  bank_queue& q = pcs_[pc].banks[bank].queue[kind];
  nodes_[n].previous = q.tail;
  (q.tail == none ? q.head : nodes_[q.tail].next) = n;
  q.tail = n;
  if (q.hit == none && state_.open_row(pc, bank) == nodes_[n].at.row) q.hit = n;
  update_masks(pc, bank, kind);
}

void dram_scheduler::unlink(std::uint32_t pc, std::uint32_t bank, index n) {
  const node& d = nodes_[n];
  const unsigned kind = d.write ? 1 : 0;
  bank_queue& q = pcs_[pc].banks[bank].queue[kind];
  (d.previous == none ? q.head : nodes_[d.previous].next) = d.next;
  (d.next == none ? q.tail : nodes_[d.next].previous) = d.previous;
  if (d.previous == none) q.passed = 0;
  if (q.hit == n) {  // hits are kept oldest first: the next follows
    q.hit = first_hit(d.next, state_.open_row(pc, bank));
  }
  --size_[kind];
}

/// Number of the first request, from `n` on, for an open row.
dram_scheduler::index dram_scheduler::first_hit(index n, std::uint32_t row) const {
  while (n != none && nodes_[n].at.row != row) n = nodes_[n].next;
  return n;
}

void dram_scheduler::find_hits(std::uint32_t pc, std::uint32_t bank) {
  const std::uint32_t row = state_.open_row(pc, bank);
  for (unsigned kind = 0; kind < 2; ++kind) {
    bank_queue& q = pcs_[pc].banks[bank].queue[kind];
    q.hit = row == dram_state::no_row ? none : first_hit(q.head, row);
    update_masks(pc, bank, kind);
  }
}

void dram_scheduler::update_masks(std::uint32_t pc, std::uint32_t bank, unsigned kind) {
  pc_slot& c = pcs_[pc];
  const bank_slot& slot = c.banks[bank];
  const bank_queue& q = slot.queue[kind];
  const bool open = state_.open_row(pc, bank) != dram_state::no_row;
  const std::uint32_t most = passes_per_entry * (kind == 0 ? p_.read_queue : p_.write_queue);
  const bool hit = q.hit != none && (q.hit == q.head || q.passed < most);
  set_bit(c.hit[kind], bank, hit);
  set_bit(c.shut[kind], bank, q.head != none && !open);
  set_bit(c.clash[kind], bank, q.head != none && open && q.hit != q.head && slot.active == none);
}

dram_tick dram_scheduler::next_step() const {
  if (every_tick_) return last_step_ + 1;
  return std::max(last_step_ + 1, std::min({next_column_, next_row_, next_refresh_}));
}

dram_tick dram_scheduler::next_tick() const {
  if (waiting() == 0) return never_tick;
  if (inbox_.empty() || !front_fits()) return next_step();
  return std::min(next_step(), std::max(inbox_.front().arrived, last_step_) + 1);
}

void dram_scheduler::run(dram_tick until, std::vector<served_burst>& served) {
  for (;;) {
    if (queued() == 0 && refreshes_.empty() && observer_ == nullptr)
      skip_idle_refreshes(inbox_.empty() ? until : std::min(until, inbox_.front().arrived));
    admit_before(std::min(next_step(), until));
    const dram_tick t = next_step();
    if (t > until) break;
    step(t, served);
  }
  served.insert(served.end(), answered_.begin(), answered_.end());
  answered_.clear();
}

dram_tick dram_scheduler::run_until_room(bool write, std::vector<served_burst>& served) {
  while (!has_room(write)) run(next_tick(), served);
  return last_step_;
}

void dram_scheduler::step(dram_tick t, std::vector<served_burst>& served) {
  const std::uint64_t given_before = commands();
  last_step_ = t;
  if (every_tick_) next_column_ = next_row_ = t;
  if (t >= next_refresh_) order_refresh(t);
  if (refreshes_.empty()) choose_mode(t);
  if (p_.rising(t) && t >= next_column_) column_slot(t, served);
  if (refreshes_.empty()) choose_mode(t);
  if (t >= next_row_) {
    if (refreshes_.empty()) {
      row_slot(t);
    } else {
      refresh_slot(t);
    }
  }
  if (refreshes_.empty() && wants_other_mode()) next_column_ = next_row_ = t + 1;
  // Strictly in order: any command may have made another request the oldest.
  if (p_.scheduler == config::hbm_scheduler::fcfs && commands() != given_before)
    next_column_ = next_row_ = t + 1;
}

void dram_scheduler::set_age_limit() {
  if (p_.scheduler == config::hbm_scheduler::fr_fcfs) return;
  age_limit_ = UINT64_MAX;
  for (const pc_slot& c : pcs_) {
    for (const bank_slot& b : c.banks) {
      const index head = b.queue[mode_].head;
      if (head != none) age_limit_ = std::min(age_limit_, nodes_[head].age);
    }
  }
}

/// Considers for a column command, in each bank that `mask_of` names, the request that `request_of` names.
/// `all`: of any age.
template <class Mask, class Request>
void dram_scheduler::scan_columns(dram_tick t, choice& c, bool all, Mask mask_of, Request request_of) const {
  for (std::uint32_t pc = 0; pc < pcs_.size(); ++pc) {
    const std::uint64_t mask = mask_of(pcs_[pc]);
    if (mask == 0) continue;
    const auto& channel = state_.channel(pc);
    if (channel.column > t) {
      c.next = std::min(c.next, channel.column);
      continue;
    }
    for_each_bank(mask, [&](std::uint32_t b) {
      const node& n = nodes_[request_of(pcs_[pc].banks[b])];
      const dram_tick at = dram_state::earliest_column(channel, b, n.write);
      if (at > t) {
        c.next = std::min(c.next, at);
      } else if (all || may_serve(n.age)) {
        c.take(n.age, pc, b, false);
      }
    });
  }
}

void dram_scheduler::column_slot(dram_tick t, std::vector<served_burst>& served) {
  choice c;
  scan_columns(
      t, c, true, [](const pc_slot& p) { return p.active; }, [](const bank_slot& b) { return b.active; });
  if (c.found()) {
    c.more = true;  // the hits were not examined
    serve_column(c, pcs_[c.pc].banks[c.bank].active, t, served);
    return;
  }
  if (refreshes_.empty()) {
    set_age_limit();
    scan_columns(
        t, c, false, [this](const pc_slot& p) { return p.hit[mode_]; },
        [this](const bank_slot& b) { return b.queue[mode_].hit; });
    if (c.found()) {
      serve_column(c, pcs_[c.pc].banks[c.bank].queue[mode_].hit, t, served);
      return;
    }
  }
  next_column_ = c.next == never_tick ? never_tick : p_.rising_from(c.next);
}

void dram_scheduler::serve_column(const choice& c, index n, dram_tick t, std::vector<served_burst>& served) {
  const node d = nodes_[n];
  bank_slot& slot = pcs_[c.pc].banks[c.bank];
  if (slot.active == n) {
    slot.active = none;
    pcs_[c.pc].active &= ~bit(c.bank);
    --active_count_;
    active_writes_ -= d.write ? 1 : 0;
  } else {
    bank_queue& q = slot.queue[d.write ? 1 : 0];
    if (q.head != n) ++q.passed;
    unlink(c.pc, c.bank, n);
  }
  hazards_ -= d.hazard ? 1 : 0;
  free_nodes_.push_back(n);
  const bool close = p_.page_policy == config::hbm_page_policy::closed && slot.active == none &&
                     slot.queue[0].hit == none && slot.queue[1].hit == none &&
                     state_.may_close(c.pc, c.bank, d.write, t);
  lost_.column(c.pc, c.bank, d.write, t, {d.visible, d.alone, state_.bank(c.pc, c.bank).opened});
  if (queued() == 0) lost_.emptied(t);
  state_.column(c.pc, c.bank, d.write, close, t);
  if (close) {
    find_hits(c.pc, c.bank);
  } else {
    update_masks(c.pc, c.bank, 0);
    update_masks(c.pc, c.bank, 1);
  }
  ++(d.write ? counters_.writes : counters_.reads);
  counters_.misses += d.missed ? 1 : 0;
  served.push_back({d.tag, d.write ? t : t + p_.read_end});
  const dram_command plain = d.write ? dram_command::write : dram_command::read;
  const dram_command closing = d.write ? dram_command::write_precharge : dram_command::read_precharge;
  report(close ? closing : plain, c.pc, c.bank, d.at.row, d.at.column, t);
  next_column_ = t + p_.clock;
  if (refreshes_.empty() && p_.scheduler == config::hbm_scheduler::fr_fcfs) {
    wake_row(c.pc, c.bank, t);
  } else {
    next_row_ = t;  // a refresh may have waited for this, or the request that is the oldest now
  }
}

/// The bank's oldest request may need a row command: not before `from`.
void dram_scheduler::wake_row(std::uint32_t pc, std::uint32_t bank, dram_tick from) {
  const pc_slot& c = pcs_[pc];
  dram_tick at = never_tick;
  if ((c.shut[mode_] & bit(bank)) != 0) at = dram_state::earliest_activate(state_.channel(pc), bank);
  if ((c.clash[mode_] & bit(bank)) != 0) at = dram_state::earliest_precharge(state_.channel(pc), bank);
  if (at != never_tick) next_row_ = std::min(next_row_, std::max({at, from, state_.row_bus()}));
}

void dram_scheduler::scan_rows(dram_tick t, choice& c) const {
  const bool rising = p_.rising(t);
  const auto consider = [&](std::uint32_t pc, std::uint32_t b, dram_tick at, bool precharge, bool may) {
    if (at > t || !may) {
      c.next = std::min(c.next, std::max(at, t + 1));
      return;
    }
    const std::uint64_t age = nodes_[pcs_[pc].banks[b].queue[mode_].head].age;
    if (may_serve(age)) c.take(age, pc, b, precharge);
  };
  for (std::uint32_t pc = 0; pc < pcs_.size(); ++pc) {
    const auto& channel = state_.channel(pc);
    const std::uint64_t shut = pcs_[pc].shut[mode_];
    const std::uint64_t clash = pcs_[pc].clash[mode_];
    if (shut != 0 && (channel.act > t || !rising)) {
      c.next = std::min(c.next, p_.rising_from(std::max(channel.act, t + 1)));
    } else {
      for_each_bank(shut, [&](std::uint32_t b) {
        consider(pc, b, p_.rising_from(dram_state::earliest_activate(channel, b)), false, true);
      });
    }
    if (clash != 0 && channel.pre > t) {
      c.next = std::min(c.next, channel.pre);
    } else {
      for_each_bank(clash, [&](std::uint32_t b) {
        consider(pc, b, channel.banks[b].pre, true, rising || state_.pairs(t, pc, b, false));
      });
    }
  }
}

void dram_scheduler::row_slot(dram_tick t) {
  if (state_.row_bus() > t) {
    next_row_ = state_.row_bus();
    return;
  }
  set_age_limit();
  choice c;
  scan_rows(t, c);
  next_row_ = c.next;
  if (!c.found()) return;
  if (c.precharge) {
    nodes_[pcs_[c.pc].banks[c.bank].queue[mode_].head].missed = true;
    give_precharge(c.pc, c.bank, t);
  } else {
    give_activate(c, t);
  }
  next_row_ = c.more ? state_.row_bus() : std::max(next_row_, state_.row_bus());
}

void dram_scheduler::give_activate(const choice& c, dram_tick t) {
  bank_slot& slot = pcs_[c.pc].banks[c.bank];
  const index n = slot.queue[mode_].head;
  node& d = nodes_[n];
  d.missed = true;
  slot.active = n;
  pcs_[c.pc].active |= bit(c.bank);
  ++active_count_;
  active_writes_ += d.write ? 1 : 0;
  unlink(c.pc, c.bank, n);
  lost_.activate(state_, c.pc, c.bank, d.at.row, t, d.visible);
  state_.activate(c.pc, c.bank, d.at.row, t);
  ++counters_.activates;
  find_hits(c.pc, c.bank);
  report(dram_command::activate, c.pc, c.bank, d.at.row, 0, t);
  const auto& channel = state_.channel(c.pc);
  const dram_tick first = std::min(dram_state::earliest_column(channel, c.bank, d.write),
                                   dram_state::earliest_column(channel, c.bank, mode_ == 1));
  next_column_ = std::min(next_column_, p_.rising_from(std::max(first, t + 1)));
}

void dram_scheduler::give_precharge(std::uint32_t pc, std::uint32_t bank, dram_tick t) {
  report(dram_command::precharge, pc, bank, state_.open_row(pc, bank), 0, t);
  state_.precharge(pc, bank, t);
  ++counters_.precharges;
  find_hits(pc, bank);
  wake_row(pc, bank, t + 1);
}

void dram_scheduler::report(dram_command command, std::uint32_t pc, std::uint32_t bank, std::uint32_t row,
                            std::uint32_t column, dram_tick t) const {
  if (observer_ == nullptr) return;
  const std::uint32_t group = bank / p_.banks_per_group;
  observer_->on_command(
      {t,
       command,
       {pc, group / p_.bank_groups, group % p_.bank_groups, bank % p_.banks_per_group, row, column}});
}

}  // namespace diecast::timing
