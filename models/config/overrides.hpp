// SPDX-License-Identifier: Apache-2.0
// Keys of `overrides[i].set`. Each stands for a row of a block and has its type and range; "enabled" has
// no row.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/config/field.hpp"

namespace diecast::config {

struct override_key {
  std::string name;
  std::string description;
  const field* row;  ///< range and type; null: true or false
  std::optional<field_value> (*get)(const link_override&);
  /// Precondition: accepts_override(key, value).
  void (*set)(link_override&, const field_value&);
};

[[nodiscard]] std::span<const override_key> override_keys();
/// Null when there is none of that name.
[[nodiscard]] const override_key* find_override_key(std::string_view name);
[[nodiscard]] bool accepts_override(const override_key& key, const field_value& value);
/// What it accepts, in words.
[[nodiscard]] std::string override_expectation(const override_key& key);
/// The blocks as they are at a link that only this override matches.
[[nodiscard]] machine_config with_override(machine_config config, const link_override& o);

}  // namespace diecast::config
