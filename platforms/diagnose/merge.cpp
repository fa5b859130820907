// SPDX-License-Identifier: Apache-2.0
// How the findings of several experiments add up.
#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <initializer_list>
#include <set>
#include <utility>

#include "platforms/diagnose/findings.hpp"

namespace diecast::diagnose {
namespace {

/// Evidence of the losers goes to the winner, if there is one.
void absorb(std::vector<finding>& findings, const std::string& winner,
            std::initializer_list<const char*> losers) {
  const auto to = std::ranges::find(findings, winner, &finding::kind);
  if (to == findings.end()) return;
  std::vector<evidence> evidence;
  for (const char* loser : losers)
    for (const finding& f : findings)
      if (f.kind == loser) evidence.insert(evidence.end(), f.evidence.begin(), f.evidence.end());
  to->evidence.insert(to->evidence.end(), evidence.begin(), evidence.end());
  std::erase_if(findings,
                [&](const finding& f) { return std::ranges::find(losers, f.kind) != losers.end(); });
}

/// Gives a class its last name.
void rename(std::vector<finding>& findings, const char* from, const char* to) {
  for (finding& f : findings)
    if (f.kind == from) f.kind = to;
}

/// Packets that left and never came: on a link that stands still when they are still there, else lost.
void place_missing(std::vector<finding>& findings) {
  const bool stuck = names(findings, "stuck_packets");
  const bool credits = names(findings, "lost_credit");
  const bool lost = names(findings, "drop");
  for (finding& f : findings) {
    if (f.kind != "missing_packets") continue;
    if (stuck && is_link(f.where)) {
      f.kind = "link_down";
    } else if (credits && !lost) {
      f.kind = "lost_credit";
    } else {
      f.kind = "drop";
    }
  }
  absorb(findings, "link_down", {"stuck_packets"});
}

/// What a link is seen to bring out of order is late, twice or lost there: what somebody complains of.
void name_disorder(std::vector<finding>& findings) {
  constexpr std::array kinds{"reorder", "duplicate", "link_down", "drop", "gap"};
  for (finding& f : findings) {
    if (f.kind != disordered) continue;
    const auto there = std::ranges::find_if(findings, [&](const finding& g) {
      return g.where == f.where && std::ranges::find(kinds, g.kind) != kinds.end();
    });
    const auto any = std::ranges::find_if(kinds, [&](const char* kind) { return names(findings, kind); });
    if (there != findings.end()) {
      f.kind = there->kind;
    } else if (any != kinds.end()) {
      f.kind = *any;
    }
  }
}

/// Pieces of evidence of one finding: what many PEs behind a link show is much the same.
constexpr std::size_t enough = 4;

/// What a piece of evidence says, whatever the experiment, the numbers and the numbered places.
std::string gist_of(const evidence& e) {
  std::string gist = e.text;
  std::erase_if(gist, [](unsigned char c) { return std::isdigit(c) != 0; });
  return gist;
}

/// The last piece of evidence that says what one before it says; the end when each says something else.
std::vector<evidence>::iterator said_before(std::vector<evidence>& all) {
  auto again = all.end();
  std::set<std::string> said;
  for (auto it = all.begin(); it != all.end(); ++it)
    if (!said.insert(gist_of(*it)).second) again = it;
  return again;
}

/// Where there is enough evidence, what says the same again gives way to what nothing says yet.
void add_piece(std::vector<evidence>& all, const evidence& piece) {
  if (all.size() < enough) return all.push_back(piece);
  const bool known =
      std::ranges::any_of(all, [gist = gist_of(piece)](const evidence& e) { return gist_of(e) == gist; });
  const auto again = said_before(all);
  if (!known && again != all.end()) *again = piece;
}

/// Adds the evidence of one finding to another of its class, which stays as hidden as it is.
void add_evidence(finding& to, const finding& from) {
  for (const evidence& e : from.evidence) add_piece(to.evidence, e);
  if (to.workaround.empty()) to.workaround = from.workaround;
  if (to.part.empty()) to.part = from.part;
  to.counted = to.counted || from.counted;
}

auto of_same_class(std::vector<finding>& findings, const finding& f) {
  return std::ranges::find_if(
      findings, [&f](const finding& known) { return known.kind == f.kind && known.where == f.where; });
}

/// Findings that have come to be of one class at one place are one: the first, as in merge().
void join(std::vector<finding>& findings) {
  std::vector<finding> joined;
  for (finding& f : findings) {
    const auto same = of_same_class(joined, f);
    if (same == joined.end()) {
      joined.push_back(std::move(f));
    } else {
      add_evidence(*same, f);
    }
  }
  findings = std::move(joined);
}

/// What a link does shows at the PEs behind it: where a link is known to do it, they are not to blame for
/// what can have come over it.
void blame_links(std::vector<finding>& findings) {
  for (const char* kind : {"bit_flip", "reorder", "duplicate", "drop", "gap", "lost_credit", "late_credit"}) {
    for (std::size_t i = 0; i < findings.size(); ++i) {
      if (findings[i].kind != kind || !is_link(findings[i].where)) continue;
      for (std::size_t k = findings.size(); k-- > 0;) {
        const finding& other = findings[k];
        if (k == i || other.kind != kind) continue;
        const bool behind = !is_link(other.where) && !other.counted &&
                            std::ranges::any_of(other.evidence, [&](const evidence& e) {
                              return may_have_crossed(e, findings[i].where);
                            });
        if (!behind) continue;
        add_evidence(findings[i], other);
        if (k < i) findings[i].hidden = other.hidden;  // it was shown first
        findings.erase(findings.begin() + static_cast<std::ptrdiff_t>(k));
        if (k < i) --i;
      }
    }
  }
}

/// What is lost only when messages follow each other at once was not flushed in time, wherever it shows.
void overrun_to_barrier(std::vector<finding>& findings) {
  if (!names(findings, overrun)) return;
  for (const char* effect : {"drop", "miscounted_message", "gap", "half_message", "stuck_packets",
                             "missing_packets", "hang", "dead_pe", "deadlock_cycle", disordered}) {
    const auto lost = std::ranges::find_if(
        findings, [effect](const finding& f) { return f.kind == effect && is_link(f.where); });
    for (finding& f : findings)
      if (f.kind == overrun && f.where.empty() && lost != findings.end()) f.where = lost->where;
    absorb(findings, overrun, {effect});
  }
  rename(findings, overrun, "premature_barrier");
}

}  // namespace

void merge(std::vector<finding>& findings, std::vector<finding> more) {
  for (finding& f : more) {
    const auto same = of_same_class(findings, f);
    if (same == findings.end()) {
      findings.push_back(std::move(f));
      continue;
    }
    if (same->part.find(f.part) == std::string::npos) same->part += (same->part.empty() ? "" : ", ") + f.part;
    same->counted = same->counted || f.counted;
    // Hidden stays what was hidden in the run that showed it first: an experiment is not the job as given.
    if (same->workaround.empty()) same->workaround = f.workaround;
    for (const evidence& e : f.evidence) add_piece(same->evidence, e);
  }
}

void sort_by_gravity(std::vector<finding>& findings) {
  const auto gravity = [](const finding& f) { return rank_of(f.kind) + (f.hidden ? class_count() : 0); };
  std::ranges::stable_sort(findings, {}, gravity);
}

void resolve(std::vector<finding>& findings) {
  place_missing(findings);
  name_disorder(findings);
  join(findings);
  blame_links(findings);
  overrun_to_barrier(findings);
  // Packets before it are missing in the one run: lost, or only late if all come in the others.
  absorb(findings, "drop", {"gap"});
  absorb(findings, "link_down", {"gap"});
  rename(findings, "gap", "reorder");
  rename(findings, disordered, "reorder");
  absorb(findings, "duplicate", {answered_twice, left_over});
  rename(findings, answered_twice, "duplicate");
  rename(findings, left_over, "unexplained_fault");
  // A credit that another overtook counts as skipped until it comes. Counters name its place best.
  absorb(findings, "overtaken_credit", {"lost_credit"});
  absorb(findings, "late_credit", {"overtaken_credit"});
  rename(findings, "overtaken_credit", "late_credit");
  // A packet that came late looks lost to the receiver of its message until it is seen under way, and one
  // that came twice leaves a message half received.
  absorb(findings, "reorder", {"half_message", "drop"});
  absorb(findings, "duplicate", {"half_message"});
  // Who waits for a signal that never comes holds up the rest of the team, each waiting for another.
  for (const char* cause :
       {"stale_cache_line", "signal_without_flush", "infinite_poll", "lost_signal", "counts_apart"})
    absorb(findings, cause, {"deadlock_cycle", "dead_pe", "hang"});
  // Who waits for a credit that was lost holds up the others.
  absorb(findings, "lost_credit", {"deadlock_cycle"});
  // What counts messages on the wrong queue pair counts credits there, too.
  absorb(findings, "miscounted_message", {"lost_credit"});
  // Who waits for a message that was lost, or follows one that came twice, sleeps.
  for (const char* cause : {"drop", "duplicate", "reorder", "link_down", "dead_pe", "tag_list_race"})
    absorb(findings, cause, {"hang"});
  absorb(findings, "drop", {"half_message", "stuck_packets", "missing_packets"});
  absorb(findings, "link_down",
         {"half_message", "stuck_packets", "missing_packets", "drop", "lost_credit", "late_credit"});
  absorb(findings, "link_degraded", {"late_credit"});
  if (names(findings, "lost_credit") && !names(findings, "link_down")) {
    const bool hidden = std::ranges::all_of(findings, [](const finding& f) { return f.hidden; });
    for (finding& f : findings)
      if (f.kind == "lost_credit") f.hidden = hidden;
  }
  join(findings);
  sort_by_gravity(findings);
}

}  // namespace diecast::diagnose
