// SPDX-License-Identifier: Apache-2.0
#include "models/timing/fr_fcfs.hpp"

#include <algorithm>
#include <bit>

namespace diecast::timing {
namespace {

constexpr std::uint32_t passes_per_entry = 4;

/// Calls body(bank) for every set bit, lowest first.
template <class Body>
void for_each_bank(std::uint64_t mask, Body&& body) {
  for (; mask != 0; mask &= mask - 1) body(static_cast<std::uint32_t>(std::countr_zero(mask)));
}

}  // namespace

fr_fcfs::fr_fcfs(const dram_parameters& p, std::uint32_t depth)
    : depth_(depth), banks_(p), queues_(p.banks()) {}

dram_clock fr_fcfs::step(dram_clock now, std::vector<served_burst>& served) {
  admit(now);
  give_column(now, served);
  give_row(now);
  admit(now);
  return next_clock(now);
}

void fr_fcfs::admit(dram_clock now) {
  while (occupied_ < depth_ && !arrivals_.empty() && arrivals_.front().from <= now) {
    const dram_burst& b = arrivals_.front();
    bank_queue& q = queues_[b.bank];
    q.waiting.push_back({b.tag, next_age_++, b.row, b.write});
    if (q.hit == no_hit && banks_.open_row(b.bank) == b.row) q.hit = q.waiting.size() - 1;
    active_ |= std::uint64_t{1} << b.bank;
    ++occupied_;
    arrivals_.pop_front();
  }
}

void fr_fcfs::find_hit(std::uint32_t bank) {
  bank_queue& q = queues_[bank];
  const auto row = banks_.open_row(bank);
  const auto it = std::ranges::find(q.waiting, row, &waiting_burst::row);
  q.hit = it == q.waiting.end() ? no_hit : static_cast<std::size_t>(it - q.waiting.begin());
}

bool fr_fcfs::servable(const bank_queue& q) const {
  return q.hit == 0 || (q.hit != no_hit && q.passed < passes_per_entry * depth_);
}

void fr_fcfs::give_column(dram_clock now, std::vector<served_burst>& served) {
  std::uint64_t oldest = UINT64_MAX;
  std::uint32_t chosen = 0;
  for_each_bank(active_, [&](std::uint32_t bank) {
    const bank_queue& q = queues_[bank];
    if (!servable(q)) return;
    const waiting_burst& b = q.waiting[q.hit];
    if (b.age < oldest && banks_.earliest_column(bank, b.write) <= now) {
      oldest = b.age;
      chosen = bank;
    }
  });
  if (oldest == UINT64_MAX) return;
  bank_queue& q = queues_[chosen];
  const waiting_burst b = q.waiting[q.hit];
  served.push_back({b.tag, banks_.column(chosen, b.write, now)});
  report(b.write ? dram_command::write : dram_command::read, chosen, b.row, now);
  ++columns_;
  q.passed = q.hit == 0 ? 0 : q.passed + 1;
  q.waiting.erase(q.waiting.begin() + static_cast<std::ptrdiff_t>(q.hit));
  if (q.waiting.empty()) active_ &= ~(std::uint64_t{1} << chosen);
  --occupied_;
  find_hit(chosen);
}

void fr_fcfs::give_row(dram_clock now) {
  std::uint64_t oldest = UINT64_MAX;
  std::uint32_t chosen = 0;
  for_each_bank(active_, [&](std::uint32_t bank) {
    const bank_queue& q = queues_[bank];
    if (servable(q) || q.waiting.front().age >= oldest) return;
    const bool closed = banks_.open_row(bank) == dram_banks::no_row;
    if ((closed ? banks_.earliest_activate(bank) : banks_.earliest_precharge(bank)) > now) return;
    oldest = q.waiting.front().age;
    chosen = bank;
  });
  if (oldest == UINT64_MAX) return;
  if (banks_.open_row(chosen) != dram_banks::no_row) {
    report(dram_command::precharge, chosen, banks_.open_row(chosen), now);
    banks_.precharge(chosen, now);
    queues_[chosen].hit = no_hit;
    return;
  }
  const std::uint32_t row = queues_[chosen].waiting.front().row;
  banks_.activate(chosen, row, now);
  report(dram_command::activate, chosen, row, now);
  ++activates_;
  find_hit(chosen);
}

dram_clock fr_fcfs::next_clock(dram_clock now) const {
  dram_clock next = never_clock;
  for_each_bank(active_, [&](std::uint32_t bank) {
    const bank_queue& q = queues_[bank];
    dram_clock at = 0;
    if (servable(q)) {
      at = banks_.earliest_column(bank, q.waiting[q.hit].write);
    } else {
      const bool closed = banks_.open_row(bank) == dram_banks::no_row;
      at = closed ? banks_.earliest_activate(bank) : banks_.earliest_precharge(bank);
    }
    next = std::min(next, std::max(at, now + 1));
  });
  if (occupied_ < depth_ && !arrivals_.empty())
    next = std::min(next, std::max(arrivals_.front().from, now + 1));
  return next;
}

}  // namespace diecast::timing
