// SPDX-License-Identifier: Apache-2.0
#include "hw/hbm/make_hbm.hpp"

#include "hw/hbm/hbm_controller.hpp"
#include "hw/hbm/hbm_simple.hpp"

namespace diecast::hw {

std::unique_ptr<memory_target> make_hbm(const char* name, const config::hbm_block& hbm, bool strict,
                                        fault_sink& faults) {
  if (hbm.model == config::hbm_model::simple) return std::make_unique<hbm_simple>(name, hbm, strict, faults);
  return std::make_unique<hbm_controller>(name, hbm, strict, faults);
}

}  // namespace diecast::hw
