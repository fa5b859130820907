// SPDX-License-Identifier: Apache-2.0
#include "models/analysis/barrier_checker.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <stdexcept>
#include <utility>

namespace diecast::analysis {
namespace {

/// The barrier's name behind a mark's words.
std::string_view name_in(std::string_view mark, std::string_view words) {
  mark.remove_prefix(words.size());
  if (mark.starts_with(' ')) mark.remove_prefix(1);
  return mark;
}

}  // namespace

void barrier_checker::expect(const std::string& name, const std::vector<pe_coord>& members,
                             const std::vector<std::uint32_t>& ranks) {
  barrier& b = barriers_[name];
  b.members.clear();
  for (std::size_t i = 0; i < members.size(); ++i) b.members.emplace(members[i], ranks[i]);
}

void barrier_checker::next_launch() {
  for (auto& [name, b] : barriers_) b.calls.clear();
}

barrier_checker::barrier& barrier_checker::named(std::string_view name, pe_coord pe) {
  const auto at = barriers_.find(name);
  if (at == barriers_.end()) {
    throw std::logic_error(fmt::format("a PE marks barrier \"{}\", which is not registered", name));
  }
  if (!at->second.members.contains(pe)) {
    throw std::logic_error(
        fmt::format("{} marks barrier \"{}\", of which it is no member", pe_path(shape_, pe), name));
  }
  return at->second;
}

void barrier_checker::on(const events::step_entered& e) {
  if (e.name.starts_with(enter)) return entered(named(name_in(e.name, enter), e.pe), e);
  if (!e.name.starts_with(left)) return;
  const std::string_view name = name_in(e.name, left);
  has_left(name, named(name, e.pe), e);
}

void barrier_checker::entered(barrier& b, const events::step_entered& e) {
  call& c = b.calls[e.index];
  ++c.seen.entered;
  if (c.when_entered.emplace(e.pe, e.at).second) c.last_entered = std::max(c.last_entered, e.at);
}

void barrier_checker::has_left(std::string_view name, barrier& b, const events::step_entered& e) {
  call& c = b.calls[e.index];
  ++c.seen.left;
  // A mark bears the time of the firmware's own clock, which runs ahead of the event that brings it.
  if (c.when_entered.size() < b.members.size() || c.last_entered > e.at) {
    ++escapes_;
    ++c.seen.escapes;
    if (c.escaped.insert(b.members.at(e.pe)).second) {
      ++escaped_ranks_;
      ++c.seen.escaped_ranks;
    }
    if (first_escape_.empty()) {
      first_escaped_ = e.pe;
      const auto missing = [&](const auto& member) {
        const auto at = c.when_entered.find(member.first);
        return at == c.when_entered.end() || at->second > e.at;
      };
      const auto absent = std::find_if(b.members.begin(), b.members.end(), missing);
      const auto open = std::count_if(b.members.begin(), b.members.end(), missing);
      first_escape_ = fmt::format(
          "{} left barrier {}{}{} of its launch at {:.3f} ns; {} of {} PEs had not entered "
          "it, {} among them",
          pe_path(shape_, e.pe), name, name.empty() ? "" : " ", e.index, e.at.ns(), open, b.members.size(),
          pe_path(shape_, absent->first));
    }
  }
  if (c.seen.left == b.members.size()) c.when_entered.clear();
}

barrier_checker::verdict barrier_checker::of(const std::string& name, std::uint32_t first,
                                             std::uint32_t count) const {
  verdict sum;
  const auto& calls = barriers_.at(name).calls;
  for (auto at = calls.lower_bound(first); at != calls.end() && at->first - first < count; ++at) {
    sum.entered += at->second.seen.entered;
    sum.left += at->second.seen.left;
    sum.escapes += at->second.seen.escapes;
    sum.escaped_ranks += at->second.seen.escaped_ranks;
  }
  return sum;
}

std::string barrier_checker::complaint(const std::string& name, const verdict& seen, std::uint64_t calls) {
  if (seen.escapes > 0) return fmt::format("barrier {}: {} times a PE left it too early", name, seen.escapes);
  if (seen.entered == calls && seen.left == calls) return {};
  return fmt::format("barrier {}: PEs entered it {} times and left it {} times; expected {} of both", name,
                     seen.entered, seen.left, calls);
}

}  // namespace diecast::analysis
