// SPDX-License-Identifier: Apache-2.0
// The classes of findings: what each means and which is said first.
#pragma once

#include <cstddef>
#include <string>

namespace diecast::diagnose {

/// Markdown of docs/verdicts.md: every class and what it means, in the order in which they are said.
[[nodiscard]] std::string verdicts_markdown();

/// In a sentence.
[[nodiscard]] const char* meaning_of(const std::string& kind);

/// Place in the order of what is said first, by how certain and how grave a class is; unknown ones last.
[[nodiscard]] std::size_t rank_of(const std::string& kind);
/// One more than any rank_of().
[[nodiscard]] std::size_t class_count();

}  // namespace diecast::diagnose
