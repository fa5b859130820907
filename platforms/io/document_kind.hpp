// SPDX-License-Identifier: Apache-2.0
// Files of one kind that were given where another is read.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "models/types/error.hpp"
#include "platforms/io/json_tree.hpp"

namespace diecast::platforms {

/// The problem of a document that is of another kind than `wanted` ("a config", "a workload"): what it is,
/// and what reads it. Empty where it is `wanted`, or unknown.
[[nodiscard]] std::optional<problem> of_other_kind(const json_node& root, const std::string& file,
                                                   const char* wanted);
/// The problem of a text that is not JSON but of a known kind; empty for an unknown one.
[[nodiscard]] std::optional<problem> of_other_kind(std::string_view text, const std::string& file);

}  // namespace diecast::platforms
