// SPDX-License-Identifier: Apache-2.0
// Names that are not known, and the known one that was probably meant.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace diecast::config {

/// "no such pattern; did you mean ring_1d?"
[[nodiscard]] std::string did_you_mean(std::string_view what, std::string_view near);

/// "no such pattern; did you mean ring_1d?": `what`, and the known name nearest to `word` if one is near.
[[nodiscard]] std::string with_nearest(std::string_view what, std::string_view word,
                                       std::span<const std::string> known);

}  // namespace diecast::config
