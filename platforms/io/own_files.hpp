// SPDX-License-Identifier: Apache-2.0
// By what a file that flags name (--vcd, --timeline, --record) is known to be Diecast's: how it begins.
#pragma once

#include <filesystem>
#include <string_view>

namespace diecast::platforms {

inline constexpr std::string_view vcd_head = "$version Diecast $end\n";
inline constexpr std::string_view timeline_head =
    R"({"displayTimeUnit":"ns","otherData":{"version":"Diecast"},"traceEvents":[)";
inline constexpr std::string_view record_head = "diecast.record/1\n";

/// Whether it is a file, no link to one, and begins as one of these.
[[nodiscard]] bool begins_as_ours(const std::filesystem::path& file);

}  // namespace diecast::platforms
