// SPDX-License-Identifier: Apache-2.0
// From what stands in one file or behind one --set to checked values. Used by config_json.cpp.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "models/config/field.hpp"
#include "platforms/io/json_tree.hpp"

namespace diecast::platforms {

/// One value that passed its own row's checks.
struct assignment {
  const config::field* key{};
  config::field_value value;
  std::string origin;
};

/// A preset that a block asks for.
struct preset_choice {
  std::string block;
  std::string name;
  std::string where;  ///< where the request stands, for messages
};

/// What was read so far, lowest precedence first.
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

}  // namespace diecast::platforms
