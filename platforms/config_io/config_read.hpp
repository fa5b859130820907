// SPDX-License-Identifier: Apache-2.0
// Reads one file or one --set into checked values. Used by config_json.cpp.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "models/config/ccl_tables.hpp"
#include "models/config/field.hpp"
#include "platforms/files/json_tree.hpp"

namespace diecast::platforms {

/// One value that passed its own row's checks.
struct assignment {
  const config::field* key{};
  config::field_value value;
  std::string origin;
};

/// A preset that a block names.
struct preset_choice {
  std::string block;
  std::string name;
  std::string where;  ///< place of the request, for messages
};

/// The values read so far, lowest precedence first.
struct reading {
  std::vector<assignment> assignments;
  std::vector<preset_choice> presets;
  std::vector<problem> problems;
  std::set<std::string> broken;  ///< paths whose value was refused
  /// The last list that was given; arrays replace.
  std::optional<std::vector<config::instance_override>> overrides;
  std::map<std::string, std::string> list_origins;  ///< keys: overrides, faults, ccl.algorithms, ccl.patterns
  config::ccl_tables ccl;                           ///< ccl.algorithms and ccl.patterns, merged
  std::optional<std::vector<config::fault_setting>> faults;  ///< the last list that was given
};

/// The node as a value of the field's type; empty when the type is wrong. A whole number is also a real one;
/// nothing else converts.
[[nodiscard]] std::optional<config::field_value> convert_node(const config::field& f, const json_node& node);

/// The value as a config has it.
[[nodiscard]] nlohmann::ordered_json json_of(const config::field_value& value);

/// The list `faults`, with only the keys that the kind of each takes: reads back as the same list.
[[nodiscard]] nlohmann::ordered_json faults_json(const std::vector<config::fault_setting>& faults);

/// Text of a cell of a table in Markdown, which a bar would end.
[[nodiscard]] std::string table_cell(const std::string& text);

/// Reads a file after everything it extends.
void read_config_file(const std::filesystem::path& file, reading& r);

/// Reads "PATH=VALUE".
void read_set(std::string_view text, reading& r);

/// Reads presets/BLOCK/NAME.json into `r`.
void read_preset(const std::filesystem::path& folder, const preset_choice& choice, reading& r);

/// presets/BLOCK/NAME.json names without the ending, sorted; empty when the block has none.
[[nodiscard]] std::vector<std::string> preset_names(const std::filesystem::path& folder,
                                                    const std::string& block);

/// The "source" of a preset file.
[[nodiscard]] std::string preset_source(const json_node& preset);

// The keys ccl.algorithms and ccl.patterns of a config: read, written, described.
//
//   "algorithms": { "ring_1d": { "pattern": NAME, "mapper": NAME, "validator": NAME, "buffer_kind": "tcm",
//                                "cube_layout": "column_wise", "pe_layout": "replicate",
//                                "members": ["sip0.cube0.pe0", ...] } }
//   "patterns":   { "star": [ { "from": "sip0.cube0.pe0", "direction": "out1", "to": "sip0.cube1.pe0",
//                               "bidirectional": true, "reverse": "in" }, ... ] }

/// Reads the value of ccl.algorithms or ccl.patterns into `tables`: objects merge, lists replace.
void read_ccl_algorithms(const json_node& node, const json_checker& file, config::ccl_tables& tables);
void read_ccl_patterns(const json_node& node, const json_checker& file, config::ccl_tables& tables);

[[nodiscard]] nlohmann::ordered_json ccl_algorithms_json(const config::ccl_tables& tables);
[[nodiscard]] nlohmann::ordered_json ccl_patterns_json(const config::ccl_tables& tables);
[[nodiscard]] nlohmann::ordered_json ccl_algorithms_schema();
[[nodiscard]] nlohmann::ordered_json ccl_patterns_schema();
/// Section of docs/config.md.
[[nodiscard]] std::string ccl_tables_markdown();

}  // namespace diecast::platforms
