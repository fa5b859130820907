// SPDX-License-Identifier: Apache-2.0
#include "platforms/config_io/config_read.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "models/config/overrides.hpp"
#include "models/config/text.hpp"
#include "platforms/config_io/config_json.hpp"
#include "platforms/files/input.hpp"

namespace diecast::platforms {
namespace fs = std::filesystem;
using config::block_table;
using config::field;
using config::field_value;

namespace {

/// The problem of a key's value as text, with the value that was probably meant.
std::string rejection_of(const std::string& what, const field& f, std::string_view value) {
  if (f.type == config::field_type::choice) return config::with_nearest(what, value, f.choices);
  const bool size = f.type == config::field_type::count || f.type == config::field_type::count_or_auto;
  if (!size || f.unit.empty()) return what;
  const std::string near = config::parse_size(value) ? std::string(value) : config::nearest_size(value);
  if (near.empty() || (f.unit == "B" && near == value)) return what;
  if (f.unit == "B") return config::did_you_mean(what, near);
  const auto unit = config::parse_size("1" + f.unit);
  if (!unit || *config::parse_size(near) % *unit != 0 || !near.ends_with("iB")) return what;
  return config::did_you_mean(what, std::to_string(*config::parse_size(near) / *unit));
}

class file_reader : public json_checker {
 public:
  file_reader(std::string file, reading& r) : json_checker(std::move(file), r.problems), r_(r) {}

  void report_unknown(const std::string& path) {
    if (r_.problems.size() >= most_problems) return;
    const problem p = config::unknown_key(path);
    report(path, p.what, p.value, p.expected);
  }

  void key(const field& f, const json_node& node) {
    const auto value = convert_node(f, node);
    if (value && config::accepts(f, *value)) {
      r_.assignments.push_back({&f, *value, file()});
      return;
    }
    const char* const what = value ? "value out of range" : "wrong type";
    report(f.path(), node.string() == nullptr ? what : rejection_of(what, f, *node.string()), describe(node),
           config::expectation(f));
    r_.broken.insert(f.path());
  }

  void preset(const std::string& block, const json_node& node) {
    const std::string path = block + ".preset";
    if (const std::string* name = node.string()) {
      r_.presets.push_back({block, *name, at(path)});
    } else {
      wrong_type(path, node, "the name of a preset, as text");
    }
  }

  /// Keys that hold a list, or entries by name; false for others.
  bool list(const std::string& path, const json_node& node) {
    if (path == "ccl.algorithms") {
      read_ccl_algorithms(node, *this, r_.ccl);
    } else if (path == "ccl.patterns") {
      read_ccl_patterns(node, *this, r_.ccl);
    } else if (path == "faults") {
      r_.faults = read_faults(node, *this);
    } else if (path == "overrides") {
      overrides(node);
    } else {
      return false;
    }
    r_.list_origins[path] = file();
    return true;
  }

  void block(const block_table& table, const json_node& node) {
    members(table.name, node, "an object",
            [&](const std::string& path, const std::string& name, const json_node& member) {
              if (name == "preset") {
                preset(table.name, member);
              } else if (list(path, member)) {
                return;
              } else if (const field* f = config::find_field(path)) {
                key(*f, member);
              } else {
                report_unknown(path);
              }
            });
  }

  /// [{"match": GLOB, "set": {KEY: VALUE, ...}}, ...]
  void overrides(const json_node& node) {
    r_.overrides.emplace();
    items("overrides", node, "a list of {\"match\": NAME, \"set\": {...}}",
          [this](const std::string& path, const json_node& item) {
            r_.overrides->push_back(override_entry(path, item));
          });
  }

  config::instance_override override_entry(const std::string& path, const json_node& node) {
    config::instance_override o;
    bool sets = false;
    const auto read = [&](const std::string& at, const std::string& name, const json_node& member) {
      if (name == "match" && member.string() != nullptr && !member.string()->empty()) {
        o.match = *member.string();
      } else if (name == "set" && member.object() != nullptr) {
        sets = !member.object()->empty();
        for (const auto& [key, value] : *member.object()) override_value(at, key, value, o);
      } else {
        const bool known = name == "match" || name == "set";
        report(at, known ? "wrong type" : "unknown key", describe(member),
               "match, instance names as text with * and ?, and set, an object");
      }
    };
    if (!members(path, node, "an object with match and set", read)) return o;
    if (o.match.empty()) report(path, "has no match", "", "the name of the instances to change");
    if (!sets) report(path, "sets nothing", "", "set, an object with at least one key");
    return o;
  }

  void override_value(const std::string& path, const std::string& name, const json_node& node,
                      config::instance_override& o) {
    const config::override_key* const key = config::find_override_key(name);
    if (key == nullptr) {
      std::vector<std::string> names;
      for (const config::override_key& k : config::override_keys()) names.push_back(k.name);
      return unknown(path + "." + name, name, names);
    }
    const auto value =
        key->row != nullptr ? convert_node(*key->row, node) : std::optional<field_value>(node.flag());
    if (value && config::accepts_override(*key, *value)) return key->set(o, *value);
    report(path + "." + name, value ? "value out of range" : "wrong type", describe(node),
           config::override_expectation(*key));
  }

  /// Address of this file's schema for editors: without an effect on the machine.
  void schema(const json_node& node) {
    if (node.string() == nullptr) wrong_type("$schema", node, "the place of a JSON Schema, as text");
  }

  /// A key as --set has it. An unknown key is reported once it is within its block.
  void dotted(const std::string& name, std::size_t dot) {
    report(name, "a file has keys within their blocks", "",
           fmt::format("{{\"{}\": {{\"{}\": ...}}}}", name.substr(0, dot), name.substr(dot + 1)));
    r_.broken.insert(name);
  }

  void machine(const json_object& members) {
    for (const auto& [name, member] : members) {
      if (name == "extends") continue;
      if (name == "$schema") {
        schema(member);
      } else if (const block_table* table = config::find_block(name)) {
        block(*table, member);
      } else if (const std::size_t dot = name.find('.'); config::find_block(name.substr(0, dot)) != nullptr) {
        dotted(name, dot);
      } else if (!list(name, member)) {
        report_unknown(name);
      }
    }
  }

 private:
  reading& r_;
};

/// `open` holds the files that extend this one, outermost first.
void read_chain(const fs::path& file, std::vector<const input_file*>& open, reading& r) {
  const input_file* const input = &read_input("--config", file);
  const auto same = [input](const input_file* f) {
    return f == input || (f->identity && f->identity == input->identity);
  };
  if (const auto seen = std::ranges::find_if(open, same); seen != open.end()) {
    std::vector<std::string> cycle;
    for (auto at = seen; at != open.end(); ++at) cycle.push_back((*at)->path.string());
    cycle.push_back(file.lexically_normal().string());
    r.problems.push_back({open.back()->path.string() + ": extends", "extends itself",
                          fmt::format("{}", fmt::join(cycle, " -> ")), "a file that does not lead back"});
    return;
  }
  if (open.size() > input_limits::extends) {
    r.problems.push_back({open.back()->path.string() + ": extends", "too many configs extend one another",
                          file.string(), fmt::format("at most {}", input_limits::extends)});
    return;
  }
  const std::size_t known = r.problems.size();
  const std::optional<json_node> tree = read_json_file(file, r.problems);
  for (std::size_t i = known; i < r.problems.size() && !open.empty(); ++i)
    r.problems[i].where = fmt::format("{}: extends: {}", open.back()->path.string(), r.problems[i].where);
  if (!tree) return;
  if (auto other = of_other_kind(*tree, file.string(), "a config")) {
    r.problems.push_back(std::move(*other));
    return;
  }
  file_reader reader(file.string(), r);
  const json_object* const members = tree->object();
  if (members == nullptr) return reader.wrong_type("", *tree, "an object with blocks");

  open.push_back(input);
  if (const json_node* base = tree->member("extends")) {
    if (const std::string* name = base->string()) {
      read_chain(file.parent_path() / *name, open, r);
    } else {
      reader.wrong_type("extends", *base, "the path of a config, relative to this file");
    }
  }
  open.pop_back();
  reader.machine(*members);
}

/// Keys whose value is a table of named objects.
constexpr std::array table_keys{"ccl.algorithms", "ccl.patterns"};

/// `path` is such a key or leads into one, as in ccl.algorithms.ring_1d.pattern=ring_1d. Lists and objects
/// are JSON; the value of a key within the table is a name.
bool read_table(const std::string& path, std::string_view value, const std::string& origin, reading& r) {
  for (const std::string key : table_keys) {
    if (path != key && !path.starts_with(key + ".")) continue;
    const bool json = path == key || value.starts_with('[') || value.starts_with('{');
    std::optional<json_node> node =
        json ? read_json(value, origin, r.problems) : json_node{std::string(value)};
    if (!node) return true;
    for (std::size_t end = path.size(); end > key.size();) {
      const std::size_t dot = path.rfind('.', end - 1);
      node = json_node{json_object{{path.substr(dot + 1, end - dot - 1), std::move(*node)}}};
      end = dot;
    }
    file_reader(origin, r).list(key, *node);
    return true;
  }
  return false;
}

}  // namespace

void read_config_file(const fs::path& file, reading& r) {
  std::vector<const input_file*> open;
  read_chain(file, open, r);
}

void read_set(std::string_view text, reading& r) {
  const std::string origin = fmt::format("--set {}", text);
  if (!is_json_text(std::string(text))) {
    r.problems.push_back({"--set", "is not text", describe({std::string(text)}), "UTF-8"});
    return;
  }
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    r.problems.push_back(
        {"--set", "no PATH=VALUE", fmt::format("'{}'", text), "for example --set noc.hop_cycles=2"});
    return;
  }
  const std::string path(text.substr(0, equals));
  const std::string_view value = text.substr(equals + 1);
  if (path == "overrides" || path == "faults") {
    if (const auto tree = read_json(value, origin, r.problems)) file_reader(origin, r).list(path, *tree);
    return;
  }
  if (read_table(path, value, origin, r)) return;
  const std::size_t dot = path.find('.');
  if (dot != std::string::npos && path.substr(dot) == ".preset" && config::find_block(path.substr(0, dot))) {
    r.presets.push_back({path.substr(0, dot), std::string(value), origin});
    return;
  }
  const field* const f = config::find_field(path);
  if (f == nullptr) {
    problem p = config::unknown_key(path);
    p.where = "--set " + path;
    r.problems.push_back(std::move(p));
    return;
  }
  if (const auto parsed = config::parse_value(*f, value)) {
    r.assignments.push_back({f, *parsed, origin});
    return;
  }
  r.problems.push_back({"--set " + path, rejection_of("not an accepted value", *f, value),
                        fmt::format("'{}'", value), config::expectation(*f)});
  r.broken.insert(path);
}

std::vector<std::string> preset_names(const fs::path& folder, const std::string& block) {
  std::vector<std::string> names;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder / block, error))
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  std::ranges::sort(names);
  return names;
}

std::string preset_source(const json_node& preset) {
  const json_node* const source = preset.member("source");
  const std::string* const text = source == nullptr ? nullptr : source->string();
  return text == nullptr ? std::string{} : *text;
}

void read_preset(const fs::path& folder, const preset_choice& choice, reading& r) {
  const std::vector<std::string> names = preset_names(folder, choice.block);
  if (std::ranges::find(names, choice.name) == names.end()) {
    const std::string known = names.empty() ? fmt::format("block {} has no presets", choice.block)
                                            : "one of " + config::join(names);
    r.problems.push_back(
        {choice.where, config::with_nearest("unknown preset", choice.name, names), choice.name, known});
    return;
  }
  const fs::path file = folder / choice.block / (choice.name + ".json");
  const std::optional<json_node> tree = read_json_file(file, r.problems);
  if (!tree) return;
  file_reader reader(file.string(), r);
  const json_object* const members = tree->object();
  if (members == nullptr) return reader.wrong_type("", *tree, "an object with keys of the block");
  if (preset_source(*tree).empty())
    reader.report("source", "missing or not a text", "", "where the numbers come from");
  for (const auto& [name, member] : *members) {
    if (name == "source") continue;
    const std::string path = choice.block + "." + name;
    if (const field* f = config::find_field(path)) {
      reader.key(*f, member);
    } else {
      reader.report_unknown(path);
    }
  }
}

}  // namespace diecast::platforms
