// SPDX-License-Identifier: Apache-2.0
// Networks and traffic drawn from a seed, for comparisons over many of them.
#pragma once

#include "support/network_pair.hpp"

namespace diecast::test {

struct random_network {
  network_description network;
  traffic_plan traffic;  ///< rate and cycles are left to the user
  double load{};         ///< share of the network's own saturation throughput; 0.1 to 0.9

  [[nodiscard]] std::string text() const;
};

[[nodiscard]] random_network random_network_of(std::uint64_t seed);

}  // namespace diecast::test
