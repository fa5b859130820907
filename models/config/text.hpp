// SPDX-License-Identifier: Apache-2.0
// Strict parsers of user input, common to --set, flags and files. A sign, a fraction, an
// exponent, a blank or trailing letters in a count are refused, never rounded or wrapped.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace diecast::config {

/// Decimal digits only, at most 2^64 - 1.
[[nodiscard]] std::optional<std::uint64_t> parse_count(std::string_view text);

/// A count of bytes: digits with an optional suffix B, KiB, MiB or GiB ("96KiB").
[[nodiscard]] std::optional<std::uint64_t> parse_size(std::string_view text);

/// A finite decimal number, with fraction and exponent if any.
[[nodiscard]] std::optional<double> parse_real(std::string_view text);

/// The value of a command-line flag. Throws user_error with the flag, the text and the expectation.
[[nodiscard]] std::uint64_t count_argument(std::string_view flag, std::string_view text,
                                           std::uint64_t least = 0, std::uint64_t most = UINT64_MAX);
[[nodiscard]] std::uint64_t size_argument(std::string_view flag, std::string_view text,
                                          std::uint64_t least = 0, std::uint64_t most = UINT64_MAX);
[[nodiscard]] double real_argument(std::string_view flag, std::string_view text, double least, double most);

/// Shell-style match of an instance path; `*` also spans dots.
[[nodiscard]] bool matches(const std::string& glob, const std::string& path);

/// Edits (insert, delete, replace, swap of neighbors) that turn one word into the other.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

/// The candidate that begins with `word` or with which `word` begins, three letters at least, of the nearest
/// length; else the one with the fewest edits to `word`, if at most a third of its length (two at least). The
/// first of several; empty when none is that near.
[[nodiscard]] std::string nearest(std::string_view word, std::span<const std::string> candidates);

/// The parts between separators; as many as separators plus one.
[[nodiscard]] std::vector<std::string> split(std::string_view text, char separator);

/// "a, b, c"
[[nodiscard]] std::string join(std::span<const std::string> words);

// Suggestions for unknown names: the known name that was probably meant.

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
