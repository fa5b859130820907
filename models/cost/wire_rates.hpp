// SPDX-License-Identifier: Apache-2.0
// What links carry of a payload: the NoC's header flits and packets, UCIe's frames, the lanes that feed a
// die's edge. Everything that turns bytes of a tensor into time on a wire asks here.
#pragma once

#include <cstdint>

#include "models/config/machine_config.hpp"
#include "models/fabric/topology.hpp"

namespace diecast::cost {

[[nodiscard]] inline double d(std::uint64_t n) { return static_cast<double>(n); }

class wire_rates {
 public:
  explicit wire_rates(const config::machine_config& c);

  /// Bytes on a wire per byte of payload, at best: full packets of whole flits, none longer than a slot.
  [[nodiscard]] double wire_bytes_per_byte() const { return factor_; }
  /// Bytes on a wire per byte of a DMA copy, whose packets have the largest size.
  [[nodiscard]] double copy_bytes_per_byte() const { return copy_factor_; }
  /// Raw rate of a link between routers, and of a terminal's link to its router; 1e9 bytes/s.
  [[nodiscard]] double noc_gbytes_s() const { return noc_; }
  /// What one side of a cube moves of NoC flits per direction: its UCIe link, or the lanes that feed it.
  [[nodiscard]] double ucie_gbytes_s(const fabric::topology& t, sip_id sip, cube_id cube,
                                     fabric::side s) const;
  /// NoC flit rate of a SIP link by its index: its own rate or that of the NoC port behind it, whichever is
  /// less.
  [[nodiscard]] double sip_link_gbytes_s(const fabric::topology& t, std::uint32_t index) const;
  /// The TCM of one PE.
  [[nodiscard]] double tcm_gbytes_s() const { return tcm_; }
  /// Operand rate of one PE's vector unit.
  [[nodiscard]] double vector_gbytes_s() const { return vector_; }

 private:
  const config::machine_config& config_;
  double factor_{1};
  double copy_factor_{1};
  double noc_{};
  double tcm_{};
  double vector_{};
};

}  // namespace diecast::cost
