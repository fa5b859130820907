// SPDX-License-Identifier: Apache-2.0
#include "models/config/text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <fnmatch.h>
#include <utility>
#include <vector>

#include "models/types/error.hpp"

namespace diecast::config {

namespace {

struct suffix {
  std::string_view text;
  unsigned shift;
};
constexpr std::array suffixes{suffix{"KiB", 10}, suffix{"MiB", 20}, suffix{"GiB", 30}, suffix{"B", 0}};

[[noreturn]] void refuse(std::string_view flag, std::string_view text, std::string expected,
                         const std::string& near = {}) {
  throw user_error(problem{std::string(flag), did_you_mean("not an accepted value", near),
                           fmt::format("'{}'", text), std::move(expected)});
}

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc{} && stop == end ? std::optional(value) : std::nullopt;
}

std::string range_words(std::uint64_t least, std::uint64_t most) {
  if (most == UINT64_MAX) return fmt::format("of at least {}", least);
  return fmt::format("from {} to {}", least, most);
}

}  // namespace

// from_chars takes "-1" into unsigned as an error but no other decoration: digits alone remain.
std::optional<std::uint64_t> parse_count(std::string_view text) { return parse_number<std::uint64_t>(text); }

std::optional<std::uint64_t> parse_size(std::string_view text) {
  for (const suffix& s : suffixes) {
    if (!text.ends_with(s.text)) continue;
    const auto value = parse_count(text.substr(0, text.size() - s.text.size()));
    if (!value || *value > UINT64_MAX >> s.shift) return std::nullopt;
    return *value << s.shift;
  }
  return parse_count(text);
}

std::optional<double> parse_real(std::string_view text) {
  const auto value = parse_number<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::uint64_t count_argument(std::string_view flag, std::string_view text, std::uint64_t least,
                             std::uint64_t most) {
  const auto value = parse_count(text);
  if (!value || *value < least || *value > most) {
    refuse(flag, text, "a whole number " + range_words(least, most));
  }
  return *value;
}

std::uint64_t size_argument(std::string_view flag, std::string_view text, std::uint64_t least,
                            std::uint64_t most) {
  const auto value = parse_size(text);
  if (!value || *value < least || *value > most) {
    refuse(
        flag, text,
        fmt::format("bytes {}, a whole number with or without B, KiB, MiB or GiB", range_words(least, most)),
        nearest_size(text));
  }
  return *value;
}

double real_argument(std::string_view flag, std::string_view text, double least, double most) {
  const auto value = parse_real(text);
  if (!value || *value < least || *value > most) {
    refuse(flag, text, fmt::format("a number from {} to {}", least, most));
  }
  return *value;
}

bool matches(const std::string& glob, const std::string& path) {
  return fnmatch(glob.c_str(), path.c_str(), 0) == 0;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Optimal string alignment: three rows are enough.
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0u : 1u)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::string nearest(std::string_view word, std::span<const std::string> candidates) {
  constexpr std::size_t shortest_beginning = 3;
  std::string best;
  std::size_t more = std::string::npos;  // letters of the one behind the other
  for (const std::string& candidate : candidates) {
    const auto [shorter, longer] = std::minmax({word.size(), candidate.size()});
    const bool begins = candidate.starts_with(word) || word.starts_with(candidate);
    if (!begins || shorter < shortest_beginning || longer - shorter >= more) continue;
    best = candidate;
    more = longer - shorter;
  }
  if (!best.empty()) return best;
  std::size_t least = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t edits = edit_distance(word, candidate);
    if (edits < least) {
      least = edits;
      best = candidate;
    }
  }
  return best;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t end = text.find(separator); end != std::string_view::npos;
       end = text.find(separator, begin)) {
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  parts.emplace_back(text.substr(begin));
  return parts;
}

std::string join(std::span<const std::string> words) { return fmt::format("{}", fmt::join(words, ", ")); }

namespace {

/// Terms of other tools, and the names that mean the same here.
constexpr std::array<std::pair<std::string_view, std::string_view>, 16> synonyms{{{"die", "cube"},
                                                                                  {"chip", "cube"},
                                                                                  {"chiplet", "cube"},
                                                                                  {"package", "sip"},
                                                                                  {"socket", "sip"},
                                                                                  {"node", "sip"},
                                                                                  {"core", "pe"},
                                                                                  {"tile", "pe"},
                                                                                  {"fp16", "f16"},
                                                                                  {"float16", "f16"},
                                                                                  {"fp32", "f32"},
                                                                                  {"float32", "f32"},
                                                                                  {"int", "i32"},
                                                                                  {"add", "sum"},
                                                                                  {"mul", "prod"},
                                                                                  {"mean", "avg"}}};

std::string lower(std::string_view text) {
  std::string low(text);
  for (char& c : low) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return low;
}

std::string meant(std::string_view written, std::span<const std::string> known) {
  const std::string word = lower(written);
  for (const std::string& k : known)
    if (lower(k) == word) return k;
  for (const auto& [other, own] : synonyms) {
    if (word != other && word != std::string(other) + "s") continue;
    const auto found = std::ranges::find(known, own);
    if (found != known.end()) return *found;
  }
  const std::string near = nearest(written, known);
  // With as many edits as letters any word becomes any other of that length.
  const bool begins = !written.empty() && near.starts_with(written);
  return begins || edit_distance(written, near) < written.size() ? near : "";
}

}  // namespace

std::string did_you_mean(std::string_view what, std::string_view near) {
  return near.empty() ? std::string(what) : fmt::format("{}; did you mean {}?", what, near);
}

std::string with_nearest(std::string_view what, std::string_view word, std::span<const std::string> known) {
  return did_you_mean(what, meant(word, known));
}

std::string nearest_size(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string unit = lower(text.substr(std::min(text.find_first_not_of(' ', digits), text.size())));
  for (const char* const known : {"KiB", "MiB", "GiB"}) {
    const std::string all = lower(known);
    const bool meant = unit == all || unit == all.substr(0, 1) || unit == all.substr(0, 1) + "b";
    const std::string size = std::string(text.substr(0, digits)) + known;
    if (meant && parse_size(size)) return size;
  }
  return {};
}

}  // namespace diecast::config
