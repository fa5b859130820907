// SPDX-License-Identifier: Apache-2.0
// The account of lost time: complete, and what it charges to a limit comes back without the limit.
#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <vector>

#include "dram_blocks.hpp"
#include "models/timing/fr_fcfs.hpp"
#include "support/test.hpp"

using namespace diecast;
using namespace diecast::timing;

namespace {

using pattern = std::function<dram_burst(std::uint64_t k, const dram_parameters& p)>;

constexpr std::uint32_t rows = 16'384;
constexpr std::uint32_t columns = 32;

/// Counter-based: the k-th draw of a stream is always the same.
std::uint32_t draw(std::uint64_t k, std::uint32_t stream, std::uint32_t below) {
  std::uint64_t z = k * 8 + stream + 0x9e3779b97f4a7c15U;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return static_cast<std::uint32_t>((z ^ (z >> 31)) % below);
}

dram_burst sequential(std::uint64_t k, const dram_parameters& p) {
  dram_burst b;
  const auto digit = [&k](std::uint32_t radix) {
    const auto d = static_cast<std::uint32_t>(k % radix);
    k /= radix;
    return d;
  };
  b.at.pseudo_channel = digit(p.pseudo_channels);
  b.at.bank_group = digit(p.bank_groups);
  b.at.column = digit(columns);
  b.at.bank = digit(p.banks_per_group);
  b.at.sid = digit(p.sids);
  b.at.row = digit(rows);
  return b;
}

dram_burst uniform(std::uint64_t k, const dram_parameters& p) {
  dram_burst b;
  b.at = {draw(k, 0, p.pseudo_channels), draw(k, 1, p.sids), draw(k, 2, p.bank_groups),
          draw(k, 3, p.banks_per_group), draw(k, 4, rows),   draw(k, 5, columns)};
  return b;
}

/// One burst per row, over all banks in turn.
dram_burst page_stride(std::uint64_t k, const dram_parameters& p) {
  dram_burst b =
      sequential(k / p.pseudo_channels / p.bank_groups * p.pseudo_channels * p.bank_groups * columns +
                     k % (std::uint64_t{p.pseudo_channels} * p.bank_groups),
                 p);
  return b;
}

dram_burst bank_conflict(std::uint64_t k, const dram_parameters&) {
  dram_burst b;
  b.at.row = static_cast<std::uint32_t>(k % rows);
  return b;
}

dram_burst same_bank_hit(std::uint64_t k, const dram_parameters& p) {
  dram_burst b;
  b.at.pseudo_channel = static_cast<std::uint32_t>(k % p.pseudo_channels);
  b.at.column = static_cast<std::uint32_t>(k / p.pseudo_channels % columns);
  return b;
}

/// Addresses of every `bursts`-th burst, in the default address map.
pattern stride(std::uint64_t bursts) {
  return [bursts](std::uint64_t k, const dram_parameters& p) { return sequential(k * bursts, p); };
}

pattern half_writes(pattern of) {
  return [of = std::move(of)](std::uint64_t k, const dram_parameters& p) {
    dram_burst b = of(k, p);
    b.write = draw(k, 6, 2) != 0;
    return b;
  };
}

pattern writes(pattern of) {
  return [of = std::move(of)](std::uint64_t k, const dram_parameters& p) {
    dram_burst b = of(k, p);
    b.write = true;
    return b;
  };
}

struct outcome {
  double ns{};
  lost_time_report lost;
  [[nodiscard]] double share(lost_cause c) const { return lost.share(c); }
};

/// interval 0: as fast as the queues take them.
outcome serve(const config::hbm_block& h, const pattern& of, std::uint64_t n = 30'000,
              dram_tick interval = 0) {
  const dram_parameters p = make_dram_parameters(h);
  dram_scheduler scheduler(p);
  std::vector<served_burst> served;
  dram_tick now = 0;
  for (std::uint64_t k = 0; k < n; ++k) {
    const dram_burst b = of(k, p);
    if (interval != 0) {
      now = k * interval;
      scheduler.run(now, served);
    }
    if (!scheduler.has_room(b.write)) now = scheduler.run_until_room(b.write, served);
    scheduler.push(b, now);
  }
  while (scheduler.waiting() != 0) scheduler.run(scheduler.next_tick(), served);
  for (const served_burst& s : served) now = std::max(now, s.done);
  scheduler.run(now, served);
  CHECK(served.size() == n);
  return {(p.tick * now).ns(), scheduler.lost(now)};
}

std::uint64_t sum(const lost_time_report& r) {
  std::uint64_t s = r.busy;
  for (const std::uint64_t l : r.lost) s += l;
  return s;
}

using change = std::function<void(config::hbm_block&)>;

void no_refresh(config::hbm_block& h) { h.refresh = config::hbm_refresh::none; }
void no_window(config::hbm_block& h) { h.tfaw_ns = h.trrd_s_ns = h.trrd_l_ns = 0; }
void no_bank_times(config::hbm_block& h) {
  h.trp_ns = h.trcd_rd_ns = h.trcd_wr_ns = h.tras_ns = h.trc_ns = h.trtp_ns = h.twr_ns = 0;
  h.tccd_l_ns = h.burst_ns;
}
/// A turnaround is tRTW, tWTR and the latencies that the data buses' direction waits for. A bank recovers
/// after a write as before: from its command, tCWL and tWR.
void no_turnaround(config::hbm_block& h) {
  h.twr_ns += h.cwl_ns;
  h.trtw_ns = h.twtr_s_ns = h.twtr_l_ns = h.cwl_ns = h.tccd_r_ns = 0;
  h.cl_ns = 0.01;
}

/// The time that the limit's share states is the time its absence saves, within a fifth.
void check_saves(const char* name, config::hbm_block h, const pattern& of, lost_cause cause,
                 const change& without) {
  INFO(name << ", " << to_string(cause));
  const outcome with = serve(h, of);
  without(h);
  const double saved = 1 - serve(h, of).ns / with.ns;
  CHECK(with.share(cause) > 0.05);
  CHECK(with.share(cause) == Approx(saved).epsilon(0.2));
}

struct limit {
  lost_cause cause;
  void (*without)(config::hbm_block&);
};
constexpr std::array<limit, 4> limits{{{lost_cause::refresh, no_refresh},
                                       {lost_cause::activate_window, no_window},
                                       {lost_cause::turnaround, no_turnaround},
                                       {lost_cause::bank_conflict, no_bank_times}}};

/// What the limits are charged together, and what the absence of all saves, of the time of the run.
struct sums {
  double shares{}, saved{};
};
sums charge_all(config::hbm_block h, const pattern& of) {
  const outcome with = serve(h, of);
  sums s;
  for (const limit& l : limits) {
    s.shares += with.share(l.cause);
    l.without(h);
  }
  s.saved = 1 - serve(h, of).ns / with.ns;
  return s;
}

/// The same of each limit.
struct removal {
  std::array<double, limits.size()> share{}, saved{};
};
removal remove_each(const config::hbm_block& h, const pattern& of) {
  const outcome with = serve(h, of);
  removal r;
  for (std::size_t i = 0; i < limits.size(); ++i) {
    config::hbm_block without = h;
    limits[i].without(without);
    r.share[i] = with.share(limits[i].cause);
    r.saved[i] = 1 - serve(without, of).ns / with.ns;
  }
  return r;
}

/// Where removing limits one by one saves so much more, or so much less, than removing all, no shares can be
/// what their removal saves, to a fifth, and together what all save.
bool has_no_account(const removal& each, const sums& all) {
  constexpr double certain = 0.005;
  double one_by_one = 0;
  for (const double saved : each.saved) one_by_one += std::max(0.0, saved);
  return 0.8 * one_by_one > all.saved + certain || 1.2 * one_by_one < all.saved - certain;
}

/// Checks that every share of a twentieth or more that can be removed comes back, and that those named are
/// such and do not; returns how many came back.
std::size_t check_shares(const removal& r, const std::vector<lost_cause>& except) {
  std::size_t checked = 0;
  for (std::size_t i = 0; i < limits.size(); ++i) {
    const bool excepted = std::find(except.begin(), except.end(), limits[i].cause) != except.end();
    if (r.share[i] < 0.05 && !excepted) continue;
    INFO(to_string(limits[i].cause));
    const auto saved = Approx(r.saved[i]).epsilon(0.2);
    if (excepted) {
      CHECK(r.share[i] >= 0.05);
      CHECK(r.share[i] != saved);
      continue;
    }
    CHECK(r.share[i] == saved);
    ++checked;
  }
  return checked;
}

/// Together the limits are charged what they cost together.
void check_sum(const sums& s) { CHECK(s.shares == Approx(s.saved).margin(0.025)); }

struct traffic {
  const char* name;
  pattern of;
};
std::vector<traffic> all_traffic() {
  return {{"seq", sequential},
          {"rand", uniform},
          {"bank conflict", bank_conflict},
          {"same bank", same_bank_hit},
          {"page stride", page_stride},
          {"stride of 512 B", stride(16)},
          {"stride of 4 KiB", stride(128)},
          {"stride of 64 KiB", stride(2048)}};
}

constexpr auto none = config::hbm_refresh::none, all_bank = config::hbm_refresh::all_bank,
               per_bank = config::hbm_refresh::per_bank;
constexpr config::hbm_refresh refreshes[] = {none, all_bank, per_bank};

/// A share that does not come back: a row of "Where a share does not come back", docs/hbm.md.
struct told {
  const char* traffic;
  std::vector<config::hbm_refresh> with;
  lost_cause cause;
};
/// Traffic of which no account could be right, in the same section.
struct overlap {
  const char* traffic;
  std::vector<config::hbm_refresh> with;
};
struct told_of {
  std::vector<told> shares;
  std::vector<overlap> no_account;
};
const told_of reads{{{"page stride", {per_bank}, lost_cause::activate_window},
                     {"stride of 4 KiB", {none, all_bank, per_bank}, lost_cause::turnaround},
                     {"stride of 4 KiB", {per_bank}, lost_cause::refresh}},
                    {{"page stride", {per_bank}}, {"stride of 4 KiB", {none, all_bank}}}};
const told_of only_writes{{{"stride of 4 KiB", {none, all_bank, per_bank}, lost_cause::turnaround}},
                          {{"stride of 4 KiB", {none}}}};
const told_of mixed{{{"rand", {none, all_bank, per_bank}, lost_cause::activate_window},
                     {"rand", {none}, lost_cause::bank_conflict},
                     {"page stride", {per_bank}, lost_cause::activate_window},
                     {"same bank", {none, all_bank, per_bank}, lost_cause::bank_conflict},
                     {"seq", {per_bank}, lost_cause::turnaround},
                     {"stride of 512 B", {none, all_bank, per_bank}, lost_cause::bank_conflict},
                     {"stride of 4 KiB", {none, all_bank, per_bank}, lost_cause::turnaround},
                     {"stride of 4 KiB", {none, all_bank}, lost_cause::bank_conflict},
                     {"stride of 4 KiB", {per_bank}, lost_cause::refresh}},
                    {{"rand", {none, all_bank}},
                     {"same bank", {all_bank}},
                     {"seq", {per_bank}},
                     {"stride of 512 B", {none, all_bank, per_bank}},
                     {"stride of 4 KiB", {none, all_bank, per_bank}}}};

template <class Row>
bool names(const Row& row, const std::string& traffic, config::hbm_refresh refresh) {
  return row.traffic == traffic && std::find(row.with.begin(), row.with.end(), refresh) != row.with.end();
}

/// Checks traffic against what docs/hbm.md tells of it; returns how many shares came back.
std::size_t check_traffic(const std::string& name, const pattern& of, config::hbm_refresh refresh,
                          const told_of& page) {
  INFO(name << ", refresh " << static_cast<int>(refresh));
  config::hbm_block h = test::hbm3();
  h.refresh = refresh;
  const removal each = remove_each(h, of);
  const sums all = charge_all(h, of);
  check_sum(all);
  std::vector<lost_cause> except;
  for (const told& row : page.shares) {
    if (names(row, name, refresh)) except.push_back(row.cause);
  }
  if (!except.empty()) {
    const auto same = [&](const overlap& row) { return names(row, name, refresh); };
    CHECK(has_no_account(each, all) == std::any_of(page.no_account.begin(), page.no_account.end(), same));
  }
  return check_shares(each, except);
}

}  // namespace

TEST_CASE("lost time: busy and lost ticks are all there are") {
  for (const config::hbm_block& base : {test::hbm2(), test::hbm3(), test::hbm3e(), test::hbm4()}) {
    for (const pattern& of :
         {pattern(sequential), pattern(uniform), half_writes(uniform), pattern(bank_conflict)}) {
      for (const dram_tick interval : {dram_tick{0}, dram_tick{37}, dram_tick{400}}) {
        const outcome o = serve(base, of, 3000, interval);
        CHECK(sum(o.lost) == o.lost.total);
        CHECK(o.lost.busy > 0);
      }
    }
  }
}

TEST_CASE("lost time: of reads and of writes every share comes back but those that docs/hbm.md tells of") {
  std::size_t shares = 0;
  for (const traffic& t : all_traffic()) {
    for (const auto refresh : refreshes) {
      shares += check_traffic(t.name, t.of, refresh, reads);
      shares += check_traffic(t.name, writes(t.of), refresh, only_writes);
    }
  }
  CHECK(shares >= 60);  // that the loops met shares to check
}

TEST_CASE("lost time: with half writes every share comes back but those that docs/hbm.md tells of") {
  std::size_t shares = 0;
  for (const traffic& t : all_traffic()) {
    for (const auto refresh : refreshes) shares += check_traffic(t.name, half_writes(t.of), refresh, mixed);
  }
  CHECK(shares >= 20);
}

TEST_CASE("lost time: what the limits are charged together is what they cost together, of every generation") {
  for (config::hbm_block h : {test::hbm2(), test::hbm3e(), test::hbm4()}) {  // HBM3: above
    for (const auto refresh : refreshes) {
      h.refresh = refresh;
      for (const traffic& t : all_traffic()) {
        INFO(t.name << ", bursts of " << h.burst_ns << " ns, refresh " << static_cast<int>(refresh));
        for (const pattern& of : {t.of, writes(t.of), half_writes(t.of)}) check_sum(charge_all(h, of));
      }
    }
  }
}

TEST_CASE("lost time: a write's recovery is not a turnaround") {
  config::hbm_block h = test::hbm3();
  no_refresh(h);
  const double ns = serve(h, writes(bank_conflict)).ns;
  no_turnaround(h);
  CHECK(serve(h, writes(bank_conflict)).ns == Approx(ns).epsilon(0.001));
}

TEST_CASE("lost time: what is charged to a refresh of single banks is what it adds") {
  config::hbm_block h = test::hbm3();
  h.refresh = config::hbm_refresh::per_bank;
  for (const pattern& of : {pattern(bank_conflict), half_writes(bank_conflict), writes(bank_conflict)})
    check_saves("bank conflict", h, of, lost_cause::refresh, no_refresh);
}

TEST_CASE("lost time: a pseudo-channel that nobody asks is the initiator's while the other moves data") {
  config::hbm_block h = test::hbm3();
  no_refresh(h);
  const outcome o = serve(h, stride(16));  // one pseudo-channel, two stack IDs in turn
  CHECK(o.share(lost_cause::initiator) == Approx(o.lost.busy_share()).epsilon(0.01));
  CHECK(o.share(lost_cause::turnaround) == Approx(o.lost.busy_share()).epsilon(0.01));
}

TEST_CASE("lost time: where the row-command bus is the only limit, it is charged") {
  config::hbm_block h = test::hbm2();
  no_refresh(h);
  // An activation takes the bus for two clocks and a precharge for one, a burst its pseudo-channel's for two.
  for (const pattern& of : {pattern(uniform), pattern(page_stride)})
    CHECK(serve(h, of).share(lost_cause::row_bus) == Approx(2.0 / 3).epsilon(0.02));
}

TEST_CASE("lost time: refresh gives back what is charged to it") {
  for (const config::hbm_block& h : {test::hbm2(), test::hbm3(), test::hbm4()}) {
    check_saves("sequential", h, sequential, lost_cause::refresh, no_refresh);
    check_saves("random", h, uniform, lost_cause::refresh, no_refresh);
    check_saves("bank conflict", h, bank_conflict, lost_cause::refresh, no_refresh);
    check_saves("same bank", h, same_bank_hit, lost_cause::refresh, no_refresh);
  }
}

TEST_CASE("lost time: tFAW and tRRD give back what is charged to them") {
  check_saves("random", test::hbm3(), uniform, lost_cause::activate_window, no_window);
  check_saves("page stride", test::hbm3(), page_stride, lost_cause::activate_window, no_window);
  check_saves("random", test::hbm4(), uniform, lost_cause::activate_window, no_window);
}

TEST_CASE("lost time: without tFAW and tRRD random traffic is lost to the row-command bus") {
  config::hbm_block h = test::hbm3();
  no_refresh(h);
  no_window(h);
  const outcome o = serve(h, uniform);
  CHECK(o.share(lost_cause::activate_window) < 0.01);
  // An activation takes both pseudo-channels' time of a burst, and one of the two is used.
  CHECK(o.share(lost_cause::row_bus) == Approx(0.5).epsilon(0.2));
}

TEST_CASE("lost time: turnarounds give back what is charged to them") {
  check_saves("mixed sequential", test::hbm3(), half_writes(sequential), lost_cause::turnaround,
              no_turnaround);
  check_saves("mixed sequential", test::hbm4(), half_writes(sequential), lost_cause::turnaround,
              no_turnaround);
  CHECK(serve(test::hbm3(), uniform).share(lost_cause::turnaround) < 0.01);
}

TEST_CASE("lost time: bank conflicts give back what is charged to them") {
  check_saves("bank conflict", test::hbm3(), bank_conflict, lost_cause::bank_conflict, no_bank_times);
  check_saves("same bank", test::hbm3(), same_bank_hit, lost_cause::bank_conflict, no_bank_times);
  check_saves("same bank", test::hbm2(), same_bank_hit, lost_cause::bank_conflict, no_bank_times);
}

TEST_CASE("lost time: saturated traffic is not limited by its initiator, sparse traffic is") {
  for (const pattern& of : {pattern(sequential), half_writes(sequential), pattern(uniform),
                            half_writes(uniform), pattern(bank_conflict), pattern(same_bank_hit)}) {
    CHECK(serve(test::hbm3(), of).share(lost_cause::initiator) < 0.01);
  }
  const outcome sparse = serve(test::hbm3(), sequential, 5000, 200);
  CHECK(sparse.lost.busy_share() == Approx(0.01).epsilon(0.1));
  CHECK(sparse.share(lost_cause::initiator) > 0.8);
  // At 40% of the peak a tenth of the time is refresh, and the rest of what is lost nobody asked for.
  const outcome half = serve(test::hbm3(), sequential, 30'000, 5);
  CHECK(half.lost.busy_share() == Approx(0.4).epsilon(0.05));
  CHECK(half.share(lost_cause::refresh) == Approx(350.0 / 3900).epsilon(0.25));
  CHECK(half.share(lost_cause::initiator) > 0.4);
}
