// SPDX-License-Identifier: Apache-2.0
// Recorded memory traffic: a text file with one request per line.
//
//   R|W ADDRESS BYTES [ARRIVAL_NS]
//
// ADDRESS is decimal or 0x hexadecimal, an offset within the stack: channels follow each other, hbm.port_mib
// each. Arrivals are on all lines or on none, and never go back. Empty lines and what follows a # are
// skipped.
#pragma once

#include <filesystem>

#include "platforms/hbm/study.hpp"

namespace diecast::hbm {

/// Throws user_error with every bad line (the first hundred).
[[nodiscard]] replay_trace read_replay(const std::filesystem::path& file, const config::hbm_block& hbm);

}  // namespace diecast::hbm
