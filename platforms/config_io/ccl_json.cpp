// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "models/comm/install_plan.hpp"
#include "models/config/text.hpp"
#include "platforms/config_io/config_read.hpp"

namespace diecast::platforms {
namespace {

using config::algorithm_settings;
using json = nlohmann::ordered_json;

constexpr std::array layouts{"column_wise", "row_wise", "replicate"};
constexpr std::array memories{"tcm", "sram", "hbm"};
constexpr const char* direction_form = "the name of a direction, without commas, quotes and line ends";
constexpr const char* not_in_directions = ",\"\r\n";
constexpr const char* pe_form = "a PE, for example \"sip0.cube1.pe2\"";

/// "sip0.cube1.pe2" as a PE; empty when the text is not of that form.
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

template <class Entry>
Entry& entry_named(std::vector<Entry>& entries, const std::string& name) {
  const auto at = std::ranges::find(entries, name, &Entry::name);
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

json direction_schema(const std::string& description) {
  return {{"type", "string"}, {"pattern", "^[^,\"\\r\\n]+$"}, {"description", description}};
}

json pe_schema(const std::string& description) {
  return {
      {"type", "string"}, {"pattern", "^sip[0-9]+\\.cube[0-9]+\\.pe[0-9]+$"}, {"description", description}};
}

/// A key of ccl.algorithms: how it is read, written (null: not set) and described.
struct setting {
  std::string key, values, meaning;
  json schema;
  std::function<void(reader&, const std::string& path, const json_node&, algorithm_settings&)> read;
  std::function<json(const algorithm_settings&)> write;
};

setting name_setting(const char* key, const char* values, const char* meaning,
                     std::optional<std::string> algorithm_settings::*member) {
  const auto read = [=](reader& r, const std::string& path, const json_node& node, algorithm_settings& a) {
    if (auto name = r.text(path, node, fmt::format("the name of {}", values))) a.*member = name;
  };
  const auto write = [=](const algorithm_settings& a) { return a.*member ? json(*(a.*member)) : json(); };
  return {key, values, meaning, {{"type", "string"}, {"minLength", 1}}, read, write};
}

template <class Enum, std::size_t N>
setting choice_setting(const char* key, const std::array<const char*, N>& words, const char* meaning,
                       std::optional<Enum> algorithm_settings::*member) {
  const auto read = [=](reader& r, const std::string& path, const json_node& node, algorithm_settings& a) {
    if (const auto choice = r.choice<Enum>(path, node, words)) a.*member = choice;
  };
  const auto write = [=](const algorithm_settings& a) {
    return a.*member ? json(words.at(static_cast<std::size_t>(*(a.*member)))) : json();
  };
  return {key, fmt::format("{}", fmt::join(words, ", ")), meaning, {{"enum", words}}, read, write};
}

setting members_setting() {
  const auto read = [](reader& r, const std::string& path, const json_node& node, algorithm_settings& a) {
    const json_array* const items = node.array();
    if (items == nullptr) return r.wrong_type(path, node, "a list of PEs");
    a.members.clear();
    for (std::size_t i = 0; i < items->size(); ++i)
      if (const auto pe = r.pe(fmt::format("{}[{}]", path, i), (*items)[i])) a.members.push_back(*pe);
  };
  const auto write = [](const algorithm_settings& a) {
    json members;
    for (const pe_coord& pe : a.members) members.push_back(pe_key(pe));
    return members;
  };
  return {"members",
          "a list of PEs",
          "For mapper custom, in rank order: \"sip0.cube1.pe2\".",
          {{"type", "array"}, {"items", pe_schema("A PE.")}},
          read,
          write};
}

const std::vector<setting>& settings() {
  using s = algorithm_settings;
  static const std::vector<setting> all{
      name_setting("pattern", "a pattern", "Who talks to whom; --list patterns, or a name of ccl.patterns.",
                   &s::pattern),
      name_setting("mapper", "a mapper", "Which PEs take part when --ranks is not given; --list mappers.",
                   &s::mapper),
      name_setting("validator", "a validator", "The required tensor layout; --list validators.",
                   &s::validator),
      choice_setting("buffer_kind", memories, "Memory of the receive rings; otherwise ipcq.buffer_kind.",
                     &s::rings),
      choice_setting("cube_layout", layouts, "How a SIP's tensor is spread over its cubes.", &s::cube_layout),
      choice_setting("pe_layout", layouts, "How a cube's share is spread over its PEs.", &s::pe_layout),
      members_setting()};
  return all;
}

void read_setting(reader& r, const std::string& path, const std::string& key, const json_node& node,
                  algorithm_settings& a) {
  std::vector<std::string> known;
  for (const setting& s : settings()) {
    if (s.key == key) return s.read(r, path, node, a);
    known.push_back(s.key);
  }
  r.unknown(path, key, known);
}

json named_objects(json item, const std::string& description) {
  return {{"type", "object"}, {"description", description}, {"additionalProperties", std::move(item)}};
}

}  // namespace

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

json ccl_algorithms_json(const config::ccl_tables& tables) {
  json all = json::object();
  for (const algorithm_settings& a : tables.algorithms) {
    json& keys = all[a.name] = json::object();
    for (const setting& s : settings())
      if (const json value = s.write(a); !value.is_null()) keys[s.key] = value;
  }
  return all;
}

json ccl_patterns_json(const config::ccl_tables& tables) {
  json all = json::object();
  for (const config::custom_pattern& p : tables.patterns) {
    json& edges = all[p.name] = json::array();
    for (const config::custom_edge& e : p.edges) {
      edges.push_back({{"from", pe_key(e.from)},
                       {"direction", e.direction},
                       {"to", pe_key(e.to)},
                       {"bidirectional", e.bidirectional}});
      if (e.reverse) edges.back()["reverse"] = *e.reverse;
    }
  }
  return all;
}

json ccl_algorithms_schema() {
  json keys;
  for (const setting& s : settings()) {
    keys[s.key] = s.schema;
    keys[s.key]["description"] = s.meaning;
  }
  return named_objects({{"type", "object"}, {"properties", std::move(keys)}, {"additionalProperties", false}},
                       "Settings of algorithms by name.");
}

json ccl_patterns_schema() {
  const json keys{{"from", pe_schema("Where the edge starts.")},
                  {"direction", direction_schema("Its name there.")},
                  {"to", pe_schema("Where it ends.")},
                  {"bidirectional", {{"type", "boolean"}}},
                  {"reverse", direction_schema("The direction at the other end that it pairs with.")}};
  const json item{{"type", "object"},
                  {"properties", keys},
                  {"required", {"from", "direction", "to"}},
                  {"additionalProperties", false}};
  return named_objects({{"type", "array"}, {"items", item}}, "Patterns as lists of edges, by name.");
}

std::string ccl_tables_markdown() {
  std::string page =
      "\n## ccl.algorithms and ccl.patterns\n\nSettings of single algorithms, "
      "`\"algorithms\": { NAME: {...} }`; what is not set stays as the algorithm registers it.\n\n"
      "| key | values | meaning |\n|---|---|---|\n";
  for (const setting& s : settings()) page += fmt::format("| `{}` | {} | {} |\n", s.key, s.values, s.meaning);
  page +=
      "\nPatterns given as edges, `\"patterns\": { NAME: [ {...}, ... ] }`: `from` and `to` are PEs, "
      "`direction` names\nthe edge at `from` (`N`, `global_E`, `parent` or any other word), `bidirectional` "
      "(true) demands an edge back, and\n`reverse` names the direction at `to` that the edge pairs with.\n";
  return page;
}

}  // namespace diecast::platforms
