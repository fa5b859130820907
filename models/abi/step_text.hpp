// SPDX-License-Identifier: Apache-2.0
// How a step that firmware has marked reads in reports.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace diecast::abi {

/// step_marker::index of a step that has no number.
inline constexpr std::uint32_t no_step_index = UINT32_MAX;

/// "all_gather 3", or the name alone.
inline std::string step_text(std::string_view name, std::uint32_t index) {
  std::string text{name};
  if (index == no_step_index) return text;
  text += ' ';
  text += std::to_string(index);
  return text;
}

// How the tag of a message reads in reports.

/// "tag 5 of communicator 0"; without a tag, "any tag of communicator 0".
inline std::string tag_text(std::optional<std::uint64_t> tag, std::uint64_t communicator) {
  return (tag ? "tag " + std::to_string(*tag) : "any tag") + " of communicator " +
         std::to_string(communicator);
}

}  // namespace diecast::abi
