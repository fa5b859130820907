// SPDX-License-Identifier: Apache-2.0
#include "models/config/suggestion.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <fmt/format.h>
#include <utility>

#include "models/config/text.hpp"

namespace diecast::config {
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
    const auto found = std::find(known.begin(), known.end(), own);
    if (found != known.end()) return *found;
  }
  const std::string near = nearest(written, known);
  // As many edits as letters make any word of any other of that length.
  return near.empty() || edit_distance(written, near) >= written.size() ? "" : near;
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
    if (digits > 0 && meant) return std::string(text.substr(0, digits)) + known;
  }
  return {};
}

}  // namespace diecast::config
