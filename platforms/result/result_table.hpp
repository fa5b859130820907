// SPDX-License-Identifier: Apache-2.0
// The table of collectives: a caption with what all rows share, and the columns in which they differ.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "platforms/result/run_point.hpp"

namespace diecast::platforms {

// Tables for a terminal of 100 columns.

inline constexpr std::size_t line_width = 100;

struct text_column {
  std::string name;
  bool left{};  ///< text is aligned left, numbers right
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

/// A number of a table, which a run without an end may not have: "-".
[[nodiscard]] std::string number_text(const std::optional<double>& value, int decimals);

/// "64 KiB": the largest unit that divides the size.
[[nodiscard]] std::string size_text(std::uint64_t bytes);

class result_table {
 public:
  /// `planned`: outcomes of the runs to come, described and without results. `data`: results are verified.
  /// `jitter`: with the columns of --jitter.
  result_table(const std::vector<run_outcome>& planned, bool data, bool jitter);
  /// Caption and header of the first row.
  [[nodiscard]] std::string start() const { return first_; }
  /// A row with its notes, but those that the row before has. Rows of other ranks than the row before begin
  /// with a caption and a header of their own: they cannot be compared with those above.
  [[nodiscard]] std::string row(const run_outcome& o);

 private:
  struct column;
  [[nodiscard]] static const std::vector<column>& all_columns();
  [[nodiscard]] std::string caption(const run_outcome& o) const;

  std::vector<const column*> columns_;
  text_table table_;
  bool one_algorithm_{}, data_;
  std::string first_, ranks_;       ///< rank sets of the first row and of the row before
  std::vector<std::string> notes_;  ///< of the row before
};

}  // namespace diecast::platforms
