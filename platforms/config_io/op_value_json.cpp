// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fmt/format.h>

#include "models/config/text.hpp"
#include "platforms/config_io/workload_json.hpp"

namespace diecast::platforms {
namespace {

using comm::op_field;
using comm::op_field_type;
using comm::op_value;

/// A list whose items all have such a value.
template <class Value, class Get>
std::optional<op_value> to_list(const json_node& node, Get get) {
  if (node.array() == nullptr) return std::nullopt;
  std::vector<Value> values;
  for (const json_node& item : *node.array()) {
    const auto value = (item.*get)();
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

bool in_range(const op_field& f, double x) { return x >= f.least && x <= f.most; }
bool in_range(const op_field& f, std::uint64_t n) { return in_range(f, static_cast<double>(n)); }

bool is_choice(const op_field& f, const std::string& word) {
  if (f.choices.empty()) return !word.empty();
  return std::ranges::find(f.choices, word) != f.choices.end();
}

std::string range_words(const op_field& f, const char* what) {
  return fmt::format("{} from {} to {}", what, f.least, f.most);
}

}  // namespace

std::optional<op_value> convert(const op_field& f, const json_node& node) {
  const std::string* const s = node.string();
  switch (f.type) {
    case op_field_type::flag: return node.flag();
    case op_field_type::count: return node.count();
    case op_field_type::size:
      if (s != nullptr) return config::parse_size(*s);
      return node.count();
    case op_field_type::real: return node.real();
    case op_field_type::word:
      if (s != nullptr) return *s;
      return std::nullopt;
    case op_field_type::count_or_word:
      if (s != nullptr) return *s;
      return node.count();
    case op_field_type::words: return to_list<std::string>(node, &json_node::string);
    case op_field_type::counts: return to_list<std::uint64_t>(node, &json_node::count);
  }
  return std::nullopt;
}

bool accepts(const op_field& f, const op_value& value) {
  if (const auto* n = std::get_if<std::uint64_t>(&value)) return in_range(f, *n);
  if (const auto* x = std::get_if<double>(&value)) return in_range(f, *x);
  if (const auto* s = std::get_if<std::string>(&value)) return is_choice(f, *s);
  if (const auto* list = std::get_if<std::vector<std::uint64_t>>(&value))
    return std::ranges::all_of(*list, [&f](std::uint64_t n) { return in_range(f, n); });
  return true;
}

std::string rejection_of(const op_field& f, const json_node& node) {
  const std::string* const s = node.string();
  if (s != nullptr && !f.choices.empty()) return config::with_nearest("no such value", *s, f.choices);
  const bool in_type = convert(f, node).has_value();
  const bool size = s != nullptr && f.type == op_field_type::size && !in_type;
  return config::did_you_mean(in_type ? "value out of range" : "wrong type",
                              size ? config::nearest_size(*s) : "");
}

std::string expectation(const op_field& f) {
  switch (f.type) {
    case op_field_type::flag: return "true or false";
    case op_field_type::count: return range_words(f, "a whole number");
    case op_field_type::size: return range_words(f, "bytes, as a number or like \"64KiB\",");
    case op_field_type::real: return range_words(f, "a number");
    case op_field_type::word: return f.choices.empty() ? "text" : "one of " + config::join(f.choices);
    case op_field_type::count_or_word:
      return range_words(f, "a whole number") + ", or one of " + config::join(f.choices);
    case op_field_type::words: return "a list of texts";
    case op_field_type::counts: return range_words(f, "a list of whole numbers");
  }
  return {};
}

}  // namespace diecast::platforms
