// SPDX-License-Identifier: Apache-2.0
#include "models/analysis/barrier_checker.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <fmt/format.h>
#include <map>
#include <set>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "models/comm/sync_layout.hpp"
#include "models/types/enum_name.hpp"
#include "models/types/error.hpp"

namespace diecast::analysis {
namespace {

/// The barrier's name after a mark's words.
std::string_view name_in(std::string_view mark, std::string_view words) {
  mark.remove_prefix(words.size());
  if (mark.starts_with(' ')) mark.remove_prefix(1);
  return mark;
}

}  // namespace

void barrier_checker::expect(const std::string& name, const std::vector<pe_coord>& members,
                             const std::vector<std::uint32_t>& ranks) {
  auto& rank_of = barriers_[name];
  rank_of.clear();
  for (std::size_t i = 0; i < members.size(); ++i) rank_of.emplace(members[i], ranks[i]);
}

void barrier_checker::next_launch() {
  ++launch_;
  std::erase_if(calls_, [this](const auto& at) {
    const bool known = at.second.entered.empty() && at.second.left.empty();
    if (known) earlier_.add(at.second.known);
    return known;
  });
}

void barrier_checker::on(const events::step_entered& e) {
  const bool enters = e.name.starts_with(enter);
  if (!enters && !e.name.starts_with(left)) return;
  const std::string_view name = name_in(e.name, enters ? enter : left);
  const auto at = barriers_.find(name);
  if (at == barriers_.end())
    throw formatted<std::logic_error>("a PE marks barrier \"{}\", which is not registered", name);
  if (!at->second.contains(e.pe))
    throw formatted<std::logic_error>("{} marks barrier \"{}\", of which it is no member",
                                      pe_path(shape_, e.pe), name);
  const call_key key{at->first, launch_, e.index};
  call& c = calls_[key];
  (enters ? c.entered : c.left).emplace_back(e.at, e.pe);
  if (std::min(c.entered.size(), c.left.size()) == at->second.size()) c = {{}, {}, judge(key, c)};
}

void barrier_checker::add(const barrier_checker& other) {
  earlier_.add(other.earlier_);
  for (const auto& [key, c] : other.calls_) {
    call& own = calls_[key];
    own.entered.insert(own.entered.end(), c.entered.begin(), c.entered.end());
    own.left.insert(own.left.end(), c.left.begin(), c.left.end());
    own.known.add(c.known);
  }
}

void barrier_checker::judgment::add(const judgment& other) {
  seen.entered += other.seen.entered;
  seen.left += other.seen.left;
  seen.escapes += other.seen.escapes;
  seen.escaped_ranks += other.seen.escaped_ranks;
  if (other.first < first) std::tie(first, first_text) = std::tie(other.first, other.first_text);
}

barrier_checker::judgment barrier_checker::judge(const call_key& key, const call& c) const {
  const auto& ranks = barriers_.at(key.name);
  std::map<pe_coord, sim_time> entered;
  sim_time last;
  for (const auto& [at, pe] : c.entered)
    if (entered.emplace(pe, at).second) last = std::max(last, at);
  if (entered.size() < ranks.size()) last = sim_time::never();
  judgment j{{c.entered.size(), c.left.size()}};
  std::set<std::uint32_t> escaped;
  for (const mark& m : c.left) {
    if (last <= m.first) continue;
    ++j.seen.escapes;
    escaped.insert(ranks.at(m.second));
    j.first = std::min(j.first, m);
  }
  j.seen.escaped_ranks = escaped.size();
  if (j.seen.escapes == 0) return j.add(c.known), j;
  const auto& [when, who] = j.first;
  const auto missing = [&entered, &at = when](const auto& member) {
    const auto entry = entered.find(member.first);
    return entry == entered.end() || entry->second > at;
  };
  j.first_text = fmt::format(
      "{} left barrier {}{}{} of its launch at {:.3f} ns; {} of {} PEs had not entered it, {} among them",
      pe_path(shape_, who), key.name, key.name.empty() ? "" : " ", key.number, when.ns(),
      std::ranges::count_if(ranks, missing), ranks.size(),
      pe_path(shape_, std::ranges::find_if(ranks, missing)->first));
  j.add(c.known);
  return j;
}

barrier_checker::judgment barrier_checker::all() const {
  judgment sum = earlier_;
  for (const auto& [key, c] : calls_) sum.add(judge(key, c));
  return sum;
}

barrier_checker::verdict barrier_checker::of(const std::string& name, std::uint32_t first,
                                             std::uint32_t count) const {
  judgment sum;
  for (auto at = calls_.lower_bound({name, launch_, first});
       at != calls_.end() && at->first.name == name && at->first.launch == launch_ &&
       at->first.number - first < count;
       ++at)
    sum.add(judge(at->first, at->second));
  return sum.seen;
}

std::string barrier_checker::complaint(const std::string& name, const verdict& seen, std::uint64_t calls) {
  if (seen.escapes > 0) return fmt::format("barrier {}: {} times a PE left it too early", name, seen.escapes);
  if (seen.entered == calls && seen.left == calls) return {};
  return fmt::format("barrier {}: PEs entered it {} times and left it {} times; expected {} of both", name,
                     seen.entered, seen.left, calls);
}

namespace {

constexpr std::uint64_t word_bytes = sizeof(std::uint64_t);

std::string copy_text(const std::optional<cached_word>& c) {
  if (!c) return "does not hold the line";
  return fmt::format("holds {}{}", c->value, c->dirty ? " (dirty)" : "");
}

/// How far `count` is ahead of `other`; counts wrap.
std::int32_t ahead(std::uint64_t count, std::uint64_t other) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(count) - static_cast<std::uint32_t>(other));
}

/// A flag is at most one barrier ahead of a PE that waits for it, and may be many behind: algorithms that
/// alternate in a team use different flags.
bool flag_is_far_ahead(const watched_word& w) { return ahead(w.memory, w.wanted.value) > 1; }

/// By how many barriers the writer, which waits in the same team, too, is ahead of the waiter.
std::optional<std::int32_t> lead_of_writer(const watched_word& w) {
  if (!w.writer_waits || !w.writer_waits->or_next) return std::nullopt;
  const auto slot = comm::team_slot_of(w.wanted.at);
  if (!slot || slot != comm::team_slot_of(w.writer_waits->at)) return std::nullopt;
  return ahead(w.writer_waits->value, w.wanted.value);
}

/// A writer in a later barrier has passed the wanted one without signaling; one that is two barriers behind
/// cannot have let the waiter reach its barrier.
bool counts_are_apart(const watched_word& w) {
  const auto lead = lead_of_writer(w);
  return flag_is_far_ahead(w) || (lead && (*lead > 0 || *lead < -1));
}

}  // namespace

std::optional<cached_word> word_in(const protocol::data_cache& cache, abi::address at) {
  const protocol::data_cache::line* const line = cache.find(at);
  if (line == nullptr) return std::nullopt;
  cached_word word{0, line->dirty};
  std::memcpy(&word.value, line->bytes.data() + (at - line->at), sizeof word.value);
  return word;
}

word_finding finding_of(const watched_word& w) {
  const abi::signal_watch& s = w.wanted;
  if (s.satisfied_by(w.memory)) return w.own ? word_finding::stale_line : word_finding::unanswered_load;
  if (w.writer && w.writer->dirty && s.satisfied_by(w.writer->value)) return word_finding::unflushed_signal;
  if (w.history && s.satisfied_by(w.history->value) && w.history->written_back) {
    return word_finding::lost_signal;
  }
  const bool is_next = static_cast<std::uint32_t>(w.memory) == static_cast<std::uint32_t>(s.value + 1);
  if (s.how == abi::compare::eq && is_next) return word_finding::overlooked_signal;
  // Only waits of barriers have related counts.
  if (s.or_next && counts_are_apart(w)) return word_finding::counts_apart;
  return word_finding::not_signaled;
}

namespace {

std::string apart_text(const machine_shape& shape, const watched_word& w) {
  const std::string writer = pe_path(shape, w.wanted.expected_writer);
  const std::string how =
      flag_is_far_ahead(w)
          ? fmt::format("the flag of {} is {} barriers ahead", writer, ahead(w.memory, w.wanted.value))
      : *lead_of_writer(w) > 0 ? fmt::format("{} already waits for {} and never stored {}", writer,
                                             w.writer_waits->value, w.wanted.value)
                               : fmt::format("{} still waits for {}", writer, w.writer_waits->value);
  return how +
         "; members with equal counters are never this far apart: a counter was loaded too late, or the "
         "slot's flags and counter were not cleared";
}

std::string verdict(const machine_shape& shape, const watched_word& w, word_finding f) {
  const std::string writer = pe_path(shape, w.wanted.expected_writer);
  switch (f) {
    case word_finding::stale_line:
      return fmt::format("missing operation: dcci_line({:#018x}) on {} before its load",
                         protocol::line_of(w.wanted.at), pe_path(shape, w.pe));
    case word_finding::unanswered_load:
      return "its load of the line is not answered: it is under way, lost or held, or its core has stopped";
    case word_finding::unflushed_signal:
      return fmt::format(
          "the data cache of {} {}; missing operation: dcci_line({:#018x}) there after the store", writer,
          copy_text(w.writer), protocol::line_of(w.wanted.at));
    case word_finding::lost_signal: {
      const word_history& h = *w.history;
      const std::string by = h.overwritten_by
                                 ? fmt::format("{} wrote the whole line back over it at {:.3f} ns",
                                               pe_path(shape, *h.overwritten_by), h.overwritten_at.ns())
                                 : std::string("another write-back of the line came after it");
      return fmt::format(
          "{} stored {} at {:.3f} ns and wrote it back; {}: words with several writers share the line",
          pe_path(shape, h.stored_by), h.value, h.stored_at.ns(), by);
    }
    case word_finding::overlooked_signal:
      return fmt::format("{} has signaled and is one count ahead; {} must also accept {}", writer,
                         pe_path(shape, w.pe), static_cast<std::uint32_t>(w.wanted.value + 1));
    case word_finding::counts_apart: return apart_text(shape, w);
    case word_finding::not_signaled:
      return fmt::format("{} has not stored it (its data cache {})", writer, copy_text(w.writer));
  }
  return {};
}

}  // namespace

std::string to_string(word_finding f) {
  std::string text = enum_name(f);
  std::ranges::replace(text, '_', ' ');
  return text;
}

word_report explain_word(const machine_shape& shape, const watched_word& w) {
  const word_finding f = finding_of(w);
  const abi::signal_watch& s = w.wanted;
  const std::string wanted = s.or_next
                                 ? fmt::format("{} or {}", s.value, static_cast<std::uint32_t>(s.value + 1))
                                 : fmt::format("{}", s.value);
  return {
      w.pe, f, protocol::line_of(s.at),
      fmt::format(
          "{}: {} waits until the word at {} is {} {}: line {:#018x}, its data cache {}, memory holds {}; {}",
          to_string(f), pe_path(shape, w.pe), abi::describe(s.at), abi::to_string(s.how), wanted,
          protocol::line_of(s.at), copy_text(w.own), w.memory, verdict(shape, w, f))};
}

namespace {

/// Ranks of one team are never more than one barrier apart: waits of one slot for counts further apart mean
/// that the slot's flags and counters come from another team. (A slot of core barriers serves many groups of
/// cores, which count for themselves.)
std::string disagreements(const machine_shape& shape, const std::vector<watched_word>& words) {
  std::map<std::uint32_t, const watched_word*> first;  // by team slot
  std::string text;
  for (const watched_word& w : words) {
    const auto slot = comm::team_slot_of(w.wanted.at);
    if (!slot || !w.wanted.among_ranks) continue;
    const watched_word& other = *first.try_emplace(*slot, &w).first->second;
    const auto apart = static_cast<std::uint32_t>(w.wanted.value - other.wanted.value);
    if (apart + 1U <= 2U) continue;  // -1, 0 or 1
    text += fmt::format(
        "counters disagree: in team slot {} {} waits for {} and {} for {}: flags and counter of the slot "
        "were not cleared for this team, or a counter was loaded too late\n",
        *slot, pe_path(shape, other.pe), other.wanted.value, pe_path(shape, w.pe), w.wanted.value);
    break;
  }
  return text;
}

}  // namespace

std::string explain_words(const machine_shape& shape, const std::vector<watched_word>& words,
                          std::size_t unsignaled) {
  std::array<std::vector<word_report>, word_findings> by_finding;
  for (const watched_word& w : words) {
    word_report r = explain_word(shape, w);
    by_finding[static_cast<std::size_t>(r.finding)].push_back(std::move(r));
  }
  std::string text = disagreements(shape, words);
  for (const auto& reports : by_finding) {
    if (reports.empty()) continue;
    const bool defect = reports[0].finding != word_finding::not_signaled;
    const std::size_t most = defect ? 4 : text.empty() ? unsignaled : 0;
    for (std::size_t i = 0; i < std::min(most, reports.size()); ++i) text += reports[i].text + "\n";
    if (reports.size() > most)
      text += fmt::format("  and {} more: {}\n", reports.size() - most, to_string(reports[0].finding));
  }
  return text;
}

void line_history::on(const events::memory_event& e) {
  if (e.phase == events::memory_phase::store && e.bytes.size() == word_bytes) {
    word_history h{e.pe, 0, e.at, false, {}, {}};
    std::memcpy(&h.value, e.bytes.data(), word_bytes);
    words_[e.address] = {h, {}};
    return;
  }
  if (e.phase != events::memory_phase::write_back) return;
  for (std::size_t offset = 0; offset + word_bytes <= e.bytes.size(); offset += word_bytes) {
    word_log& w = words_[e.address + offset];
    std::uint64_t value = 0;
    std::memcpy(&value, e.bytes.data() + offset, word_bytes);
    w.written_back[{e.pe, value}] = e.at;
    if (w.last && w.last->stored_by == e.pe && w.last->value == value) w.last->written_back = true;
  }
}

std::optional<word_history> line_history::of(abi::address word) const {
  const auto at = words_.find(word);
  if (at == words_.end() || !at->second.last) return std::nullopt;
  word_history h = *at->second.last;
  for (const auto& [what, when] : at->second.written_back) {
    const auto& [pe, value] = what;
    if (pe == h.stored_by || value == h.value || when <= h.stored_at || when < h.overwritten_at) continue;
    h.overwritten_by = pe;
    h.overwritten_at = when;
  }
  return h;
}

void line_history::add(const line_history& other) {
  const auto key = [](const word_history& h) { return std::pair(h.stored_at, h.stored_by); };
  for (const auto& [at, theirs] : other.words_) {
    word_log& w = words_[at];
    if (theirs.last && (!w.last || key(*w.last) < key(*theirs.last))) w.last = theirs.last;
    w.written_back.insert(theirs.written_back.begin(), theirs.written_back.end());
  }
}

}  // namespace diecast::analysis
