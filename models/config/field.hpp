// SPDX-License-Identifier: Apache-2.0
// One row per config key: name, unit, type, range or choices, default, description, source. The
// checks, the JSON schema, docs/config.md and the dump are all made from these rows.
//
// A key is addressed by its dotted path, "noc.columns". Keys and members have the same name except
// ipcq.buffer_kind (rings), ipcq.backpressure (wait), ccl.inter_sip (between_sips), ccl.accumulation
// (accumulate), ucie.flit_format (format), noc.vc_policy (vcs_taken) and noc.arbitration (arbiter). The
// choice "auto" of ucie.package is the enumerator automatic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "models/config/machine_config.hpp"
#include "models/types/error.hpp"

namespace diecast::config {

enum class field_type : std::uint8_t {
  boolean,
  count,
  real,
  text,
  choice,
  count_or_auto,
  real_or_auto,
  links
};

/// Greatest length of a text or list item: matching the regular expression recurses once per letter.
inline constexpr std::size_t longest_text = 4096;

/// The value `auto` of a count_or_auto or real_or_auto key: it follows from other keys.
struct automatic {
  bool operator==(const automatic&) const = default;
};

/// A typed value of any key. count and count_or_auto: std::uint64_t; choice and text: std::string.
using field_value = std::variant<bool, std::uint64_t, double, std::string, automatic, std::vector<pod_link>>;

struct field {
  std::string block;
  std::string key;
  field_type type{};
  std::string unit;                                            ///< empty: a plain number or no number
  std::uint64_t least{}, most{};                               ///< count and count_or_auto, inclusive
  double real_least{}, real_most{};                            ///< real and real_or_auto, inclusive
  std::vector<std::string> choices;                            ///< choice, in order of the enumerators
  std::vector<std::pair<std::string, std::string>> spellings;  ///< other accepted spelling -> choice
  std::string pattern;                                         ///< text: ECMAScript expression, anchored
  bool list{};                                                 ///< text: pieces between commas match, each
  bool may_be_empty{};                                         ///< list: without any piece
  std::string description;
  std::string source;  ///< origin of the default: paper, product, standard, or "assumption"

  std::function<field_value(const machine_config&)> get;
  /// Precondition: accepts(*this, value).
  std::function<void(machine_config&, const field_value&)> set;
  std::size_t offset{}, size{};  ///< place of the member within machine_config: proves that none lacks a row

  [[nodiscard]] std::string path() const { return block + "." + key; }
};

struct block_table {
  std::string name;
  std::string description;
  std::vector<field> fields;
};

/// All blocks in the order of machine_config; built once.
[[nodiscard]] std::span<const block_table> tables();

[[nodiscard]] const block_table* find_block(std::string_view name);
/// Null when there is no such key.
[[nodiscard]] const field* find_field(std::string_view path);

/// Right type, in range, one of the choices.
[[nodiscard]] bool accepts(const field& f, const field_value& value);
/// "a whole number from 1 to 256 (B)": what accepts() takes, in words.
[[nodiscard]] std::string expectation(const field& f);
/// The value as a user writes it after --set PATH=.
[[nodiscard]] std::string to_text(const field_value& value);
[[nodiscard]] field_value default_value(const field& f);

/// Reads `text` as the value of `f`. Counts in bytes also take the suffixes of parse_size.
/// Empty when the text is not of the field's type or out of its range.
[[nodiscard]] std::optional<field_value> parse_value(const field& f, std::string_view text);

/// Value of a key by path. Throws user_error naming the path and the nearest known one.
[[nodiscard]] field_value get_value(const machine_config& config, std::string_view path);
/// Sets a key by path. Throws user_error for an unknown path, a wrong type or a value out of range.
void set_value(machine_config& config, std::string_view path, const field_value& value);

/// The problem of a path that names no key: with the nearest known key, if one is near enough.
[[nodiscard]] problem unknown_key(std::string_view path);

}  // namespace diecast::config
