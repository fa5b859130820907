// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fmt/format.h>
#include <vector>

#include "models/abi/registers.hpp"
#include "models/config/field.hpp"
#include "models/config/overrides.hpp"
#include "platforms/io/ccl_json.hpp"
#include "platforms/io/config_json.hpp"

namespace diecast::platforms {
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
    for (const field& f : table.fields) {
      page += fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", f.path(), f.unit, cell(values_of(f)),
                          cell(default_of(f)), cell(f.description), cell(f.source));
    }
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
      "| offset | name | access | reset | meaning |\n|---|---|---|---|---|\n",
      abi::ipcq_qp_stride);
  std::vector<abi::register_description> all;
  for (const auto map : {abi::register_map(), abi::tag_register_map()})
    all.insert(all.end(), map.begin(), map.end());
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.offset < b.offset; });
  for (const abi::register_description& r : all) {
    page += fmt::format("| {:#07x} | `{}` | {} | {} | {} |\n", r.offset, r.name, access_name(r.mode), r.reset,
                        cell(r.meaning));
  }
  return page;
}

}  // namespace diecast::platforms
