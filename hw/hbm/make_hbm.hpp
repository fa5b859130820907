// SPDX-License-Identifier: Apache-2.0
// The model of an HBM port by its name in the config.
#pragma once

#include <memory>

#include "hw/mem/memory_target.hpp"
#include "models/config/machine_config.hpp"

namespace diecast::hw {

/// The HBM port that hbm.model asks for. Throws user_error with all problems of the block.
[[nodiscard]] std::unique_ptr<memory_target> make_hbm(const char* name, const config::hbm_block& hbm,
                                                      bool strict, fault_sink& faults);

}  // namespace diecast::hw
