// SPDX-License-Identifier: Apache-2.0
// Names that are not known, and the known one that was probably meant.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace diecast::config {

/// "no such pattern; did you mean ring_1d?"
[[nodiscard]] std::string did_you_mean(std::string_view what, std::string_view near);

/// "no such pattern; did you mean ring_1d?": `what`, and the known name that means `word` in other
/// tools, or that is nearest to it, if one is.
[[nodiscard]] std::string with_nearest(std::string_view what, std::string_view word,
                                       std::span<const std::string> known);

/// The size that was meant by a text which is none, as parse_size() reads it: "64KiB" for 64KB, 64k and
/// 64Kib. Empty when no size is near.
[[nodiscard]] std::string nearest_size(std::string_view text);

}  // namespace diecast::config
