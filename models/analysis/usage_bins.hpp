// SPDX-License-Identifier: Apache-2.0
// Busy time over simulated time in bins of equal width, for runs whose length is not known beforehand: when
// a run outgrows its bins, they become twice as wide.
#pragma once

#include <cstddef>
#include <vector>

#include "models/types/time.hpp"

namespace diecast::analysis {

class usage_bins {
 public:
  /// `rows` sums are kept, over at most `bins` bins, at first `width` wide. Precondition: bins > 0, width >
  /// 0.
  usage_bins(std::size_t rows, std::size_t bins, sim_time width)
      : bins_(bins), width_(width), sums_(rows, std::vector<sim_time>(bins)) {}

  /// The link or unit of `row` was busy from `from` to `to`. Precondition: row < rows.
  void add(std::size_t row, sim_time from, sim_time to) {
    while (to.fs > width_.fs * bins_) double_width();
    while (from < to) {
      const std::size_t bin = from.fs / width_.fs;
      const sim_time edge{(bin + 1) * width_.fs};
      const sim_time until = to < edge ? to : edge;
      sums_[row][bin] += until - from;
      from = until;
    }
  }

  [[nodiscard]] sim_time width() const { return width_; }
  /// Busy time of a row by bin.
  [[nodiscard]] const std::vector<sim_time>& sums(std::size_t row) const { return sums_[row]; }

 private:
  void double_width() {
    for (auto& row : sums_) {
      for (std::size_t i = 0; i < bins_; ++i) {
        const std::size_t from = 2 * i;
        sim_time both{};
        for (std::size_t j = from; j < from + 2 && j < bins_; ++j) both += row[j];
        row[i] = both;
      }
    }
    width_ = width_ * 2;
  }

  std::size_t bins_;
  sim_time width_;
  std::vector<std::vector<sim_time>> sums_;
};

}  // namespace diecast::analysis
