// SPDX-License-Identifier: Apache-2.0
#include "models/config/suggestion.hpp"

#include <fmt/format.h>

#include "models/config/text.hpp"

namespace diecast::config {

std::string did_you_mean(std::string_view what, std::string_view near) {
  return fmt::format("{}; did you mean {}?", what, near);
}

std::string with_nearest(std::string_view what, std::string_view word, std::span<const std::string> known) {
  const std::string near = nearest(word, known);
  // As many edits as letters make any word of any other of that length.
  if (near.empty() || edit_distance(word, near) >= word.size()) return std::string(what);
  return did_you_mean(what, near);
}

}  // namespace diecast::config
