// SPDX-License-Identifier: Apache-2.0
// The table of collectives: a caption with what all rows share, and the columns in which they differ.
#pragma once

#include <string>
#include <vector>

#include "platforms/io/text_table.hpp"
#include "platforms/run/run_point.hpp"

namespace diecast::platforms {

class result_table {
 public:
  /// `planned`: outcomes of the runs to come, described and without results. `data`: results are verified.
  /// `jitter`: with the columns of --jitter.
  result_table(const std::vector<run_outcome>& planned, bool data, bool jitter);
  /// Caption and header of the first row.
  [[nodiscard]] std::string start() const { return first_; }
  /// A row with its notes. Rows of other ranks than the row before begin with a caption and a header of their
  /// own: they cannot be compared with those above.
  [[nodiscard]] std::string row(const run_outcome& o);

 private:
  struct column;
  [[nodiscard]] static const std::vector<column>& all_columns();
  [[nodiscard]] std::string caption(const run_outcome& o) const;

  std::vector<const column*> columns_;
  text_table table_;
  bool one_algorithm_{}, data_;
  std::string first_, ranks_;  ///< rank sets of the first row and of the row before
};

}  // namespace diecast::platforms
