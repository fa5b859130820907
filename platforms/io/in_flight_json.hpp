// SPDX-License-Identifier: Apache-2.0
// in_flight of deadlock.json and flight.json: what was under way when a run ended.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "models/analysis/wait_for.hpp"
#include "platforms/run/prepare.hpp"

namespace diecast::platforms {

/// "0x" and 16 digits: how these files write addresses and tags.
[[nodiscard]] std::string hex_text(std::uint64_t n);

/// Messages and credits of queue pairs with the address they are matched by (`address_pa`) and their
/// sequence, then all other packets with offset, `bytes` and, of tag-matched messages, `tag`; of each where
/// it is.
[[nodiscard]] nlohmann::ordered_json in_flight_json(const prepared_run& run,
                                                    const analysis::stopped_machine& machine);

}  // namespace diecast::platforms
