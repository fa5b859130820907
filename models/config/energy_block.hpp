// SPDX-License-Identifier: Apache-2.0
// Energy of moving and reducing data: coefficients of models/cost/energy. Those of UCIe and SIP links are in
// the links' blocks.
#pragma once

namespace diecast::config {

struct energy_block {
  double router_pj_per_byte{0.10};  ///< buffer and switch, per output taken
  double link_pj_per_byte{0.05};    ///< wires from router to router
  double dma_pj_per_byte{0.10};     ///< DMA engine and network interface of a PE, per byte in or out
  double tcm_pj_per_byte{1.25};
  double sram_pj_per_byte{2.5};
  double hbm_activate_pj{900.0};
  double hbm_pj_per_byte{30.5};  ///< column access, on-die movement and interface
  double hbm_refresh_pj{28'800.0};
  double vector_f16_pj{0.4};  ///< per element and operation; bf16 too
  double vector_f32_pj{0.9};
  double vector_i32_pj{0.1};
  double pe_idle_mw{20.0};
  double cube_idle_mw{500.0};  ///< routers, controllers, die-to-die adapters; without its PEs
};

}  // namespace diecast::config
