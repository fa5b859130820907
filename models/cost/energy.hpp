// SPDX-License-Identifier: Apache-2.0
// Energy from counters: for each part of the machine its count times the energy of one.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "models/config/machine_config.hpp"
#include "models/numeric/types.hpp"

namespace diecast::cost {

/// Counts of a run, over all instances.
struct activity {
  double seconds{};
  std::uint64_t pes{}, cubes{};
  std::uint64_t router_bytes{};  ///< through outputs of routers, headers included
  std::uint64_t link_bytes{};    ///< bytes from router to router
  std::uint64_t dma_bytes{};     ///< between PEs and routers, in either direction
  double die_to_die_pj{};        ///< energy that the adapters count, frames sent again included
  std::uint64_t sip_link_bytes{};
  std::uint64_t tcm_bytes{};
  std::uint64_t sram_bytes{};
  std::uint64_t hbm_bytes{}, hbm_activates{};
  std::uint64_t hbm_all_bank_refreshes{}, hbm_bank_refreshes{};
  std::array<std::uint64_t, numeric::dtypes> vector_elements{};  ///< computed, by type; copies are none
};

struct energy_part {
  const char*
      name;  ///< "router", "link", "die_to_die", "sip_link", "dma", "tcm", "sram", "hbm", "vector", "idle"
  double pj{};
};

/// Always the same parts in the same order.
[[nodiscard]] std::vector<energy_part> energy_of(const activity& a, const config::machine_config& c);
[[nodiscard]] double total_pj(const std::vector<energy_part>& parts);

/// Energy of one launch per bit that had to be combined: `ranks` vectors into one. Precondition: ranks > 1,
/// bytes > 0.
[[nodiscard]] double pj_per_bit_reduced(double launch_pj, std::uint64_t bytes, std::uint64_t ranks);

}  // namespace diecast::cost
