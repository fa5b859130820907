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
  [[nodiscard]] std::optional<bool> flag() const;
  /// A whole number from 0.
  [[nodiscard]] std::optional<std::uint64_t> count() const;
  /// Any number.
  [[nodiscard]] std::optional<double> real() const;
  /// Member of an object; null where it is missing or the node is no object.
  [[nodiscard]] const json_node* member(std::string_view name) const;
};

/// The value for a message to a user: short, one line.
[[nodiscard]] std::string describe(const json_node& node);

/// Parses `text`; problems (syntax with line and column, duplicate keys with their path) are
/// appended with `file` in front. Empty after a syntax error.
[[nodiscard]] std::optional<json_node> read_json(std::string_view text, const std::string& file,
                                                 std::vector<problem>& problems);
/// Parses a file of a config; a file that cannot be read is a problem, too.
[[nodiscard]] std::optional<json_node> read_json_file(const std::filesystem::path& path,
                                                      std::vector<problem>& problems);

/// Problems of the values of one file, each with its path: at most most_problems.
class json_checker {
 public:
  json_checker(std::string file, std::vector<problem>& problems)
      : file_(std::move(file)), problems_(problems) {}

  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] std::string at(const std::string& path) const {
    return path.empty() ? file_ : file_ + ": " + path;
  }
  void report(const std::string& path, std::string what, std::string value, std::string expected);
  void wrong_type(const std::string& path, const json_node& node, std::string expected);
  void unknown(const std::string& path, const std::string& name, const std::vector<std::string>& known);

  /// visit(path, name, value) for every member of an object; false, and reported, where the node is none.
  template <class Visit>
  bool members(const std::string& path, const json_node& node, const char* expected, Visit visit) {
    if (node.object() == nullptr) return wrong_type(path, node, expected), false;
    const std::string prefix = path.empty() ? path : path + ".";
    for (const auto& [name, value] : *node.object()) visit(prefix + name, name, value);
    return true;
  }
  /// visit(path, item) for every item of a list; false, and reported, where the node is none.
  template <class Visit>
  bool items(const std::string& path, const json_node& node, const char* expected, Visit visit) {
    if (node.array() == nullptr) return wrong_type(path, node, expected), false;
    for (std::size_t i = 0; const json_node& item : *node.array())
      visit(path + "[" + std::to_string(i++) + "]", item);
    return true;
  }

 private:
  std::string file_;
  std::vector<problem>& problems_;
};

/// Whether a text is UTF-8, as JSON requires.
[[nodiscard]] bool is_json_text(const std::string& text);

// Files of another kind than the one expected.

/// The problem of a document of another kind than `wanted` ("a config", "a workload"): names its kind and
/// the program that reads it. Empty for a `wanted` or an unknown one.
[[nodiscard]] std::optional<problem> of_other_kind(const json_node& root, const std::string& file,
                                                   const char* wanted);
/// The problem of a text that is not JSON but of a known kind; empty for an unknown one.
[[nodiscard]] std::optional<problem> of_other_kind(std::string_view text, const std::string& file);

}  // namespace diecast::platforms
