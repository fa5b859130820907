// SPDX-License-Identifier: Apache-2.0
// Many durations in little memory: exact count, sum and extremes; quantiles to 1 part in 1,024.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "models/types/time.hpp"

namespace diecast::analysis {

class latency_histogram {
 public:
  void add(sim_time t) {
    const std::size_t b = bucket_of(t.fs);
    if (b >= counts_.size()) counts_.resize(b + 1);
    ++counts_[b];
    ++count_;
    // A sum in femtoseconds overflows after a few long waits: nanoseconds and remainders are separate.
    sum_ns_ += t.fs / fs_per_ns;
    rest_fs_ += t.fs % fs_per_ns;
    min_ = std::min(min_, t);
    max_ = std::max(max_, t);
  }
  void add(const latency_histogram& other) {
    if (other.counts_.size() > counts_.size()) counts_.resize(other.counts_.size());
    for (std::size_t b = 0; b < other.counts_.size(); ++b) counts_[b] += other.counts_[b];
    count_ += other.count_;
    sum_ns_ += other.sum_ns_;
    rest_fs_ += other.rest_fs_;
    min_ = std::min(min_, other.min_);
    max_ = std::max(max_, other.max_);
  }

  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] sim_time max() const { return max_; }
  /// 0 when nothing was added.
  [[nodiscard]] double mean_ns() const {
    if (count_ == 0) return 0;
    const double sum = static_cast<double>(sum_ns_) + static_cast<double>(rest_fs_) * 1e-6;
    return sum / static_cast<double>(count_);
  }
  /// The nearest-rank quantile: the shortest added duration that a share `q` (0 to 1) of all durations does
  /// not exceed. quantile 0.5 of {1, 100} is 1. 0 when nothing was added.
  [[nodiscard]] double quantile_ns(double q) const {
    if (count_ == 0) return 0;
    const auto wanted =
        std::max(std::uint64_t{1}, static_cast<std::uint64_t>(std::ceil(q * static_cast<double>(count_))));
    std::uint64_t seen = 0;
    for (std::size_t b = 0; b < counts_.size(); ++b) {
      seen += counts_[b];
      if (seen >= wanted || seen == count_) return std::clamp(sim_time{middle_of(b)}, min_, max_).ns();
    }
    return max_.ns();
  }

 private:
  static constexpr std::uint64_t fs_per_ns = 1'000'000;
  static constexpr unsigned precision_bits = 9;  ///< relative width of a bucket: 1 / 2^9; its middle is at
                                                 ///< most half of that from any of its durations

  /// Durations below 2^(precision_bits + 1) have a bucket each; each octave above has 2^precision_bits.
  static std::size_t bucket_of(std::uint64_t v) {
    const unsigned width = static_cast<unsigned>(std::bit_width(v));
    if (width <= precision_bits + 1) return static_cast<std::size_t>(v);
    const unsigned shift = width - precision_bits - 1;
    return (static_cast<std::size_t>(shift) << precision_bits) + static_cast<std::size_t>(v >> shift);
  }
  static std::uint64_t middle_of(std::size_t bucket) {
    if (bucket < std::size_t{2} << precision_bits) return bucket;
    const std::uint64_t shift = (bucket >> precision_bits) - 1;
    const std::uint64_t low = (bucket - (shift << precision_bits)) << shift;
    return low + ((std::uint64_t{1} << shift) >> 1);
  }

  std::vector<std::uint64_t> counts_;
  std::uint64_t count_{}, sum_ns_{}, rest_fs_{};
  sim_time min_{UINT64_MAX};
  sim_time max_;
};

}  // namespace diecast::analysis
