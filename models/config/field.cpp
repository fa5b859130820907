// SPDX-License-Identifier: Apache-2.0
#include "models/config/field.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <regex>

#include "models/config/text.hpp"

namespace diecast::config {
namespace {

template <class... Ts>
struct overload : Ts... {
  using Ts::operator()...;
};
template <class... Ts>
overload(Ts...) -> overload<Ts...>;

bool in_range(const field& f, std::uint64_t n) { return n >= f.least && n <= f.most; }

bool is_choice(const field& f, const std::string& word) {
  return std::ranges::find(f.choices, word) != f.choices.end() ||
         std::ranges::any_of(f.spellings, [&](const auto& s) { return s.first == word; });
}

std::string count_words(const field& f) {
  std::string words = fmt::format("a whole number from {} to {}", f.least, f.most);
  if (!f.unit.empty()) words += fmt::format(" {}", f.unit);
  return words;
}

std::string real_words(const field& f) {
  std::string words = fmt::format("a number from {} to {}", f.real_least, f.real_most);
  if (!f.unit.empty()) words += fmt::format(" {}", f.unit);
  return words;
}

std::optional<std::uint64_t> parse_number(const field& f, std::string_view text) {
  return f.unit == "B" ? parse_size(text) : parse_count(text);
}

/// Adds two numbers with `between` between them; false when the text is not two numbers.
bool add_link(std::string_view pair, char between, std::vector<pod_link>& links) {
  const std::size_t middle = pair.find(between);
  if (middle == std::string_view::npos) return false;
  const auto from = parse_count(pair.substr(0, middle));
  const auto to = parse_count(pair.substr(middle + 1));
  if (!from || !to || *from > UINT32_MAX || *to > UINT32_MAX) return false;
  links.push_back({static_cast<std::uint32_t>(*from), static_cast<std::uint32_t>(*to)});
  return true;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// The text without spaces; nothing when a space separates two digits: "1 2" is no number.
std::optional<std::string> without_spaces(std::string_view text) {
  std::string rest;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ' ') continue;
    const bool after_space = i > 0 && text[i - 1] == ' ';
    if (after_space && !rest.empty() && is_digit(rest.back()) && is_digit(text[i])) return std::nullopt;
    rest += text[i];
  }
  return rest;
}

/// Pairs like 0-1,1-2, or like [[0, 1], [1, 2]] as in a file.
std::optional<field_value> parse_links(std::string_view text) {
  std::optional<std::string> as_in_a_file;
  std::string_view separator = ",";
  if (text.starts_with('[')) {
    as_in_a_file = without_spaces(text);
    if (!as_in_a_file) return std::nullopt;
    text = *as_in_a_file;
    separator = "],[";
    if (text == "[]") return std::vector<pod_link>{};
    if (text.size() <= 4 || !text.starts_with("[[") || !text.ends_with("]]")) return std::nullopt;
    text = text.substr(2, text.size() - 4);
  }
  std::vector<pod_link> links;
  if (text.empty()) return links;
  for (;;) {
    const std::size_t end = text.find(separator);
    if (!add_link(text.substr(0, end), separator == "," ? '-' : ',', links)) return std::nullopt;
    if (end == std::string_view::npos) return links;
    text.remove_prefix(end + separator.size());
  }
}

std::optional<field_value> parse_untested(const field& f, std::string_view text) {
  switch (f.type) {
    case field_type::boolean:
      if (text == "true") return true;
      if (text == "false") return false;
      return std::nullopt;
    case field_type::count_or_auto:
      if (text == "auto") return automatic{};
      [[fallthrough]];
    case field_type::count:
      if (const auto n = parse_number(f, text)) return *n;
      return std::nullopt;
    case field_type::real_or_auto:
      if (text == "auto") return automatic{};
      [[fallthrough]];
    case field_type::real:
      if (const auto x = parse_real(text)) return *x;
      return std::nullopt;
    case field_type::text:
    case field_type::choice: return std::string(text);
    case field_type::links: return parse_links(text);
  }
  return std::nullopt;
}

const field& known_field(std::string_view path) {
  if (const field* f = find_field(path)) return *f;
  throw user_error(unknown_key(path));
}

bool is_text(const field& f, const std::string& text) {
  if (!f.list) return text.size() <= longest_text && std::regex_match(text, std::regex(f.pattern));
  if (text.empty()) return f.may_be_empty;
  const std::regex piece(f.pattern);
  const std::vector<std::string> pieces = split(text, ',');
  return std::ranges::all_of(
      pieces, [&](const std::string& p) { return p.size() <= longest_text && std::regex_match(p, piece); });
}

std::string text_words(const field& f) {
  const bool repeats = f.pattern.find_first_of("*+") != std::string::npos;
  const std::string most = repeats ? fmt::format(", at most {} characters", longest_text) : "";
  return fmt::format("{} {}{}", f.list ? "pieces separated by commas, each matching" : "text that matches",
                     f.pattern, most);
}

/// A key of the same name in another block, the most frequent mistake.
std::string same_key_elsewhere(std::string_view key) {
  std::string paths;
  for (const block_table& b : tables()) {
    for (const field& f : b.fields) {
      if (f.key == key) paths += (paths.empty() ? "" : " or ") + f.path();
    }
  }
  return paths;
}

std::vector<std::string> all_paths() {
  std::vector<std::string> paths;
  for (const block_table& b : tables()) {
    for (const field& f : b.fields) paths.push_back(f.path());
  }
  return paths;
}

/// Blocks, and the lists at the same level.
std::vector<std::string> top_names() {
  std::vector<std::string> names;
  for (const block_table& b : tables()) names.push_back(b.name);
  names.emplace_back("faults");
  names.emplace_back("overrides");
  return names;
}

std::string suggest_block(std::string_view name) {
  const std::string same = same_key_elsewhere(name);
  return same.empty() ? nearest(name, top_names()) : same;
}

/// The key that was probably meant: one with a similar name in a known block, else the same name in another
/// block, else a similar name anywhere; with an unknown block the last comes first.
std::string suggest_key(std::string_view block_name, std::string_view key) {
  const std::string path = fmt::format("{}.{}", block_name, key);
  if (const block_table* block = find_block(block_name)) {
    std::vector<std::string> keys{"preset"};
    for (const field& f : block->fields) keys.push_back(f.key);
    if (const std::string near = nearest(key, keys); !near.empty()) return block->name + "." + near;
  } else if (std::string near = nearest(path, all_paths()); !near.empty()) {
    return near;
  }
  std::string same = same_key_elsewhere(key);
  return same.empty() ? nearest(path, all_paths()) : same;
}

std::string suggestion(std::string_view path) {
  const std::size_t dot = path.find('.');
  if (dot == std::string_view::npos) return suggest_block(path);
  return suggest_key(path.substr(0, dot), path.substr(dot + 1));
}

std::string known_names(std::string_view path) {
  std::vector<std::string> names;
  const std::size_t dot = path.find('.');
  if (const block_table* block = find_block(path.substr(0, dot)); block != nullptr) {
    for (const field& f : block->fields) names.push_back(f.key);
    names.emplace_back("preset");
  } else {
    names = top_names();
  }
  return "one of " + join(names);
}

}  // namespace

const block_table* find_block(std::string_view name) {
  for (const block_table& b : tables()) {
    if (b.name == name) return &b;
  }
  return nullptr;
}

const field* find_field(std::string_view path) {
  const std::size_t dot = path.find('.');
  if (dot == std::string_view::npos) return nullptr;
  const block_table* block = find_block(path.substr(0, dot));
  if (block == nullptr) return nullptr;
  for (const field& f : block->fields) {
    if (f.key == path.substr(dot + 1)) return &f;
  }
  return nullptr;
}

bool accepts(const field& f, const field_value& value) {
  switch (f.type) {
    case field_type::boolean: return std::holds_alternative<bool>(value);
    case field_type::count_or_auto:
      if (std::holds_alternative<automatic>(value)) return true;
      [[fallthrough]];
    case field_type::count: {
      const auto* n = std::get_if<std::uint64_t>(&value);
      return n != nullptr && in_range(f, *n);
    }
    case field_type::real_or_auto:
      if (std::holds_alternative<automatic>(value)) return true;
      [[fallthrough]];
    case field_type::real: {
      const auto* x = std::get_if<double>(&value);
      return x != nullptr && *x >= f.real_least && *x <= f.real_most;
    }
    case field_type::text: {
      const auto* s = std::get_if<std::string>(&value);
      return s != nullptr && is_text(f, *s);
    }
    case field_type::choice: {
      const auto* s = std::get_if<std::string>(&value);
      return s != nullptr && is_choice(f, *s);
    }
    case field_type::links: return std::holds_alternative<std::vector<pod_link>>(value);
  }
  return false;
}

std::string expectation(const field& f) {
  switch (f.type) {
    case field_type::boolean: return "true or false";
    case field_type::count: return count_words(f);
    case field_type::count_or_auto: return count_words(f) + ", or auto";
    case field_type::real: return real_words(f);
    case field_type::real_or_auto: return real_words(f) + ", or auto";
    case field_type::text: return text_words(f);
    case field_type::choice: return "one of " + join(f.choices);
    case field_type::links: return "pairs of SIPs: [[0, 1], [1, 2]], after --set also 0-1,1-2";
  }
  return {};
}

std::string to_text(const field_value& value) {
  return std::visit(
      overload{[](bool b) { return std::string(b ? "true" : "false"); },
               [](std::uint64_t n) { return fmt::format("{}", n); },
               [](double x) { return fmt::format("{}", x); }, [](const std::string& s) { return s; },
               [](automatic) { return std::string("auto"); },
               [](const std::vector<pod_link>& links) {
                 std::vector<std::string> pairs;
                 pairs.reserve(links.size());
                 for (const pod_link& l : links) pairs.push_back(fmt::format("{}-{}", l.from, l.to));
                 return fmt::format("{}", fmt::join(pairs, ","));
               }},
      value);
}

field_value default_value(const field& f) { return f.get(machine_config{}); }

std::optional<field_value> parse_value(const field& f, std::string_view text) {
  std::optional<field_value> value = parse_untested(f, text);
  if (!value || !accepts(f, *value)) return std::nullopt;
  return value;
}

field_value get_value(const machine_config& config, std::string_view path) {
  return known_field(path).get(config);
}

void set_value(machine_config& config, std::string_view path, const field_value& value) {
  const field& f = known_field(path);
  if (!accepts(f, value)) {
    throw user_error(problem{std::string(path), "not an accepted value", to_text(value), expectation(f)});
  }
  f.set(config, value);
}

problem unknown_key(std::string_view path) {
  const bool has_key = path.find('.') != std::string_view::npos;
  if (!has_key && find_block(path) != nullptr) {
    return {std::string(path), "is a block, not a key", "",
            fmt::format("{0}.KEY, with KEY {1}", path, known_names(path))};
  }
  const char* const what = has_key ? "unknown key" : "unknown block";
  const std::string near = suggestion(path);
  if (near.empty()) return {std::string(path), what, "", known_names(path)};
  return {std::string(path), did_you_mean(what, near), "", ""};
}

}  // namespace diecast::config
