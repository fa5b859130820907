// SPDX-License-Identifier: Apache-2.0
// The list `faults` of a config, and its schema and reference table.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "models/config/faults.hpp"
#include "platforms/io/json_tree.hpp"

namespace diecast::platforms {

/// path within the file, what, value, expected
using problem_reporter =
    std::function<void(const std::string&, const std::string&, const std::string&, const std::string&)>;

/// [{"kind": NAME, "where": GLOB, ...}, ...]. What is wrong is reported; the entry then holds defaults there.
[[nodiscard]] std::vector<config::fault_setting> read_faults(const json_node& node,
                                                             const problem_reporter& report);

/// Only the keys its kind takes: reads back as the same list.
[[nodiscard]] json_node faults_node(const std::vector<config::fault_setting>& faults);

/// The section of docs/config.md.
[[nodiscard]] std::string faults_markdown();

/// The table of --list faults.
[[nodiscard]] std::string faults_text();

}  // namespace diecast::platforms
