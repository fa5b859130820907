// SPDX-License-Identifier: Apache-2.0
// The keys ccl.algorithms and ccl.patterns of a config: read, written, described.
//
//   "algorithms": { "ring_1d": { "pattern": NAME, "mapper": NAME, "validator": NAME, "buffer_kind": "tcm",
//                                "cube_layout": "column_wise", "pe_layout": "replicate",
//                                "members": ["sip0.cube0.pe0", ...] } }
//   "patterns":   { "star": [ { "from": "sip0.cube0.pe0", "direction": "out1", "to": "sip0.cube1.pe0",
//                               "bidirectional": true, "reverse": "in" }, ... ] }
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/config/ccl_tables.hpp"
#include "platforms/io/json_tree.hpp"

namespace diecast::platforms {

/// Reads the value of ccl.algorithms or ccl.patterns into `tables`: objects merge, lists replace. What is
/// wrong is appended with `file` in front.
void read_ccl_algorithms(const json_node& node, const std::string& file, config::ccl_tables& tables,
                         std::vector<problem>& problems);
void read_ccl_patterns(const json_node& node, const std::string& file, config::ccl_tables& tables,
                       std::vector<problem>& problems);

[[nodiscard]] json_node ccl_algorithms_node(const config::ccl_tables& tables);
[[nodiscard]] json_node ccl_patterns_node(const config::ccl_tables& tables);
[[nodiscard]] json_node ccl_algorithms_schema();
[[nodiscard]] json_node ccl_patterns_schema();
/// Section of docs/config.md.
[[nodiscard]] std::string ccl_tables_markdown();

/// "sip0.cube1.pe2" as a PE; empty when the text is not of that form.
[[nodiscard]] std::optional<pe_coord> parse_pe(const std::string& text);

}  // namespace diecast::platforms
