// SPDX-License-Identifier: Apache-2.0
#include "models/cost/energy.hpp"

namespace diecast::cost {
namespace {

double vector_pj(const activity& a, const config::energy_block& e) {
  using numeric::dtype;
  const auto elements = [&a](dtype t) {
    return static_cast<double>(a.vector_elements[static_cast<std::size_t>(t)]);
  };
  return (elements(dtype::f16) + elements(dtype::bf16)) * e.vector_f16_pj +
         elements(dtype::f32) * e.vector_f32_pj + elements(dtype::i32) * e.vector_i32_pj;
}

}  // namespace

std::vector<energy_part> energy_of(const activity& a, const config::machine_config& c) {
  const config::energy_block& e = c.energy;
  const auto n = [](std::uint64_t v) { return static_cast<double>(v); };
  constexpr double bits = 8;
  constexpr double pj_per_mw_s = 1e9;
  // A refresh of one bank is that share of a refresh of all.
  const double banks = n(c.hbm.sids * c.hbm.bank_groups * c.hbm.banks_per_group);
  const double refreshes = n(a.hbm_all_bank_refreshes) + n(a.hbm_bank_refreshes) / banks;
  const double idle_mw = n(a.pes) * e.pe_idle_mw + n(a.cubes) * e.cube_idle_mw;
  return {{"router", n(a.router_bytes) * e.router_pj_per_byte},
          {"link", n(a.link_bytes) * e.link_pj_per_byte},
          {"die_to_die", a.die_to_die_pj},
          {"sip_link", n(a.sip_link_bytes) * bits * c.sip_link.pj_per_bit},
          {"dma", n(a.dma_bytes) * e.dma_pj_per_byte},
          {"tcm", n(a.tcm_bytes) * e.tcm_pj_per_byte},
          {"sram", n(a.sram_bytes) * e.sram_pj_per_byte},
          {"hbm", n(a.hbm_bytes) * e.hbm_pj_per_byte + n(a.hbm_activates) * e.hbm_activate_pj +
                      refreshes * e.hbm_refresh_pj},
          {"vector", vector_pj(a, e)},
          {"idle", idle_mw * a.seconds * pj_per_mw_s}};
}

double total_pj(const std::vector<energy_part>& parts) {
  double sum = 0;
  for (const energy_part& p : parts) sum += p.pj;
  return sum;
}

double pj_per_bit_reduced(double launch_pj, std::uint64_t bytes, std::uint64_t ranks) {
  constexpr double bits = 8;
  return launch_pj / (bits * static_cast<double>(bytes) * static_cast<double>(ranks - 1));
}

}  // namespace diecast::cost
