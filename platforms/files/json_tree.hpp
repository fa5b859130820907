// SPDX-License-Identifier: Apache-2.0
// JSON read as a plain tree: comments allowed, order of keys kept, every duplicate key and every syntax
// error reported with its place. Numbers keep their type: -1 is never read as a count, 4.5 never as 4.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "models/types/error.hpp"

namespace diecast::platforms {

/// A number with a fraction or an exponent, or one too large for 64 bits.
struct json_real {
  double value{};
  std::string written;
};

struct json_node;
using json_array = std::vector<json_node>;
using json_object = std::vector<std::pair<std::string, json_node>>;

struct json_node {
  /// Whole numbers: std::uint64_t, or std::int64_t below 0.
  std::variant<std::nullptr_t, bool, std::uint64_t, std::int64_t, json_real, std::string, json_array,
               json_object>
      value{nullptr};

  [[nodiscard]] const json_object* object() const { return std::get_if<json_object>(&value); }
  [[nodiscard]] const json_array* array() const { return std::get_if<json_array>(&value); }
  [[nodiscard]] const std::string* string() const { return std::get_if<std::string>(&value); }
};

/// The value for a message to a user: short, one line.
[[nodiscard]] std::string describe(const json_node& node);

/// Parses `text`; problems (syntax with line and column, duplicate keys with their path) are
/// appended with `file` in front. Empty after a syntax error.
[[nodiscard]] std::optional<json_node> read_json(std::string_view text, const std::string& file,
                                                 std::vector<problem>& problems);
/// The same for a file of a config; one that cannot be read is a problem too.
[[nodiscard]] std::optional<json_node> read_json_file(const std::filesystem::path& path,
                                                      std::vector<problem>& problems);

/// Whether it is UTF-8, as JSON requires.
[[nodiscard]] bool is_json_text(const std::string& text);

// Files of another kind than the one expected.

/// The problem of a document of another kind than `wanted` ("a config", "a workload"): names its kind and
/// the program that reads it. Empty for a `wanted` or an unknown one.
[[nodiscard]] std::optional<problem> of_other_kind(const json_node& root, const std::string& file,
                                                   const char* wanted);
/// The problem of a text that is not JSON but of a known kind; empty for an unknown one.
[[nodiscard]] std::optional<problem> of_other_kind(std::string_view text, const std::string& file);

}  // namespace diecast::platforms
