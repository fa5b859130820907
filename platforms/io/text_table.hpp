// SPDX-License-Identifier: Apache-2.0
// Tables for a terminal of 100 columns.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace diecast::platforms {

inline constexpr std::size_t line_width = 100;

struct text_column {
  std::string name;
  bool left{};  ///< text stands at the left, numbers at the right
  std::size_t width{};
};

/// Columns are as wide as their names, their `width` and every row given to fit(). Two spaces separate them,
/// one where two would make the lines longer than line_width.
class text_table {
 public:
  explicit text_table(std::vector<text_column> columns, std::size_t indent = 0);
  void fit(const std::vector<std::string>& cells);
  [[nodiscard]] std::string header() const;
  [[nodiscard]] std::string row(const std::vector<std::string>& cells) const;

 private:
  std::vector<text_column> columns_;
  std::size_t indent_;
};

/// The text in lines of at most line_width, broken at spaces, all but the first indented.
[[nodiscard]] std::string wrapped(const std::string& text, std::size_t indent);

/// "64 KiB": the largest unit that divides the size.
[[nodiscard]] std::string size_text(std::uint64_t bytes);

}  // namespace diecast::platforms
