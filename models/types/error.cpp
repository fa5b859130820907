// SPDX-License-Identifier: Apache-2.0
#include "models/types/error.hpp"

#include <map>

#include "models/types/enum_name.hpp"

namespace diecast {
namespace {

/// Lines of one problem each. A file of another format has the same problem in every line.
std::string join(const std::vector<problem>& problems) {
  constexpr std::size_t most_alike = 5;
  std::string text;
  std::map<std::string, std::size_t> alike;
  for (const problem& p : problems)
    if (++alike[p.what] <= most_alike) text += (text.empty() ? "" : "\n") + to_string(p);
  for (const auto& [what, count] : alike)
    if (count > most_alike)
      text += fmt::format("\nand {}{} more: {}", problems.size() < most_problems ? "" : "at least ",
                          count - most_alike, what);
  return text;
}

/// The value as written in one line, or its beginning and how long it is: a message is read by a person.
std::string shortened(std::string value) {
  for (std::size_t at = 0; (at = value.find('\n', at)) != std::string::npos;)
    value.replace(at, 1, "<U+000A>");
  constexpr std::size_t longest = 1000;
  std::size_t beginning = 200;
  if (value.size() <= longest) return value;
  while ((static_cast<unsigned char>(value[beginning]) & 0xc0U) == 0x80U && beginning > 0)
    --beginning;  // never cut within a UTF-8 character
  return value.substr(0, beginning) + "... (" + std::to_string(value.size()) + " characters)";
}

}  // namespace

const char* to_string(problem_kind k) { return enum_name(k); }

std::string to_string(const problem& p) {
  std::string text = p.where.empty() ? p.what : shortened(p.where) + ": " + p.what;
  if (p.value.empty() && p.expected.empty()) return text;
  text += " (";
  if (!p.value.empty()) text += "value " + shortened(p.value);
  if (!p.value.empty() && !p.expected.empty()) text += "; ";
  if (!p.expected.empty()) text += "expected " + p.expected;
  return text + ")";
}

user_error::user_error(std::vector<problem> problems)
    : std::runtime_error(join(problems)), problems_(std::move(problems)) {}

}  // namespace diecast
