// SPDX-License-Identifier: Apache-2.0
// Reads workload files (JSON, comments allowed).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "platforms/files/json_tree.hpp"
#include "sw/workload/workload.hpp"

namespace diecast::platforms {

/// `kinds`: what "op" may be, with the fields of each. `name` is used in messages. Ops without an id get
/// STREAM.N, N counting from 0. Throws user_error with every problem of the file and its JSON path: syntax,
/// unknown and duplicate keys (with the nearest known one), wrong types, values out of range.
[[nodiscard]] comm::workload parse_workload(std::string_view text, const std::string& name,
                                            std::span<const comm::op_schema> kinds);

/// Reads a file; throws user_error when it cannot be read, else as parse_workload.
[[nodiscard]] comm::workload load_workload(const std::string& path, std::span<const comm::op_schema> kinds);

/// A file for --workload is a program: in XML when its first character other than a blank is '<'; a plan in
/// JSON when it has "gpus" and, other than workloads, no "streams". Throws user_error when it cannot be read.
[[nodiscard]] bool is_program_file(const std::string& path);

/// Reference of the ops as Markdown: a section per kind with the table of its fields.
[[nodiscard]] std::string workload_markdown(std::span<const comm::op_schema> kinds);

// Values of op fields: from JSON, checked, in words. Used by the reader of workload files.

/// The node as a value of the field's type; empty when the type is wrong. A whole number is also a real
/// one, a size also text like "64KiB"; nothing else converts.
[[nodiscard]] std::optional<comm::op_value> convert(const comm::op_field& f, const json_node& node);
/// In range, one of the choices.
[[nodiscard]] bool accepts(const comm::op_field& f, const comm::op_value& value);
/// The problem of a node that is not such a value, with the value that was probably meant.
[[nodiscard]] std::string rejection_of(const comm::op_field& f, const json_node& node);
/// Text of the values that accepts() takes.
[[nodiscard]] std::string expectation(const comm::op_field& f);

}  // namespace diecast::platforms
