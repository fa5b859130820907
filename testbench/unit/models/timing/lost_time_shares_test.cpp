// SPDX-License-Identifier: Apache-2.0
// Which shares of lost time come back, one by one, for every kind of traffic: docs/hbm.md says of all others
// that they do not.
#include <algorithm>
#include <array>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "lost_time_bench.hpp"

using namespace diecast;
using namespace diecast::test;
using namespace diecast::timing;

namespace {

constexpr const auto& limits = removable_limits;

/// What each limit is charged and what its absence saves, and the same of all limits together; of the time of
/// the run.
struct removal {
  std::array<double, limits.size()> share{}, saved{};
  double all_shares{}, all_saved{};
};
removal remove_limits(const config::hbm_block& h, const pattern& of) {
  const outcome with = serve(h, of);
  const auto saved = [&](const config::hbm_block& without) { return 1 - serve(without, of).ns / with.ns; };
  removal r;
  config::hbm_block none_left = h;
  for (std::size_t i = 0; i < limits.size(); ++i) {
    config::hbm_block without = h;
    limits[i].remove(without);
    limits[i].remove(none_left);
    r.share[i] = with.share(limits[i].cause);
    r.saved[i] = saved(without);
    r.all_shares += r.share[i];
  }
  r.all_saved = saved(none_left);
  return r;
}

/// Where removing limits one by one saves so much more, or so much less, than removing all, no shares can be
/// what their removal saves, to a fifth, and together what all save.
bool has_no_account(const removal& r) {
  constexpr double certain = 0.005;
  double one_by_one = 0;
  for (const double saved : r.saved) one_by_one += std::max(0.0, saved);
  return 0.8 * one_by_one > r.all_saved + certain || 1.2 * one_by_one < r.all_saved - certain;
}

constexpr double least_share = 0.05;
bool comes_back(const removal& r, std::size_t limit) {
  return r.share[limit] == Approx(r.saved[limit]).epsilon(0.2);
}

/// Checks that every share of a twentieth or more that can be removed comes back, and that those named are
/// such and do not.
void check_shares(const removal& r, const std::vector<lost_cause>& except) {
  for (std::size_t i = 0; i < limits.size(); ++i) {
    const bool excepted = std::find(except.begin(), except.end(), limits[i].cause) != except.end();
    INFO(to_string(limits[i].cause) << ", share " << r.share[i] << ", saved " << r.saved[i]);
    if (excepted) CHECK(r.share[i] >= least_share);
    if (r.share[i] >= least_share) CHECK(comes_back(r, i) != excepted);
  }
}

/// Together the limits are charged what they cost together.
void check_sum(const removal& r) { CHECK(r.all_shares == Approx(r.all_saved).margin(0.025)); }

struct share_traffic {
  const char* name;
  pattern of;
};
std::vector<share_traffic> all_traffic() {
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

/// A share that differs from its saving: a row of "Where shares and savings differ", docs/hbm.md.
struct told {
  const char* share_traffic;
  std::vector<config::hbm_refresh> with;
  lost_cause cause;
};
/// Traffic of which no account could be right, in the same section.
struct overlap {
  const char* share_traffic;
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
bool names(const Row& row, const std::string& share_traffic, config::hbm_refresh refresh) {
  return row.share_traffic == share_traffic &&
         std::find(row.with.begin(), row.with.end(), refresh) != row.with.end();
}

/// How many shares there are of a twentieth or more, how many of them do not come back, and how many of these
/// are of traffic for which no account could be right.
struct counts {
  std::size_t shares{}, do_not{}, no_account{};
  bool operator==(const counts&) const = default;
};
std::ostream& operator<<(std::ostream& os, const counts& c) {
  return os << c.do_not << " of " << c.shares << " shares do not come back, " << c.no_account
            << " without an account";
}

void add(counts& c, const removal& r) {
  for (std::size_t i = 0; i < limits.size(); ++i) {
    if (r.share[i] < least_share) continue;
    ++c.shares;
    if (comes_back(r, i)) continue;
    ++c.do_not;
    c.no_account += has_no_account(r) ? 1 : 0;
  }
}

using visitor = std::function<void(const share_traffic&, config::hbm_refresh, const removal&)>;
/// Every kind of traffic under every refresh, changed by `as`.
template <class As>
counts count_shares(config::hbm_block h, As as, const visitor& look = {}) {
  counts c;
  for (const share_traffic& t : all_traffic()) {
    for (const auto refresh : refreshes) {
      INFO(t.name << ", bursts of " << h.burst_ns << " ns, refresh " << static_cast<int>(refresh));
      h.refresh = refresh;
      const removal r = remove_limits(h, as(t.of));
      check_sum(r);
      if (look) look(t, refresh, r);
      add(c, r);
    }
  }
  return c;
}

/// Checks traffic against what docs/hbm.md tells of it.
visitor told_by(const told_of& page) {
  return [&page](const share_traffic& t, config::hbm_refresh refresh, const removal& r) {
    std::vector<lost_cause> except;
    for (const told& row : page.shares)
      if (names(row, t.name, refresh)) except.push_back(row.cause);
    if (!except.empty()) {
      const auto same = [&](const overlap& row) { return names(row, t.name, refresh); };
      CHECK(has_no_account(r) == std::any_of(page.no_account.begin(), page.no_account.end(), same));
    }
    check_shares(r, except);
  };
}

pattern as_reads(pattern of) { return of; }

/// Of all three mixes.
counts count_all(const config::hbm_block& h) {
  counts all;
  for (pattern (*as)(pattern) : {as_reads, writes, half_writes}) {
    const counts c = count_shares(h, as);
    all = {all.shares + c.shares, all.do_not + c.do_not, all.no_account + c.no_account};
  }
  return all;
}

}  // namespace

// Counts of HBM3 add up to those above the table of docs/hbm.md, those of the others stand below it.
TEST_CASE("lost time: of reads every share comes back but those that docs/hbm.md tells of") {
  CHECK(count_shares(test::hbm3(), as_reads, told_by(reads)) == counts{39, 5, 3});
}
TEST_CASE("lost time: of writes every share comes back but those that docs/hbm.md tells of") {
  CHECK(count_shares(test::hbm3(), writes, told_by(only_writes)) == counts{40, 3, 1});
}
TEST_CASE("lost time: with half writes every share comes back but those that docs/hbm.md tells of") {
  CHECK(count_shares(test::hbm3(), half_writes, told_by(mixed)) == counts{50, 18, 14});
}

TEST_CASE("lost time: of HBM2 as many shares come back as docs/hbm.md says", "[long]") {
  CHECK(count_all(test::hbm2()) == counts{87, 4, 0});
}
TEST_CASE("lost time: of HBM3E as many shares come back as docs/hbm.md says", "[long]") {
  CHECK(count_all(test::hbm3e()) == counts{129, 42, 38});
}
TEST_CASE("lost time: of HBM4 as many shares come back as docs/hbm.md says", "[long]") {
  CHECK(count_all(test::hbm4()) == counts{120, 34, 29});
}
