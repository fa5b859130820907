// SPDX-License-Identifier: Apache-2.0
// Faults of kind wrong_install: an install plan as a careless host would have made it.
#pragma once

#include "models/comm/install_plan.hpp"
#include "models/config/machine_config.hpp"

namespace diecast::platforms {

/// Changes the queue pairs of every PE that such a fault names; true when the plan is to be proved again.
/// `swap` installs the first two directions that receive as each other, `overlap` puts the second ring half a
/// slot into the first. `first_match` makes every direction write into the first ring of its peer that comes
/// from this PE; the host that pairs so proves nothing. Throws user_error when a PE has too few directions
/// for it.
bool spoil_install(const config::machine_config& config, comm::install_plan& plan);

}  // namespace diecast::platforms
