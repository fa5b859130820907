// SPDX-License-Identifier: Apache-2.0
// Keys of `overrides[i].set`. Each represents a row of a block and has its type and range; "enabled" has
// no row.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/config/field.hpp"

namespace diecast::config {

/// Kinds of instances that an override can name.
enum class instance_kind : std::uint8_t { ucie_link, sip_link, pe, channel, die };
inline constexpr std::size_t instance_kinds = 5;
/// "UCIe links", "PEs", ...
[[nodiscard]] const char* plural(instance_kind k);

struct override_key {
  /// Whether an instance's value may be above or below the block's: bounds, buffers and the watchdog use
  /// the block's, so no instance may be better in a key that they use.
  enum class limit : std::uint8_t { none, no_more, no_less };

  std::string name;
  std::string description;
  const field* row;                  ///< range and type; null: true or false
  std::vector<instance_kind> kinds;  ///< kinds of instances that have the key
  limit against_block;
  std::optional<field_value> (*get)(const instance_override&);
  /// Precondition: accepts_override(key, value).
  void (*set)(instance_override&, const field_value&);

  [[nodiscard]] bool is_of(instance_kind k) const;
};

[[nodiscard]] std::span<const override_key> override_keys();
/// Null when there is none of that name.
[[nodiscard]] const override_key* find_override_key(std::string_view name);
[[nodiscard]] bool accepts_override(const override_key& key, const field_value& value);
/// The accepted values as text.
[[nodiscard]] std::string override_expectation(const override_key& key);
/// The config blocks of an instance that only this override matches.
[[nodiscard]] machine_config with_override(machine_config config, const instance_override& o);

/// Problems of the names in overrides; `counts[i]`: instances of each kind that match overrides[i]. An
/// override changes instances with any of its keys; they must have all, and at least one must match.
[[nodiscard]] std::vector<problem> check_override(const instance_override& o, std::size_t number,
                                                  const std::array<std::uint32_t, instance_kinds>& counts);
/// Whether `o` sets a key that instances of this kind have.
[[nodiscard]] bool changes(const instance_override& o, instance_kind k);

/// The pe block of one PE; none where it is the machine's.
[[nodiscard]] std::optional<pe_block> pe_block_of(const machine_config& c, pe_coord pe);
/// Whether the glob matches a name of the die or of its NoC.
[[nodiscard]] bool names_die(const std::string& glob, const machine_shape& shape, sip_id sip, cube_id cube);

}  // namespace diecast::config
