// SPDX-License-Identifier: Apache-2.0
// What one observation says is wrong, and how findings of several add up.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "platforms/diagnose/experiment_runner.hpp"
#include "platforms/diagnose/places.hpp"

namespace diecast::diagnose {

/// Takes the list of the tag-matching unit away: firmware matches every message.
inline constexpr const char* software_matching = "tag_match.entries=0";

/// Class, until resolve(), of what is lost when messages follow each other, and only then.
inline constexpr const char* overrun = "overrun";

/// Class, until resolve(), of packets that a link has brought out of order: one of them was late, or is lost.
inline constexpr const char* disordered = "disordered";

/// Classes, until resolve(), of what a message that came twice does elsewhere: its sender is answered twice,
/// and a program has messages left that nobody asked for.
inline constexpr const char* answered_twice = "answered_twice";
inline constexpr const char* left_over = "left_over";

struct finding {
  std::string kind;   ///< class of fault: "drop"
  std::string where;  ///< instance path as configs spell it; empty when unknown
  std::string part;   ///< a direction of queue pairs or a step of a barrier there; mostly empty
  bool counted{};     ///< counters at this very place show it
  bool hidden{};      ///< costs time at most: results are right in the run that showed it first
  std::vector<diagnose::evidence> evidence;
  std::string workaround;
};

[[nodiscard]] finding made(std::string kind, std::string where, diagnose::evidence shown,
                           std::string workaround = "");

/// Signs within one run, most telling first. Nothing of a run that looks right.
[[nodiscard]] std::vector<finding> signs_of(const observation& o);

/// Whether a link was slower than configured and carried so little that this says nothing of it.
[[nodiscard]] bool has_link_in_doubt(const observation& o);

/// Adds what is new; evidence of a known class at the same place is appended to it.
void merge(std::vector<finding>& findings, std::vector<finding> more);

/// In the order of what is said first: what is most certain and gravest, and what is hidden behind all that
/// is not.
void sort_by_gravity(std::vector<finding>& findings);

/// Drops what another finding explains, and sorts by gravity.
void resolve(std::vector<finding>& findings);

[[nodiscard]] bool names(const std::vector<finding>& findings, const std::string& kind);

// The classes of findings: what each means and which is said first.

/// Markdown of docs/verdicts.md: every class and what it means, in the order in which they are said.
[[nodiscard]] std::string verdicts_markdown();

/// In a sentence.
[[nodiscard]] const char* meaning_of(const std::string& kind);

/// Place in the order of what is said first, by how certain and how grave a class is; unknown ones last.
[[nodiscard]] std::size_t rank_of(const std::string& kind);
/// One more than any rank_of().
[[nodiscard]] std::size_t class_count();

}  // namespace diecast::diagnose
