// SPDX-License-Identifier: Apache-2.0
#include "models/cost/wire_rates.hpp"

#include <algorithm>

#include "models/abi/wire.hpp"
#include "models/config/placement.hpp"
#include "models/timing/link.hpp"

namespace diecast::cost {
namespace {

double wire_factor(std::uint64_t payload, std::uint64_t flit) {
  const auto flits = abi::flits_of(static_cast<std::uint32_t>(payload), static_cast<std::uint32_t>(flit));
  return d(flits * flit) / d(payload);
}

/// The least of packets of up to `longest` bytes.
double best_factor(std::uint64_t longest, std::uint64_t flit) {
  const std::uint64_t whole_flits = longest / flit * flit;
  const double factor = wire_factor(longest, flit);
  return whole_flits > 0 ? std::min(factor, wire_factor(whole_flits, flit)) : factor;
}

}  // namespace

wire_rates::wire_rates(const config::machine_config& c) : config_(c) {
  const std::uint64_t flit = c.noc.flit_bytes;
  const std::uint64_t longest =
      std::max<std::uint64_t>(1, std::min(c.noc.max_packet_bytes, c.ipcq.slot_bytes));
  factor_ = best_factor(longest, flit);
  copy_factor_ = best_factor(c.noc.max_packet_bytes, flit);
  noc_ = d(flit) * c.noc.clock_ghz;
  tcm_ = d(c.pe.tcm_banks * c.pe.tcm_bank_bytes) * c.noc.clock_ghz;
  vector_ = d(c.pe.vector_bytes(true)) * c.noc.clock_ghz;
}

double wire_rates::ucie_gbytes_s(const fabric::topology& t, sip_id sip, cube_id cube, fabric::side s) const {
  const bool vertical = s == fabric::side::east || s == fabric::side::west;
  const double lanes = d(config::lanes_of_edge(config_, vertical).size());
  return std::min(timing::ucie_payload_gbytes_s(t.ucie(sip, cube, s)), lanes * noc_);
}

double wire_rates::sip_link_gbytes_s(const fabric::topology& t, std::uint32_t index) const {
  return std::min(timing::sip_link_timing_of(config_, t.sip_link_settings(index)).gbytes_s, noc_);
}

}  // namespace diecast::cost
