// SPDX-License-Identifier: Apache-2.0
// Merges the findings of several experiments.
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

/// Removes the classes `losers` and moves their evidence to class `winner`, if that is among the findings.
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

/// Renames a preliminary class.
void rename(std::vector<finding>& findings, const char* from, const char* to) {
  for (finding& f : findings)
    if (f.kind == from) f.kind = to;
}

/// Classes of packets that were sent and did not arrive: link_down where they are stuck on a link, else lost.
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

/// Packets out of order on a link were late, doubled or lost there: takes the class of another finding.
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

/// Most pieces of evidence of one finding: those of many PEs that use one link are alike.
constexpr std::size_t enough = 4;

/// The text of a piece of evidence without its numbers.
std::string gist_of(const evidence& e) {
  std::string gist = e.text;
  std::erase_if(gist, [](unsigned char c) { return std::isdigit(c) != 0; });
  return gist;
}

/// The last piece of evidence with the gist of an earlier one; the end when all differ.
std::vector<evidence>::iterator said_before(std::vector<evidence>& all) {
  auto again = all.end();
  std::set<std::string> said;
  for (auto it = all.begin(); it != all.end(); ++it)
    if (!said.insert(gist_of(*it)).second) again = it;
  return again;
}

/// Adds a piece of evidence. Where there is enough, a new gist replaces a repeated one.
void add_piece(std::vector<evidence>& all, const evidence& piece) {
  if (all.size() < enough) return all.push_back(piece);
  const bool known =
      std::ranges::any_of(all, [gist = gist_of(piece)](const evidence& e) { return gist_of(e) == gist; });
  const auto again = said_before(all);
  if (!known && again != all.end()) *again = piece;
}

/// Adds the evidence of one finding to another of its class, whose `hidden` does not change.
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

/// Joins findings that now have the same class and place into the first of them, as in merge().
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

/// A fault of a link also shows at PEs that receive over it: moves findings of a class at PEs to a link that
/// has the class, if their packets may have crossed it.
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
        if (k < i) findings[i].hidden = other.hidden;  // the earlier finding was shown first
        findings.erase(findings.begin() + static_cast<std::ptrdiff_t>(k));
        if (k < i) --i;
      }
    }
  }
}

/// Bytes that are lost only when messages follow each other were not flushed in time: premature_barrier.
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
    // `hidden` is taken from the run that showed the finding first: experiments differ from the job as given.
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
  // A gap in numbers means lost packets, or only late ones if no run loses any.
  absorb(findings, "drop", {"gap"});
  absorb(findings, "link_down", {"gap"});
  rename(findings, "gap", "reorder");
  rename(findings, disordered, "reorder");
  absorb(findings, "duplicate", {answered_twice, left_over});
  rename(findings, answered_twice, "duplicate");
  rename(findings, left_over, "unexplained_fault");
  // A credit that was overtaken counts as lost until it arrives. Counters give its place most exactly.
  absorb(findings, "overtaken_credit", {"lost_credit"});
  absorb(findings, "late_credit", {"overtaken_credit"});
  rename(findings, "overtaken_credit", "late_credit");
  // A late packet looks lost to the receiver of its message until it is found in flight, and a duplicate
  // leaves a message half received.
  absorb(findings, "reorder", {"half_message", "drop"});
  absorb(findings, "duplicate", {"half_message"});
  // A PE that waits for a lost signal makes the rest of its team wait for each other.
  for (const char* cause :
       {"stale_cache_line", "signal_without_flush", "infinite_poll", "lost_signal", "counts_apart"})
    absorb(findings, cause, {"deadlock_cycle", "dead_pe", "hang"});
  // A PE that waits for a lost credit makes others wait.
  absorb(findings, "lost_credit", {"deadlock_cycle"});
  // An engine that counts messages on the wrong queue pair counts credits there, too.
  absorb(findings, "miscounted_message", {"lost_credit"});
  // A PE that waits for a lost message, or for one behind a duplicate, looks dead because it sleeps.
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
