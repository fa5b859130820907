// SPDX-License-Identifier: Apache-2.0
#include "platforms/diagnose/remedies.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <string>
#include <vector>

namespace diecast::diagnose {
namespace {

/// What is changed to see whether results are right then, and what it means when they are.
struct remedy {
  const char* name;
  const char* question;
  changes flags;
  const char* kind;
  const char* workaround;
  const char* evidence;
};

std::vector<remedy> remedies() {
  return {{"send-receive split",
           "splitting send-receive removes it",
           {"--set", "comm.sendrecv=split"},
           "sendrecv_alias",
           "comm.sendrecv=split",
           "wrong results in one call, right ones as isend, irecv and waitall; no checksum sees it"},
          {"reading later",
           "waiting between token and data removes it",
           {"--set", "ipcq.match_cycles=10000", "--set", "pe.interrupt_cycles=10000"},
           "token_before_data",
           "wait for the data: a later token (ipcq.match_cycles), or a flush before it",
           "wrong results, right ones when receivers read 20 us later; no checksum sees it"},
          {"sending later",
           "waiting between a write and its send removes it",
           {"--set", "pe.dma_startup_cycles=10000"},
           "premature_barrier",
           "flush what the core has written before the send (pe.dma_startup_cycles hides it)",
           "wrong results, right ones when sources are read 10 us later; no checksum sees it, for the stale "
           "bytes are what is sent"}};
}

double wrong_elements(const observation& o) {
  return o.run().is_object() ? o.run().value("wrong_elements", 0.0) : 0.0;
}

/// Right results, or next to none that are wrong. Other times make another packet the one that a single
/// fault meets, which changes the count by less.
bool helps(const observation& o, const observation& before) {
  constexpr double far_fewer = 100;
  return right(o) || (wrong_data(o) && wrong_elements(o) * far_fewer < wrong_elements(before));
}

std::string helped(const observation& o, const observation& before) {
  if (right(o)) return "yes";
  if (!helps(o, before)) return "no";
  return fmt::format("most of it: {:.0f} elements are wrong, {:.0f} were", wrong_elements(o),
                     wrong_elements(before));
}

void blame(trials& t, const remedy& r, bool cures) {
  finding f;
  f.kind = r.kind;
  f.workaround = r.workaround;
  f.evidence.emplace_back(r.evidence);
  t.add(std::move(f));
  t.let_stand(r.flags, cures);
}

/// Each of two may hide what the other one's remedy does.
bool two_at_once(trials& t, const std::vector<remedy>& all, const observation& before) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t k = i + 1; k < all.size(); ++k) {
      changes both = all[i].flags;
      both.insert(both.end(), all[k].flags.begin(), all[k].flags.end());
      const observation* o = t.attempt(fmt::format("{}, {}", all[i].name, all[k].name), both);
      if (o == nullptr || !helps(*o, before)) continue;
      t.answer(fmt::format("{} and {} together remove it", all[i].name, all[k].name), helped(*o, before));
      blame(t, all[i], right(*o));
      blame(t, all[k], right(*o));
      return true;
    }
  }
  return false;
}

/// Whether any helps alone. What the next one is compared with is what the last one left.
bool one_by_one(trials& t, const std::vector<remedy>& all, const observation*& before) {
  bool any = false;
  for (const remedy& r : all) {
    const observation* o = t.attempt(r.name, r.flags);
    if (o == nullptr) continue;
    t.answer(r.question, helped(*o, *before));
    if (!helps(*o, *before)) continue;
    any = true;
    blame(t, r, right(*o));
    if (right(*o)) break;
    before = o;  // another fault is left
  }
  return any;
}

}  // namespace

void try_remedies(trials& t) {
  const auto& seen = t.observations();
  const auto bad = std::find_if(seen.begin(), seen.end(), wrong_data);
  if (bad == seen.end() || t.is_barrier()) return;
  // Other times hide packets that overtake each other as well: what helps then says nothing.
  for (const char* disorder : {"gap", "reorder", "duplicate", "drop"}) {
    if (t.found(disorder)) return;
  }
  const observation* before = &*bad;
  const std::vector<remedy> all = remedies();
  if (one_by_one(t, all, before) || two_at_once(t, all, *before) || !t.all_hidden()) return;
  finding f;
  f.kind = "wrong_data";
  f.evidence.emplace_back(
      "no checksum sees it, and neither splitting send-receive nor reading or sending later "
      "removes it");
  t.add(std::move(f));
}

}  // namespace diecast::diagnose
