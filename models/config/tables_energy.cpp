// SPDX-License-Identifier: Apache-2.0
#include "models/config/rows.hpp"

namespace diecast::config {

block_table energy_table() {
  using b = energy_block;
  constexpr double most = 1e9;
  constexpr const char* pj_byte = "pJ/B";
  constexpr const char* floonoc =
      "FlooNoC (arXiv 2409.17606): 0.15 pJ per byte and hop, router and link, 12 nm, 0.8 V; split: "
      "assumption";
  constexpr const char* horowitz =
      "Horowitz, Computing's energy problem, ISSCC 2014, 45 nm, 0.9 V: 10 pJ per 64-bit access of 8 KB SRAM";
  constexpr const char* operations =
      "Horowitz, Computing's energy problem, ISSCC 2014, 45 nm, 0.9 V: an addition";
  constexpr const char* dram =
      "assumption, so that a stream of whole rows costs what O'Connor et al. (Fine-Grained DRAM, MICRO 2017) "
      "give for HBM2, about 4 pJ/bit";
  return rows<b>(&machine_config::energy, "energy", "Energy of what the counters count.")
      .real(&b::router_pj_per_byte, "router_pj_per_byte", pj_byte, 0, most,
            "A byte through a router: buffer and switch.", floonoc)
      .real(&b::link_pj_per_byte, "link_pj_per_byte", pj_byte, 0, most, "A byte from router to router.",
            floonoc)
      .real(&b::dma_pj_per_byte, "dma_pj_per_byte", pj_byte, 0, most,
            "A byte through DMA engine and network interface of a PE, in or out.", assumption)
      .real(&b::tcm_pj_per_byte, "tcm_pj_per_byte", pj_byte, 0, most, "A byte read from or written to TCM.",
            horowitz)
      .real(&b::sram_pj_per_byte, "sram_pj_per_byte", pj_byte, 0, most,
            "A byte read from or written to the SRAM of a cube.",
            "Horowitz, ISSCC 2014: 20 pJ per 64-bit access of 32 KB")
      .real(&b::hbm_activate_pj, "hbm_activate_pj", "pJ", 0, most,
            "Opening and closing a row of 1 KiB, whatever hbm.page_bytes is.", dram)
      .real(&b::hbm_pj_per_byte, "hbm_pj_per_byte", pj_byte, 0, most,
            "A byte read or written: columns, wires on the die, interface.", dram)
      .real(&b::hbm_refresh_pj, "hbm_refresh_pj", "pJ", 0, most,
            "A refresh of all banks of a pseudo-channel, a row each; one of a single bank costs its share.",
            "32 banks x hbm_activate_pj")
      .real(&b::vector_f16_pj, "vector_f16_pj", "pJ", 0, most,
            "An element of f16 or bf16 through the vector unit.", operations)
      .real(&b::vector_f32_pj, "vector_f32_pj", "pJ", 0, most, "An element of f32 through the vector unit.",
            operations)
      .real(&b::vector_i32_pj, "vector_i32_pj", "pJ", 0, most, "An element of i32 through the vector unit.",
            operations)
      .real(&b::pe_idle_mw, "pe_idle_mw", "mW", 0, most, "Power of a PE, whatever it does.", assumption)
      .real(&b::cube_idle_mw, "cube_idle_mw", "mW", 0, most,
            "Power of a cube without its PEs: NoC, memory controllers, adapters.", assumption)
      .table();
}

}  // namespace diecast::config
