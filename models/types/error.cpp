// SPDX-License-Identifier: Apache-2.0
#include "models/types/error.hpp"

namespace diecast {
namespace {

std::string join(const std::vector<problem>& problems) {
  std::string text;
  for (const problem& p : problems) {
    if (!text.empty()) text += '\n';
    text += to_string(p);
  }
  return text;
}

}  // namespace

std::string to_string(const problem& p) {
  std::string text = p.where.empty() ? p.what : p.where + ": " + p.what;
  if (p.value.empty() && p.expected.empty()) return text;
  text += " (";
  if (!p.value.empty()) text += "value " + p.value;
  if (!p.value.empty() && !p.expected.empty()) text += "; ";
  if (!p.expected.empty()) text += "expected " + p.expected;
  return text + ")";
}

user_error::user_error(std::vector<problem> problems)
    : std::runtime_error(join(problems)), problems_(std::move(problems)) {}

}  // namespace diecast
