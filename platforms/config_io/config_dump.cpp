// SPDX-License-Identifier: Apache-2.0
// Configs and their schema as JSON text, from the field tables.
#include <algorithm>
#include <fmt/format.h>
#include <vector>

#include "models/abi/registers.hpp"
#include "models/config/field.hpp"
#include "models/config/overrides.hpp"
#include "platforms/config_io/config_json.hpp"
#include "platforms/config_io/config_read.hpp"
#include "platforms/files/json_tree.hpp"

namespace diecast::platforms {

namespace {

using config::field;
using config::field_type;
using config::field_value;

struct to_node {
  json_node operator()(bool b) const { return {b}; }
  json_node operator()(std::uint64_t n) const { return json_number(n); }
  json_node operator()(double x) const { return json_number(x); }
  json_node operator()(const std::string& s) const { return json_text(s); }
  json_node operator()(config::automatic) const { return json_text("auto"); }
  json_node operator()(const std::vector<config::pod_link>& links) const {
    json_array pairs;
    for (const config::pod_link& l : links)
      pairs.push_back({json_array{json_number(std::uint64_t{l.from}), json_number(std::uint64_t{l.to})}});
    return {std::move(pairs)};
  }
};

json_node node_of(const field_value& value) { return std::visit(to_node{}, value); }

json_object whole_number(std::uint64_t least, std::uint64_t most) {
  return {{"type", json_text("integer")}, {"minimum", json_number(least)}, {"maximum", json_number(most)}};
}

json_object real_number(const field& f) {
  return {{"type", json_text("number")},
          {"minimum", json_number(f.real_least)},
          {"maximum", json_number(f.real_most)}};
}

json_object or_auto(json_object schema) {
  return {{"oneOf", {json_array{{json_object{{"const", json_text("auto")}}}, {std::move(schema)}}}}};
}

json_object text_of(const field& f) {
  std::string pattern = "(" + f.pattern + ")";
  if (f.list) pattern += "(," + pattern + ")*";
  if (f.may_be_empty) pattern = "(" + pattern + ")?";
  return {{"type", json_text("string")}, {"pattern", json_text("^" + pattern + "$")}};
}

json_object type_schema(const field& f) {
  switch (f.type) {
    case field_type::boolean: return {{"type", json_text("boolean")}};
    case field_type::count: return whole_number(f.least, f.most);
    case field_type::count_or_auto: return or_auto(whole_number(f.least, f.most));
    case field_type::real: return real_number(f);
    case field_type::real_or_auto: return or_auto(real_number(f));
    case field_type::text: return text_of(f);
    case field_type::choice: {
      std::vector<std::string> words = f.choices;
      for (const auto& [other, name] : f.spellings) words.push_back(other);
      return {{"enum", json_texts(words)}};
    }
    case field_type::links: {
      json_object pair{{"type", json_text("array")},
                       {"items", {whole_number(0, UINT32_MAX)}},
                       {"minItems", json_number(std::uint64_t{2})},
                       {"maxItems", json_number(std::uint64_t{2})}};
      return {{"type", json_text("array")}, {"items", {std::move(pair)}}};
    }
  }
  return {};
}

json_node field_schema(const field& f) {
  json_object schema = type_schema(f);
  std::string text = f.description;
  if (!f.unit.empty()) text += " Unit: " + f.unit + ".";
  schema.emplace_back("description", json_text(text + " Source: " + f.source + "."));
  schema.emplace_back("default", node_of(config::default_value(f)));
  return {std::move(schema)};
}

json_node object_schema(json_object properties, const std::string& description) {
  return {json_object{{"type", json_text("object")},
                      {"description", json_text(description)},
                      {"properties", {std::move(properties)}},
                      {"additionalProperties", {false}}}};
}

json_node text_schema(const std::string& description) {
  return {json_object{{"type", json_text("string")}, {"description", json_text(description)}}};
}

}  // namespace

std::string dump_config(const config::machine_config& config) {
  json_object machine;
  for (const config::block_table& table : config::tables()) {
    json_object block;
    for (const field& f : table.fields) block.emplace_back(f.key, node_of(f.get(config)));
    if (table.name == "ccl") {
      block.emplace_back("algorithms", ccl_algorithms_node(config.ccl_named));
      block.emplace_back("patterns", ccl_patterns_node(config.ccl_named));
    }
    machine.emplace_back(table.name, json_node{std::move(block)});
  }
  json_array overrides;
  for (const config::instance_override& o : config.overrides) {
    json_object set;
    for (const config::override_key& k : config::override_keys())
      if (const auto value = k.get(o)) set.emplace_back(k.name, node_of(*value));
    overrides.push_back({json_object{{"match", json_text(o.match)}, {"set", {std::move(set)}}}});
  }
  machine.emplace_back("faults", faults_node(config.faults));
  machine.emplace_back("overrides", json_node{std::move(overrides)});
  return write_json({std::move(machine)});
}

namespace {

json_node overrides_schema() {
  json_object keys;
  for (const config::override_key& k : config::override_keys()) {
    json_object schema{{"type", json_text("boolean")}};
    if (k.row != nullptr)
      schema = k.row->type == field_type::count ? type_schema(*k.row) : real_number(*k.row);
    schema.emplace_back("description", json_text(k.description));
    keys.emplace_back(k.name, json_node{std::move(schema)});
  }
  json_node set = object_schema(std::move(keys), "Values of these instances that differ from their block.");
  std::get<json_object>(set.value).emplace_back("minProperties", json_number(std::uint64_t{1}));
  json_object match{{"type", json_text("string")},
                    {"minLength", json_number(std::uint64_t{1})},
                    {"description", json_text("Instance names, with * and ?: pod.sip0.cube_1_2.pe3.")}};
  json_object members{{"match", {std::move(match)}}, {"set", std::move(set)}};
  json_node item = object_schema(std::move(members), "Settings of single instances.");
  std::get<json_object>(item.value).emplace_back("required", json_texts({"match", "set"}));
  return {json_object{{"type", json_text("array")}, {"items", std::move(item)}}};
}

json_node faults_schema() {
  json_object keys;
  for (const config::fault_key& k : config::fault_keys()) {
    json_object schema = type_schema(k.row);
    schema.emplace_back("description", json_text(k.row.description));
    keys.emplace_back(k.row.key, json_node{std::move(schema)});
  }
  json_node item = object_schema(std::move(keys), "Faults to inject.");
  std::get<json_object>(item.value).emplace_back("required", json_texts({"kind", "where"}));
  return {json_object{{"type", json_text("array")}, {"items", std::move(item)}}};
}

}  // namespace

std::string config_schema() {
  json_object blocks;
  blocks.emplace_back("$schema", text_schema("Where an editor finds this schema; not read."));
  blocks.emplace_back("extends", text_schema("A config, relative to this file, that this one builds on."));
  for (const config::block_table& table : config::tables()) {
    json_object keys;
    keys.emplace_back("preset", text_schema("Name of a file in presets/" + table.name + "."));
    for (const field& f : table.fields) keys.emplace_back(f.key, field_schema(f));
    if (table.name == "ccl") {
      keys.emplace_back("algorithms", ccl_algorithms_schema());
      keys.emplace_back("patterns", ccl_patterns_schema());
    }
    blocks.emplace_back(table.name, object_schema(std::move(keys), table.description));
  }
  blocks.emplace_back("faults", faults_schema());
  blocks.emplace_back("overrides", overrides_schema());
  json_object schema{{"$schema", json_text("https://json-schema.org/draft/2020-12/schema")},
                     {"title", json_text("Diecast config")}};
  json_node body = object_schema(std::move(blocks), "A machine and a run.");
  for (auto& member : std::get<json_object>(body.value)) schema.push_back(std::move(member));
  return write_json({std::move(schema)});
}

namespace {

using config::field;
using config::field_type;

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

/// A bar would end the cell.
std::string cell(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '|') escaped += '\\';
    escaped += c;
  }
  return escaped;
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

std::string config_markdown() {
  std::string page =
      "<!-- Generated from the field tables in models/config. Do not edit. -->\n"
      "# Config keys\n\n"
      "Which keys does a config have, with which units, ranges and defaults?\n\n"
      "A config is a JSON file with comments; every key below may be left out. Precedence: default, preset,\n"
      "`\"extends\"` (objects merge, arrays replace; relative to the file), file, `--set PATH=VALUE` from "
      "left to\n"
      "right. `\"preset\": NAME` in a block takes `presets/BLOCK/NAME.json`. Keys in bytes also take the "
      "suffixes\n"
      "B, KiB, MiB and GiB after `--set`. Unknown keys, duplicate keys, wrong types, values out of range and "
      "keys\n"
      "that contradict each other are errors. `\"$schema\"`, the place of a JSON Schema for an editor, is "
      "not read.\n\n"
      "The last column names the source of a default: a paper, a standard, a product, or `assumption`, a "
      "value\n"
      "chosen for this model without a published source.\n";
  for (const config::block_table& table : config::tables()) {
    page += fmt::format("\n## {}\n\n{}\n\n", table.name, table.description);
    page += "| key | unit | values | default | meaning | source |\n|---|---|---|---|---|---|\n";
    for (const field& f : table.fields)
      page += fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", f.path(), f.unit, cell(values_of(f)),
                          cell(default_of(f)), cell(f.description), cell(f.source));
  }
  page +=
      "\n## overrides\n\nSettings of single instances: a list of `{\"match\": NAME, \"set\": {...}}`, "
      "applied in "
      "order.\n"
      "`match` takes `*` and `?` and means names as results have them: a PE (`pod.sip0.cube_1_2.pe3`), a "
      "memory "
      "channel\n"
      "(`pod.sip0.cube_1_2.hbm0`), a die (`pod.sip0.cube_1_2` or its `.noc`), a UCIe link by its side of a "
      "cube\n"
      "(`pod.sip0.cube_1_2.ucie_east`, or `ucie_e`), a SIP link by its port (`pod.sip0.sip_port_e`) or as in "
      "links.csv\n"
      "(`pod.sip0.e-sip1.w`). Either end names a link, and it changes in both directions. An override "
      "changes "
      "matches that have\n"
      "any of its keys; they must have all. A name that matches nothing is an error, as is one of a "
      "router "
      "or of a\n"
      "link within a die. [What is missing](degradation.md) costs ranks and time.\n\n"
      "| key of `set` | values | meaning |\n|---|---|---|\n";
  for (const config::override_key& k : config::override_keys())
    page += fmt::format("| `{}` | {} | {} |\n", k.name, cell(config::override_expectation(k)), k.description);
  page += ccl_tables_markdown();
  return page + faults_markdown();
}

std::string registers_markdown() {
  std::string page = fmt::format(
      "<!-- Generated from the register map in models/abi. Do not edit. -->\n"
      "# Registers of a PE\n\n"
      "Which registers does firmware see, and at which offsets? Offsets are bytes within the `pe_registers` "
      "region of a PE; every register is\n"
      "64 bits wide. A register of queue pair N is at the offset given for queue pair 0 plus N x {:#x}.\n\n"
      "| offset | name | access | meaning |\n|---|---|---|---|\n",
      abi::ipcq_qp_stride);
  std::vector<abi::register_description> all;
  for (const auto map : {abi::register_map(), abi::tag_register_map()})
    all.insert(all.end(), map.begin(), map.end());
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.offset < b.offset; });
  for (const abi::register_description& r : all)
    page +=
        fmt::format("| {:#07x} | `{}` | {} | {} |\n", r.offset, r.name, access_name(r.mode), cell(r.meaning));
  return page;
}

}  // namespace diecast::platforms
