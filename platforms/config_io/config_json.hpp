// SPDX-License-Identifier: Apache-2.0
// Configs as files and command-line text. Strict: unknown and duplicate keys, wrong types, values
// out of range and keys that contradict each other are all reported at once, with file, path,
// value and expectation.
//
// Precedence: default < preset < "extends" (objects merge, arrays replace) < file < --set from
// left to right. "preset": NAME within a block names presets/BLOCK/NAME.json; the last name wins.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "models/config/faults.hpp"
#include "models/config/machine_config.hpp"
#include "platforms/files/json_tree.hpp"

namespace diecast::platforms {

struct config_request {
  std::filesystem::path file;     ///< empty: the defaults
  std::vector<std::string> sets;  ///< "PATH=VALUE", from left to right
  std::filesystem::path presets;  ///< folder of presets; empty: the shipped one
};

struct loaded_config {
  config::machine_config config;
  /// Dotted path -> file or "--set PATH=VALUE" that gave the value; absent: the default.
  std::map<std::string, std::string> origins;
};

/// Throws user_error with every problem of the file, what it extends, its presets and the sets.
[[nodiscard]] loaded_config load_config(const config_request& request);

struct preset_info {
  std::string block;
  std::string name;
  std::string source;  ///< where its numbers come from
};
/// Every preset of the folder by block and name. Throws user_error when one cannot be read.
[[nodiscard]] std::vector<preset_info> list_presets(const std::filesystem::path& presets);

/// Every key with its effective value, as a config file that loads to the same config.
[[nodiscard]] std::string dump_config(const config::machine_config& config);

/// SHA-256 of dump_config: equal for equal machines, however they were written.
[[nodiscard]] std::string config_sha256(const config::machine_config& config);

/// JSON Schema (2020-12) of a config file.
[[nodiscard]] std::string config_schema();

// Pages of the documentation that the tables write: docs/config.md and docs/registers.md.

/// Every config key with unit, values, default, description and source, a table per block.
[[nodiscard]] std::string config_markdown();

/// The register map of a PE (models/abi/registers.hpp).
[[nodiscard]] std::string registers_markdown();

// The list `faults` of a config, and its schema and reference table.

/// [{"kind": NAME, "where": GLOB, ...}, ...]. What is wrong is reported; the entry then holds defaults there.
[[nodiscard]] std::vector<config::fault_setting> read_faults(const json_node& node, json_checker& check);

/// The section of docs/config.md.
[[nodiscard]] std::string faults_markdown();

/// The table of --list faults.
[[nodiscard]] std::string faults_text();

// Place of the shipped files. A build tree and an installation look alike: binaries in bin/, data
// in share/diecast/ next to it (in a build tree a link to the sources' platforms/).

/// The data folder: `given`, or share/diecast of the running binary when that is empty. Throws
/// user_error with the folder tried.
[[nodiscard]] std::filesystem::path data_dir(const std::filesystem::path& given = {});
[[nodiscard]] std::filesystem::path configs_dir(const std::filesystem::path& given = {});
[[nodiscard]] std::filesystem::path presets_dir(const std::filesystem::path& given = {});

/// The config a platform runs without --config: a file of configs/ ("pod_default.json"), or a file
/// elsewhere by its absolute path. Throws user_error when it is not there.
[[nodiscard]] std::filesystem::path default_config(const std::filesystem::path& file,
                                                   const std::filesystem::path& given_data_dir = {});

}  // namespace diecast::platforms
