// SPDX-License-Identifier: Apache-2.0
// The findings of one observation, and merging those of several.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "platforms/diagnose/experiment_runner.hpp"
#include "platforms/diagnose/places.hpp"

namespace diecast::diagnose {

/// Disables the list of the tag-matching unit: firmware matches every message.
inline constexpr const char* software_matching = "tag_match.entries=0";

/// Class, until resolve(), of bytes that are lost only when messages follow each other.
inline constexpr const char* overrun = "overrun";

/// Class, until resolve(), of packets that leave a link out of order: one of them was late, or is lost.
inline constexpr const char* disordered = "disordered";

/// Classes, until resolve(), of the effects of a doubled message elsewhere: its sender gets two answers, and
/// a program has messages left that no receive takes.
inline constexpr const char* answered_twice = "answered_twice";
inline constexpr const char* left_over = "left_over";

struct finding {
  std::string kind;   ///< class of fault: "drop"
  std::string where;  ///< instance path as configs spell it; empty when unknown
  std::string part;   ///< a queue pair or a step of a barrier there; mostly empty
  bool counted{};     ///< counters at this place show it
  bool hidden{};      ///< the fault at most costs time: results are right in the run that showed it first
  std::vector<diagnose::evidence> evidence;
  std::string workaround;
};

[[nodiscard]] finding made(std::string kind, std::string where, diagnose::evidence shown,
                           std::string workaround = "");

/// Findings of one run, the most significant first; none for a run without signs of a fault.
[[nodiscard]] std::vector<finding> signs_of(const observation& o);

/// Whether a link was slower than configured but carried too little to be judged.
[[nodiscard]] bool has_link_in_doubt(const observation& o);

/// Adds findings; evidence of a known class at the same place is appended to that.
void merge(std::vector<finding>& findings, std::vector<finding> more);

/// Sorts by certainty and severity of the class, hidden findings last.
void sort_by_gravity(std::vector<finding>& findings);

/// Drops findings that another one explains, and sorts by gravity.
void resolve(std::vector<finding>& findings);

[[nodiscard]] bool names(const std::vector<finding>& findings, const std::string& kind);

// The classes of findings: their meanings and their order in reports.

/// Markdown of docs/verdicts.md: every class and its meaning, in the order of reports.
[[nodiscard]] std::string verdicts_markdown();

/// Meaning of a class in a sentence.
[[nodiscard]] const char* meaning_of(const std::string& kind);

/// Place of a class in the order of reports, by certainty and severity; unknown ones last.
[[nodiscard]] std::size_t rank_of(const std::string& kind);
/// One more than any rank_of().
[[nodiscard]] std::size_t class_count();

}  // namespace diecast::diagnose
