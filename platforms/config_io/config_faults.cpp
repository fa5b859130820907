// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "models/config/text.hpp"
#include "platforms/config_io/config_json.hpp"
#include "platforms/config_io/config_read.hpp"

namespace diecast::platforms {
namespace {

using config::fault_key;
using config::fault_kind_entry;
using config::fault_setting;
using config::field_value;

std::optional<field_value> to_links(const json_array& items) {
  std::vector<config::pod_link> links;
  for (const json_node& item : items) {
    const json_array* const pair = item.array();
    if (pair == nullptr || pair->size() != 2) return std::nullopt;
    const auto from = pair->front().count(), to = pair->back().count();
    if (!from || !to || *from > UINT32_MAX || *to > UINT32_MAX) return std::nullopt;
    links.push_back({static_cast<std::uint32_t>(*from), static_cast<std::uint32_t>(*to)});
  }
  return links;
}

}  // namespace

std::optional<field_value> convert_node(const config::field& f, const json_node& node) {
  const std::string* const s = node.string();
  const bool automatic = s != nullptr && *s == "auto";
  switch (f.type) {
    case config::field_type::boolean: return node.flag();
    case config::field_type::count_or_auto:
      if (automatic) return config::automatic{};
      [[fallthrough]];
    case config::field_type::count: return node.count();
    case config::field_type::real_or_auto:
      if (automatic) return config::automatic{};
      [[fallthrough]];
    case config::field_type::real: return node.real();
    case config::field_type::text:
    case config::field_type::choice:
      if (s != nullptr) return *s;
      return std::nullopt;
    case config::field_type::links:
      if (const json_array* items = node.array()) return to_links(*items);
      return std::nullopt;
  }
  return std::nullopt;
}

namespace {

std::vector<std::string> keys_of(const fault_kind_entry& kind) {
  std::vector<std::string> names{"kind", "where"};
  names.insert(names.end(), kind.keys.begin(), kind.keys.end());
  names.emplace_back("seed");
  return names;
}

void read_key(fault_setting& fault, const fault_kind_entry& kind, const std::string& path,
              const std::string& name, const json_node& node, json_checker& check) {
  const fault_key* const key = config::find_fault_key(name);
  if (key == nullptr)
    return check.report(path, config::with_nearest("unknown key", name, keys_of(kind)), describe(node),
                        "one of " + config::join(keys_of(kind)));
  if (!config::takes(kind.kind, name))
    return check.report(path, fmt::format("does not apply to a fault of kind {}", kind.name), describe(node),
                        "one of " + config::join(keys_of(kind)));
  const auto value = convert_node(key->row, node);
  if (value && config::accepts(key->row, *value)) return key->set(fault, *value);
  check.report(path, value ? "value out of range" : "wrong type", describe(node),
               config::expectation(key->row));
}

fault_setting read_fault(const std::string& path, const json_node& node, json_checker& check) {
  fault_setting fault;
  const json_object* const members = node.object();
  if (members == nullptr) return check.wrong_type(path, node, "an object with kind and where"), fault;
  const json_node* const name = node.member("kind");
  const std::string* const given = name == nullptr ? nullptr : name->string();
  const fault_kind_entry* const kind = given == nullptr ? nullptr : config::find_fault_kind(*given);
  if (kind == nullptr) {
    std::vector<std::string> names;
    for (const fault_kind_entry& k : config::fault_kinds()) names.push_back(k.name);
    check.report(path + ".kind",
                 name == nullptr ? "is missing"
                                 : config::with_nearest("no such kind of fault", given ? *given : "", names),
                 name == nullptr ? "" : describe(*name), "one of " + config::join(names));
    return fault;
  }
  fault.kind = kind->kind;
  for (const auto& [key, value] : *members)
    if (key != "kind") read_key(fault, *kind, fmt::format("{}.{}", path, key), key, value, check);
  if (node.member("where") == nullptr)
    check.report(path + ".where", "is missing", "", fmt::format("the name of {}, with * and ?", kind->place));
  const bool of_install = fault.variant != "trap" && fault.variant != "wrong_routine";
  if (!fault.variant.empty() && of_install != (fault.kind == config::fault_kind::wrong_install))
    check.report(path + ".how", fmt::format("does not apply to a fault of kind {}", kind->name),
                 '"' + fault.variant + '"',
                 of_install ? "trap or wrong_routine" : "swap, overlap or first_match");
  if (fault.kind == config::fault_kind::slow_pe && std::floor(fault.factor) != fault.factor)
    check.report(path + ".factor", "a core's clock is divided by a whole number",
                 fmt::format("{}", fault.factor), "a whole number");
  return fault;
}

}  // namespace

std::vector<fault_setting> read_faults(const json_node& node, json_checker& check) {
  std::vector<fault_setting> faults;
  check.items("faults", node, "a list of {\"kind\": NAME, \"where\": NAME, ...}",
              [&](const std::string& path, const json_node& item) {
                faults.push_back(read_fault(path, item, check));
              });
  return faults;
}

nlohmann::ordered_json faults_json(const std::vector<fault_setting>& faults) {
  auto items = nlohmann::ordered_json::array();
  for (const fault_setting& f : faults) {
    auto& item = items.emplace_back();
    for (const fault_key& k : config::fault_keys()) {
      if (!config::takes(f.kind, k.row.key)) continue;
      const auto value = json_of(k.get(f));
      if (value != "") item[k.row.key] = value;
    }
  }
  return items;
}

std::string faults_markdown() {
  std::string page =
      "\n## faults\n\nWhat is made to go wrong: a list of `{\"kind\": NAME, \"where\": NAME, ...}`. `where` "
      "takes `*` and `?`\nand names PEs (`pod.sip0.cube_1_2.pe3`), UCIe sides "
      "(`pod.sip0.cube_1_2.ucie_east`, packets that leave there)\nor SIP ports (`pod.sip0.sip_port_e`). A "
      "name that matches nothing is an error. `--set faults=[...]` replaces\nthe list.\n\n| kind | mechanism "
      "| `where` names | keys | meaning |\n|---|---|---|---|---|\n";
  for (const fault_kind_entry& k : config::fault_kinds())
    page += fmt::format("| `{}` | {} | {} | {} | {} |\n", k.name, config::mechanisms_of(k), k.place,
                        config::join(k.keys), k.description);
  page += "\n| key | unit | values | default | meaning |\n|---|---|---|---|---|\n";
  const fault_setting standard;
  for (const fault_key& k : config::fault_keys()) {
    if (k.row.key == "kind") continue;
    page += fmt::format("| `{}` | {} | {} | {} | {} |\n", k.row.key, k.row.unit,
                        table_cell(config::expectation(k.row)), config::to_text(k.get(standard)),
                        k.row.description);
  }
  return page;
}

std::string faults_text() {
  std::string text = fmt::format("{:<20} {:<28} {:<44} {}\n", "kind", "mechanism", "keys", "what happens");
  for (const fault_kind_entry& k : config::fault_kinds())
    text += fmt::format("{:<20} {:<28} {:<44} {}\n", k.name, config::mechanisms_of(k), config::join(k.keys),
                        k.description);
  return text;
}

}  // namespace diecast::platforms
