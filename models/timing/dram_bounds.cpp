// SPDX-License-Identifier: Apache-2.0
#include "models/timing/dram_bounds.hpp"

#include <algorithm>
#include <array>

#include "models/timing/dram.hpp"

namespace diecast::timing {
namespace {

/// Rate of `pseudo_channels` that each give a burst every `ticks`.
double rate(const config::hbm_block& hbm, const dram_parameters& p, std::uint64_t pseudo_channels,
            double ticks) {
  return static_cast<double>(pseudo_channels * hbm.burst_bytes) / (ticks * p.tick.ns());
}

double real(dram_tick t) { return static_cast<double>(t); }

}  // namespace

double port_gbytes_s(const config::hbm_block& hbm) {
  const double pseudo_channel = hbm.model == config::hbm_model::simple
                                    ? hbm.simple_gbytes_s
                                    : static_cast<double>(hbm.burst_bytes) / hbm.burst_ns;
  return static_cast<double>(hbm.pseudo_channels) * pseudo_channel;
}

dram_bound bus_bound(const config::hbm_block& hbm) {
  const auto p = make_dram_parameters(hbm);
  return {rate(hbm, p, hbm.pseudo_channels, real(p.burst)), "data bus"};
}

dram_bound activation_bound(const config::hbm_block& hbm) {
  const auto p = make_dram_parameters(hbm);
  constexpr double activations_in_faw = 4;
  constexpr dram_tick precharge_bus = 1;
  const dram_tick pair = p.rising_from(p.rising_from(0) + p.activate_bus + precharge_bus) - p.rising_from(0);
  const std::array bounds{
      bus_bound(hbm),
      dram_bound{rate(hbm, p, hbm.pseudo_channels, real(p.faw) / activations_in_faw), "tFAW"},
      dram_bound{rate(hbm, p, hbm.pseudo_channels, real(p.act_to_act_s)), "tRRD_S"},
      dram_bound{rate(hbm, p, 1, real(pair)), "row-command bus"},
  };
  return *std::ranges::min_element(bounds, {}, &dram_bound::gbytes_s);
}

dram_bound row_cycle_bound(const config::hbm_block& hbm) {
  const auto p = make_dram_parameters(hbm);
  return {rate(hbm, p, 1, real(p.act_to_act)), "tRC"};
}

dram_bound bank_group_bound(const config::hbm_block& hbm) {
  const auto p = make_dram_parameters(hbm);
  return {rate(hbm, p, hbm.pseudo_channels, real(p.col_to_col_l)), "tCCD_L"};
}

double refresh_share(const config::hbm_block& hbm) {
  if (hbm.refresh != config::hbm_refresh::all_bank) return 1;
  const auto p = make_dram_parameters(hbm);
  return 1 - real(p.ref_to_pre) / real(p.refi);
}

}  // namespace diecast::timing
