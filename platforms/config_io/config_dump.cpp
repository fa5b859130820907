// SPDX-License-Identifier: Apache-2.0
// Configs and their schema as JSON text, from the field tables.
#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <vector>

#include "models/abi/registers.hpp"
#include "models/config/field.hpp"
#include "models/config/overrides.hpp"
#include "platforms/config_io/config_json.hpp"
#include "platforms/config_io/config_read.hpp"

namespace diecast::platforms {

namespace {

using config::field;
using config::field_type;
using config::field_value;
using json = nlohmann::ordered_json;

json whole_number(std::uint64_t least, std::uint64_t most) {
  return {{"type", "integer"}, {"minimum", least}, {"maximum", most}};
}

json real_number(const field& f) {
  return {{"type", "number"}, {"minimum", f.real_least}, {"maximum", f.real_most}};
}

json or_auto(json schema) { return {{"oneOf", json::array({{{"const", "auto"}}, std::move(schema)})}}; }

json text_of(const field& f) {
  std::string pattern = "(" + f.pattern + ")";
  if (f.list) pattern += "(," + pattern + ")*";
  if (f.may_be_empty) pattern = "(" + pattern + ")?";
  return {{"type", "string"}, {"pattern", "^" + pattern + "$"}};
}

json type_schema(const field& f) {
  switch (f.type) {
    case field_type::boolean: return {{"type", "boolean"}};
    case field_type::count: return whole_number(f.least, f.most);
    case field_type::count_or_auto: return or_auto(whole_number(f.least, f.most));
    case field_type::real: return real_number(f);
    case field_type::real_or_auto: return or_auto(real_number(f));
    case field_type::text: return text_of(f);
    case field_type::choice: {
      std::vector<std::string> words = f.choices;
      for (const auto& [other, name] : f.spellings) words.push_back(other);
      return {{"enum", words}};
    }
    case field_type::links: {
      const json pair{
          {"type", "array"}, {"items", whole_number(0, UINT32_MAX)}, {"minItems", 2}, {"maxItems", 2}};
      return {{"type", "array"}, {"items", pair}};
    }
  }
  return {};
}

json field_schema(const field& f) {
  json schema = type_schema(f);
  std::string text = f.description;
  if (!f.unit.empty()) text += " Unit: " + f.unit + ".";
  schema["description"] = text + " Source: " + f.source + ".";
  schema["default"] = json_of(config::default_value(f));
  return schema;
}

json object_schema(json properties, const std::string& description) {
  return {{"type", "object"},
          {"description", description},
          {"properties", std::move(properties)},
          {"additionalProperties", false}};
}

json text_schema(const std::string& description) {
  return {{"type", "string"}, {"description", description}};
}

std::string text_of(const json& document) { return document.dump(2) + "\n"; }

struct to_json {
  json operator()(config::automatic) const { return "auto"; }
  json operator()(const std::vector<config::pod_link>& links) const {
    json pairs = json::array();
    for (const config::pod_link& l : links) pairs.push_back({l.from, l.to});
    return pairs;
  }
  json operator()(const auto& plain) const { return plain; }
};

}  // namespace

json json_of(const field_value& value) { return std::visit(to_json{}, value); }

std::string dump_config(const config::machine_config& config) {
  json machine;
  for (const config::block_table& table : config::tables()) {
    json& block = machine[table.name];
    for (const field& f : table.fields) block[f.key] = json_of(f.get(config));
    if (table.name != "ccl") continue;
    block["algorithms"] = ccl_algorithms_json(config.ccl_named);
    block["patterns"] = ccl_patterns_json(config.ccl_named);
  }
  machine["faults"] = faults_json(config.faults);
  json& overrides = machine["overrides"] = json::array();
  for (const config::instance_override& o : config.overrides) {
    json set = json::object();
    for (const config::override_key& k : config::override_keys())
      if (const auto value = k.get(o)) set[k.name] = json_of(*value);
    overrides.push_back({{"match", o.match}, {"set", std::move(set)}});
  }
  return text_of(machine);
}

namespace {

json overrides_schema() {
  json keys;
  for (const config::override_key& k : config::override_keys()) {
    json& schema = keys[k.name] = {{"type", "boolean"}};
    if (k.row != nullptr)
      schema = k.row->type == field_type::count ? type_schema(*k.row) : real_number(*k.row);
    schema["description"] = k.description;
  }
  json set = object_schema(std::move(keys), "Values of these instances that differ from their block.");
  set["minProperties"] = 1;
  const json match{{"type", "string"},
                   {"minLength", 1},
                   {"description", "Instance names, with * and ?: pod.sip0.cube_1_2.pe3."}};
  json item = object_schema({{"match", match}, {"set", std::move(set)}}, "Settings of single instances.");
  item["required"] = {"match", "set"};
  return {{"type", "array"}, {"items", std::move(item)}};
}

json faults_schema() {
  json keys;
  for (const config::fault_key& k : config::fault_keys()) {
    keys[k.row.key] = type_schema(k.row);
    keys[k.row.key]["description"] = k.row.description;
  }
  json item = object_schema(std::move(keys), "Faults to inject.");
  item["required"] = {"kind", "where"};
  return {{"type", "array"}, {"items", std::move(item)}};
}

}  // namespace

std::string config_schema() {
  json blocks{{"$schema", text_schema("Where an editor finds this schema; not read.")},
              {"extends", text_schema("A config, relative to this file, that this one builds on.")}};
  for (const config::block_table& table : config::tables()) {
    json keys{{"preset", text_schema("Name of a file in presets/" + table.name + ".")}};
    for (const field& f : table.fields) keys[f.key] = field_schema(f);
    if (table.name == "ccl") {
      keys["algorithms"] = ccl_algorithms_schema();
      keys["patterns"] = ccl_patterns_schema();
    }
    blocks[table.name] = object_schema(std::move(keys), table.description);
  }
  blocks["faults"] = faults_schema();
  blocks["overrides"] = overrides_schema();
  json schema{{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", "Diecast config"}};
  schema.update(object_schema(std::move(blocks), "A machine and a run."));
  return text_of(schema);
}

namespace {

std::string values_of(const field& f) {
  const auto range = [&] { return fmt::format("{} .. {}", f.least, f.most); };
  switch (f.type) {
    case field_type::boolean: return "true, false";
    case field_type::count: return range();
    case field_type::count_or_auto: return range() + ", auto";
    case field_type::real: return fmt::format("{} .. {}, real", f.real_least, f.real_most);
    case field_type::real_or_auto: return fmt::format("{} .. {}, real, auto", f.real_least, f.real_most);
    case field_type::text: return "text";
    case field_type::choice: return fmt::format("{}", fmt::join(f.choices, ", "));
    case field_type::links: return "[[0, 1], ...]";
  }
  return {};
}

std::string default_of(const field& f) {
  const std::string text = config::to_text(config::default_value(f));
  return text.empty() ? "none" : text;
}

const char* access_name(abi::access mode) {
  switch (mode) {
    case abi::access::read_only: return "read";
    case abi::access::read_write: return "read, write";
    case abi::access::write_only: return "write";
    case abi::access::read_pops: return "read (pops)";
  }
  return "unknown";
}

}  // namespace

std::string table_cell(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '|') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string config_markdown() {
  std::string page = R"(<!-- Generated from the field tables in models/config. Do not edit. -->
# Config keys

Which keys does a config have, with which units, ranges and defaults?

A config is a JSON file with comments; every key below may be left out. Precedence: default, preset,
`"extends"` (objects merge, arrays replace; relative to the file), file, `--set PATH=VALUE` from left to
right. `"preset": NAME` in a block takes `presets/BLOCK/NAME.json`. Keys in bytes also take the suffixes
B, KiB, MiB and GiB after `--set`. Unknown keys, duplicate keys, wrong types, values out of range and keys
that contradict each other are errors. `"$schema"`, the place of a JSON Schema for an editor, is not read.

The last column names the source of a default: a paper, a standard, a product, or `assumption`, a value
chosen for this model without a published source.
)";
  for (const config::block_table& table : config::tables()) {
    page += fmt::format("\n## {}\n\n{}\n\n", table.name, table.description);
    page += "| key | unit | values | default | meaning | source |\n|---|---|---|---|---|---|\n";
    for (const field& f : table.fields)
      page += fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", f.path(), f.unit, table_cell(values_of(f)),
                          table_cell(default_of(f)), table_cell(f.description), table_cell(f.source));
  }
  page +=
      "\n## overrides\n\nSettings of single instances: a list of `{\"match\": NAME, \"set\": {...}}`, "
      "applied in order.\n`match` takes `*` and `?` and means names as results have them: a PE "
      "(`pod.sip0.cube_1_2.pe3`), a memory channel\n(`pod.sip0.cube_1_2.hbm0`), a die (`pod.sip0.cube_1_2` "
      "or its `.noc`), a UCIe link by its side of a cube\n(`pod.sip0.cube_1_2.ucie_east`, or `ucie_e`), a "
      "SIP link by its port (`pod.sip0.sip_port_e`) or as in links.csv\n(`pod.sip0.e-sip1.w`). Either end "
      "names a link, and it changes in both directions. An override changes matches that have\nany of its "
      "keys; they must have all. A name that matches nothing is an error, as is one of a router or of a\n"
      "link within a die. [What is missing](degradation.md) costs ranks and time.\n\n| key of `set` | values "
      "| meaning |\n|---|---|---|\n";
  for (const config::override_key& k : config::override_keys())
    page += fmt::format("| `{}` | {} | {} |\n", k.name, table_cell(config::override_expectation(k)),
                        k.description);
  page += ccl_tables_markdown();
  return page + faults_markdown();
}

std::string registers_markdown() {
  std::string page = fmt::format(
      "<!-- Generated from the register map in models/abi. Do not edit. -->\n# Registers of a PE\n\nWhich "
      "registers does firmware see, and at which offsets? Offsets are bytes within the `pe_registers` region "
      "of a PE; every register is\n64 bits wide. A register of queue pair N is at the offset given for queue "
      "pair 0 plus N x {:#x}.\n\n| offset | name | access | meaning |\n|---|---|---|---|\n",
      abi::ipcq_qp_stride);
  std::vector<abi::register_description> all;
  for (const auto map : {abi::register_map(), abi::tag_register_map()})
    all.insert(all.end(), map.begin(), map.end());
  std::ranges::sort(all, {}, &abi::register_description::offset);
  for (const abi::register_description& r : all)
    page += fmt::format("| {:#07x} | `{}` | {} | {} |\n", r.offset, r.name, access_name(r.mode),
                        table_cell(r.meaning));
  return page;
}

}  // namespace diecast::platforms
