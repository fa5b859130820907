// SPDX-License-Identifier: Apache-2.0
// Packets from a file: lines "CYCLE SRC DST FLITS", decimal, anything behind # a comment, in any order.
#pragma once

#include <filesystem>

#include "platforms/noc/study.hpp"

namespace diecast::noc {

/// Longest packet a file may ask for, flits.
inline constexpr std::uint64_t most_packet_flits = 1024;

/// Throws user_error with the lines that are wrong.
[[nodiscard]] replay_trace read_replay(const std::filesystem::path& file, std::uint32_t nodes);

}  // namespace diecast::noc
