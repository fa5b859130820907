// SPDX-License-Identifier: Apache-2.0
// Values of op fields: from JSON, checked, in words. Used by the reader of workload files.
#pragma once

#include <optional>
#include <string>

#include "models/comm/workload.hpp"
#include "platforms/io/json_tree.hpp"

namespace diecast::platforms {

/// The node as a value of the field's type; empty when the type is wrong. A whole number is also a real
/// one, a size also text like "64KiB"; nothing else converts.
[[nodiscard]] std::optional<comm::op_value> convert(const comm::op_field& f, const json_node& node);
/// In range, one of the choices.
[[nodiscard]] bool accepts(const comm::op_field& f, const comm::op_value& value);
/// What is wrong with a node that is none, with what was probably meant.
[[nodiscard]] std::string rejection_of(const comm::op_field& f, const json_node& node);
/// What accepts() takes, in words.
[[nodiscard]] std::string expectation(const comm::op_field& f);

}  // namespace diecast::platforms
