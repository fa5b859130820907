// SPDX-License-Identifier: Apache-2.0
// PEs and memory channels of a machine: all of its shape's except those that overrides leave out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "models/config/machine_config.hpp"
#include "models/types/error.hpp"
#include "models/types/ids.hpp"

namespace diecast::config {

class population {
 public:
  /// A machine with all its PEs.
  population(const machine_shape& shape) : shape_(shape) {}  // NOLINT(google-explicit-constructor)
  /// The later of two overrides that name a PE counts.
  explicit population(const machine_config& c);

  [[nodiscard]] const machine_shape& shape() const { return shape_; }
  /// Whether no PE is left out.
  [[nodiscard]] bool whole() const { return missing_.empty(); }
  /// Whether the PE exists; false also beyond the shape.
  [[nodiscard]] bool has(pe_coord pe) const {
    return shape_.contains(pe) && (missing_.empty() || !missing_[shape_.pe_index(pe)]);
  }
  /// In order of SIP, cube and PE.
  [[nodiscard]] std::vector<pe_coord> pes() const;
  [[nodiscard]] std::vector<pe_coord> missing() const;
  /// PEs of one cube, in order.
  [[nodiscard]] std::vector<pe_coord> pes_of(sip_id sip, cube_id cube) const;

 private:
  machine_shape shape_;
  std::vector<bool> missing_;  ///< by PE index; empty when no PE is left out
};

/// Memory channels of cubes, and the home channel of each PE.
class memory_channels {
 public:
  /// The later of two overrides that name a channel counts.
  explicit memory_channels(const machine_config& c);

  [[nodiscard]] bool has(sip_id sip, cube_id cube, std::uint32_t channel) const;
  /// Home channel of a PE: PE p of P has the one at p * n / P of the n that its cube has, so the PEs of a
  /// channel are neighbors, and leaving out a PE changes no other's home. Throws user_error when the cube has
  /// no channel.
  [[nodiscard]] std::uint32_t home_of(pe_coord pe) const;
  /// Number of earlier PEs of the cube, left out or not, with the same home: (channel, place) identifies
  /// the PE.
  [[nodiscard]] std::uint32_t place_of(pe_coord pe) const;
  /// Most PEs of a channel.
  [[nodiscard]] std::uint64_t sharers() const;
  [[nodiscard]] std::uint32_t count_of(sip_id sip, cube_id cube) const;

 private:
  [[nodiscard]] std::size_t cube_index(sip_id sip, cube_id cube) const {
    return std::size_t{sip.value} * shape_.cubes_per_sip() + cube.value;
  }
  /// Throws user_error when there is none.
  [[nodiscard]] std::uint64_t channels_for(pe_coord pe) const;

  machine_shape shape_;
  std::uint32_t ports_;
  std::vector<std::vector<std::uint32_t>> left_;  ///< by cube of the pod; empty when no channel is left out
};

// Shape of the SIP grid of a 2-D pod, for the physical links and for patterns over SIPs alike.

/// SIP s is in column s % columns, row s / columns.
struct pod_grid {
  std::uint32_t columns{}, rows{};
  bool operator==(const pod_grid&) const = default;
};

/// pod.columns columns, or with 0 the most nearly square factorization with columns >= rows.
/// Throws user_error when pod.columns does not divide pod.sips, or pod.sips is 0.
[[nodiscard]] inline pod_grid pod_grid_of(const pod_block& pod) {
  if (pod.sips == 0) {
    throw user_error({"pod.sips", "a pod without SIPs has no grid", "0", "at least 1"});
  }
  if (pod.columns != 0 && pod.sips % pod.columns != 0) {
    throw user_error({"pod.columns", "the SIPs do not fill whole rows", std::to_string(pod.columns),
                      "a divisor of pod.sips (" + std::to_string(pod.sips) + ")"});
  }
  std::uint64_t columns = pod.columns;
  if (columns == 0) {
    std::uint64_t rows = 1;
    for (std::uint64_t r = 2; r * r <= pod.sips; ++r)
      if (pod.sips % r == 0) rows = r;
    columns = pod.sips / rows;
  }
  return {static_cast<std::uint32_t>(columns), static_cast<std::uint32_t>(pod.sips / columns)};
}

// Number of transactions that the network interface of a memory has in flight.

inline constexpr std::uint64_t least_memory_window = 64;

/// Window of an HBM port: enough to fill the queue of the simple model. The controller limits its requests
/// itself, in bursts.
[[nodiscard]] inline std::uint64_t hbm_window(const hbm_block& hbm) {
  return hbm.model == hbm_model::simple ? std::max(least_memory_window, hbm.queue) : least_memory_window;
}

}  // namespace diecast::config
