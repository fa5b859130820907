// SPDX-License-Identifier: Apache-2.0
// What links within cubes, between them and between SIPs have to carry when messages go over them as packets
// do.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "models/comm/patterns.hpp"
#include "models/cost/wire_rates.hpp"
#include "models/fabric/topology.hpp"

namespace diecast::cost {

class link_loads {
 public:
  link_loads(const fabric::topology& t, const config::machine_config& c)
      : topology_(t), config_(c), wires_(c) {}

  /// The rate of a link, 1e9 bytes/s: between cubes and SIPs as overrides have it; within cubes all have that
  /// of the configuration, as no override changes it; 0 of one between SIPs where messages are staged through
  /// host memory.
  [[nodiscard]] double gbytes_s(std::uint32_t link) const;
  /// The slowest link between two PEs; 0 where there is none.
  [[nodiscard]] double slowest_gbytes_s(pe_coord from, pe_coord to) const;

  /// From one rank to another.
  using way = std::pair<std::uint32_t, std::uint32_t>;
  /// `bytes` of payload over each of these ways at once: the link that takes longest, those of the PEs
  /// included, or the way of a SIP to or from host memory where messages are staged; ns. Empty where ways are
  /// too many to be traced.
  [[nodiscard]] std::optional<double> longest_ns(const comm::group& ranks, const std::vector<way>& ways,
                                                 double bytes) const;

 private:
  const fabric::topology& topology_;
  const config::machine_config& config_;
  wire_rates wires_;
};

}  // namespace diecast::cost
