// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/format.h>
#include <utility>

#include "models/comm/install_plan.hpp"
#include "models/config/text.hpp"
#include "platforms/config_io/config_read.hpp"

namespace diecast::platforms {
namespace {

using config::algorithm_settings;

constexpr std::array layouts{"column_wise", "row_wise", "replicate"};
constexpr std::array memories{"tcm", "sram", "hbm"};
constexpr const char* direction_form = "the name of a direction, without commas, quotes and line ends";
constexpr const char* not_in_directions = ",\"\r\n";
constexpr const char* pe_form = "a PE, for example \"sip0.cube1.pe2\"";

struct reader {
  const std::string& file;
  std::vector<problem>& problems;

  void report(const std::string& path, std::string what, std::string value, std::string expected) {
    problems.push_back({file + ": " + path, std::move(what), std::move(value), std::move(expected)});
  }
  void wrong_type(const std::string& path, const json_node& node, std::string expected) {
    report(path, "wrong type", describe(node), std::move(expected));
  }
  void unknown(const std::string& path, const std::string& name, const std::vector<std::string>& known) {
    report(path, config::with_nearest("unknown key", name, known), "", "one of " + config::join(known));
  }
  std::optional<std::string> text(const std::string& path, const json_node& node, std::string expected) {
    if (const std::string* s = node.string(); s != nullptr && !s->empty()) return *s;
    wrong_type(path, node, std::move(expected));
    return std::nullopt;
  }
  /// A direction's name stands in tables whose cells commas part.
  std::optional<std::string> direction(const std::string& path, const json_node& node) {
    auto name = text(path, node, direction_form);
    if (!name || name->find_first_of(not_in_directions) == std::string::npos) return name;
    report(path, "holds a comma, a quote or the end of a line", describe(node), direction_form);
    return std::nullopt;
  }
  std::optional<pe_coord> pe(const std::string& path, const json_node& node) {
    const std::string* const s = node.string();
    const auto found = s == nullptr ? std::nullopt : parse_pe(*s);
    if (!found) wrong_type(path, node, pe_form);
    return found;
  }
  template <class Enum, std::size_t N>
  std::optional<Enum> choice(const std::string& path, const json_node& node,
                             const std::array<const char*, N>& names) {
    for (std::size_t i = 0; i < N; ++i)
      if (node.string() != nullptr && *node.string() == names[i]) return static_cast<Enum>(i);
    report(path, "not an accepted value", describe(node), fmt::format("one of {}", fmt::join(names, ", ")));
    return std::nullopt;
  }
};

template <class T>
void set(std::optional<T>& to, const std::optional<T>& value) {
  if (value) to = value;
}

void read_members(reader& r, const std::string& path, const json_node& node, std::vector<pe_coord>& members) {
  const json_array* const items = node.array();
  if (items == nullptr) return r.wrong_type(path, node, "a list of PEs");
  members.clear();
  for (std::size_t i = 0; i < items->size(); ++i)
    if (const auto pe = r.pe(fmt::format("{}[{}]", path, i), (*items)[i])) members.push_back(*pe);
}

void read_setting(reader& r, const std::string& path, const std::string& key, const json_node& node,
                  algorithm_settings& a) {
  if (key == "pattern") return set(a.pattern, r.text(path, node, "the name of a pattern"));
  if (key == "mapper") return set(a.mapper, r.text(path, node, "the name of a mapper"));
  if (key == "validator") return set(a.validator, r.text(path, node, "the name of a validator"));
  if (key == "buffer_kind") return set(a.rings, r.choice<config::buffer_kind>(path, node, memories));
  if (key == "cube_layout") return set(a.cube_layout, r.choice<config::layout>(path, node, layouts));
  if (key == "pe_layout") return set(a.pe_layout, r.choice<config::layout>(path, node, layouts));
  if (key == "members") return read_members(r, path, node, a.members);
  r.unknown(path, key,
            {"pattern", "mapper", "validator", "buffer_kind", "cube_layout", "pe_layout", "members"});
}

template <class Entry>
Entry& entry_named(std::vector<Entry>& entries, const std::string& name) {
  const auto at =
      std::find_if(entries.begin(), entries.end(), [&](const Entry& e) { return e.name == name; });
  if (at != entries.end()) return *at;
  entries.push_back({});
  entries.back().name = name;
  return entries.back();
}

config::custom_edge read_edge(reader& r, const std::string& path, const json_node& node) {
  config::custom_edge e;
  const json_object* const members = node.object();
  if (members == nullptr) return r.wrong_type(path, node, "an object with from, direction and to"), e;
  bool from = false;
  bool to = false;
  for (const auto& [key, value] : *members) {
    const std::string at = fmt::format("{}.{}", path, key);
    if (key == "from" || key == "to") {
      (key == "from" ? from : to) = true;
      if (const auto pe = r.pe(at, value)) (key == "from" ? e.from : e.to) = *pe;
    } else if (key == "direction") {
      if (const auto name = r.direction(at, value)) e.direction = *name;
    } else if (key == "reverse") {
      e.reverse = r.direction(at, value);
    } else if (key == "bidirectional") {
      if (const auto* b = std::get_if<bool>(&value.value)) {
        e.bidirectional = *b;
      } else {
        r.wrong_type(at, value, "true or false");
      }
    } else {
      r.unknown(at, key, {"from", "direction", "to", "bidirectional", "reverse"});
    }
  }
  if (!from || !to || e.direction.empty())
    r.report(path, "an edge is not complete", describe(node), "from, direction and to");
  return e;
}

std::string name_of(pe_coord pe) {
  return fmt::format("sip{}.cube{}.pe{}", pe.sip.value, pe.cube.value, pe.pe.value);
}

json_node choice_schema(const std::vector<std::string>& words, const std::string& description) {
  return {json_object{{"enum", json_texts(words)}, {"description", json_text(description)}}};
}

json_node name_schema(const std::string& description) {
  return {json_object{{"type", json_text("string")},
                      {"minLength", json_number(std::uint64_t{1})},
                      {"description", json_text(description)}}};
}

json_node direction_schema(const std::string& description) {
  return {json_object{{"type", json_text("string")},
                      {"pattern", json_text("^[^,\"\\r\\n]+$")},
                      {"description", json_text(description)}}};
}

json_node pe_schema(const std::string& description) {
  return {json_object{{"type", json_text("string")},
                      {"pattern", json_text("^sip[0-9]+\\.cube[0-9]+\\.pe[0-9]+$")},
                      {"description", json_text(description)}}};
}

struct setting {
  const char* key;
  const char* values;
  const char* meaning;
};
constexpr std::array settings{
    setting{"pattern", "a pattern", "Who talks to whom; --list patterns, or a name of ccl.patterns."},
    setting{"mapper", "a mapper", "Which PEs take part when --ranks is not given; --list mappers."},
    setting{"validator", "a validator", "The required tensor layout; --list validators."},
    setting{"buffer_kind", "tcm, sram, hbm", "Memory of the receive rings; otherwise ipcq.buffer_kind."},
    setting{"cube_layout", "column_wise, row_wise, replicate",
            "How a SIP's tensor is spread over its cubes."},
    setting{"pe_layout", "column_wise, row_wise, replicate", "How a cube's share is spread over its PEs."},
    setting{"members", "a list of PEs", "For mapper custom, in rank order: \"sip0.cube1.pe2\"."}};

json_node named_objects(json_node item, const std::string& description) {
  return {json_object{{"type", json_text("object")},
                      {"description", json_text(description)},
                      {"additionalProperties", std::move(item)}}};
}

}  // namespace

std::optional<pe_coord> parse_pe(const std::string& text) {
  const char* at = text.data();
  const char* const end = at + text.size();
  std::array<std::uint32_t, 3> numbers{};
  constexpr std::array<std::string_view, 3> words{"sip", ".cube", ".pe"};
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!std::string_view(at, static_cast<std::size_t>(end - at)).starts_with(words[i])) return std::nullopt;
    at += words[i].size();
    const auto [stop, error] = std::from_chars(at, end, numbers[i]);
    if (error != std::errc{}) return std::nullopt;
    at = stop;
  }
  if (at != end) return std::nullopt;
  return pe_coord{sip_id{numbers[0]}, cube_id{numbers[1]}, pe_id{numbers[2]}};
}

void read_ccl_algorithms(const json_node& node, const std::string& file, config::ccl_tables& tables,
                         std::vector<problem>& problems) {
  reader r{file, problems};
  const json_object* const named = node.object();
  if (named == nullptr) return r.wrong_type("ccl.algorithms", node, "an object with settings by algorithm");
  for (const auto& [name, member] : *named) {
    const std::string path = "ccl.algorithms." + name;
    const json_object* const keys = member.object();
    if (keys == nullptr) {
      r.wrong_type(path, member, "an object with settings");
      continue;
    }
    algorithm_settings& a = entry_named(tables.algorithms, name);
    for (const auto& [key, value] : *keys) read_setting(r, fmt::format("{}.{}", path, key), key, value, a);
  }
}

void read_ccl_patterns(const json_node& node, const std::string& file, config::ccl_tables& tables,
                       std::vector<problem>& problems) {
  reader r{file, problems};
  const json_object* const named = node.object();
  if (named == nullptr) return r.wrong_type("ccl.patterns", node, "an object with lists of edges by name");
  for (const auto& [name, member] : *named) {
    const std::string path = "ccl.patterns." + name;
    const json_array* const items = member.array();
    if (items == nullptr) {
      r.wrong_type(path, member, "a list of edges");
      continue;
    }
    config::custom_pattern& p = entry_named(tables.patterns, name);
    p.edges.clear();
    for (std::size_t i = 0; i < items->size(); ++i)
      p.edges.push_back(read_edge(r, fmt::format("{}[{}]", path, i), (*items)[i]));
  }
}

json_node ccl_algorithms_node(const config::ccl_tables& tables) {
  json_object all;
  for (const algorithm_settings& a : tables.algorithms) {
    json_object keys;
    const auto add = [&keys](const char* key, const std::optional<std::string>& text) {
      if (text) keys.emplace_back(key, json_text(*text));
    };
    const auto name = [](const auto& value, const auto& names) -> std::optional<std::string> {
      if (!value) return std::nullopt;
      return names.at(static_cast<std::size_t>(*value));
    };
    add("pattern", a.pattern);
    add("mapper", a.mapper);
    add("validator", a.validator);
    add("buffer_kind", name(a.rings, memories));
    add("cube_layout", name(a.cube_layout, layouts));
    add("pe_layout", name(a.pe_layout, layouts));
    if (!a.members.empty()) {
      json_array members;
      for (const pe_coord& pe : a.members) members.push_back(json_text(name_of(pe)));
      keys.emplace_back("members", json_node{std::move(members)});
    }
    all.emplace_back(a.name, json_node{std::move(keys)});
  }
  return {std::move(all)};
}

json_node ccl_patterns_node(const config::ccl_tables& tables) {
  json_object all;
  for (const config::custom_pattern& p : tables.patterns) {
    json_array edges;
    for (const config::custom_edge& e : p.edges) {
      json_object edge{{"from", json_text(name_of(e.from))},
                       {"direction", json_text(e.direction)},
                       {"to", json_text(name_of(e.to))},
                       {"bidirectional", {e.bidirectional}}};
      if (e.reverse) edge.emplace_back("reverse", json_text(*e.reverse));
      edges.push_back({std::move(edge)});
    }
    all.emplace_back(p.name, json_node{std::move(edges)});
  }
  return {std::move(all)};
}

json_node ccl_algorithms_schema() {
  json_object keys;
  for (const setting& s : settings) {
    const std::string key = s.key;
    if (key == "members") {
      keys.emplace_back(key, json_node{json_object{{"type", json_text("array")},
                                                   {"items", pe_schema("A PE.")},
                                                   {"description", json_text(s.meaning)}}});
    } else if (key == "buffer_kind") {
      keys.emplace_back(key, choice_schema({memories.begin(), memories.end()}, s.meaning));
    } else if (key.ends_with("_layout")) {
      keys.emplace_back(key, choice_schema({layouts.begin(), layouts.end()}, s.meaning));
    } else {
      keys.emplace_back(key, name_schema(s.meaning));
    }
  }
  json_object item{
      {"type", json_text("object")}, {"properties", {std::move(keys)}}, {"additionalProperties", {false}}};
  return named_objects({std::move(item)}, "Settings of algorithms by name.");
}

json_node ccl_patterns_schema() {
  json_object keys{{"from", pe_schema("Where the edge starts.")},
                   {"direction", direction_schema("Its name there.")},
                   {"to", pe_schema("Where it ends.")},
                   {"bidirectional", json_node{json_object{{"type", json_text("boolean")}}}},
                   {"reverse", direction_schema("The direction at the other end that it pairs with.")}};
  json_object item{{"type", json_text("object")},
                   {"properties", {std::move(keys)}},
                   {"required", json_texts({"from", "direction", "to"})},
                   {"additionalProperties", {false}}};
  json_object list{{"type", json_text("array")}, {"items", {std::move(item)}}};
  return named_objects({std::move(list)}, "Patterns as lists of edges, by name.");
}

std::string ccl_tables_markdown() {
  std::string page =
      "\n## ccl.algorithms and ccl.patterns\n\nSettings of single algorithms, "
      "`\"algorithms\": { NAME: {...} }`; what is not set stays as the algorithm registers it.\n\n"
      "| key | values | meaning |\n|---|---|---|\n";
  for (const setting& s : settings) page += fmt::format("| `{}` | {} | {} |\n", s.key, s.values, s.meaning);
  page +=
      "\nPatterns given as edges, `\"patterns\": { NAME: [ {...}, ... ] }`: `from` and `to` are PEs, "
      "`direction` "
      "names\nthe edge at `from` (`N`, `global_E`, `parent` or any other word), `bidirectional` (true) "
      "demands an "
      "edge back, and\n`reverse` names the direction at `to` that the edge pairs with.\n";
  return page;
}

}  // namespace diecast::platforms
