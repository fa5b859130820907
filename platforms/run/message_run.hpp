// SPDX-License-Identifier: Apache-2.0
// sim.fidelity = message: a run on the timed mock machine, with the same hosts, firmware and checks.
#pragma once

#include <cstdint>
#include <optional>

#include "platforms/run/prepare.hpp"

namespace diecast::platforms {

/// As simulate(). Precondition: check_message_run() has passed.
[[nodiscard]] run_outcome simulate_messages(const prepared_run& run, std::optional<std::uint32_t> only,
                                            std::uint64_t draw);

/// Throws user_error with every setting of the config that transfers as a whole do not show, if the config
/// asks for message fidelity; so does the other for what is run.
void check_message_config(const config::machine_config& config);
void check_message_run(const prepared_run& run);

}  // namespace diecast::platforms
