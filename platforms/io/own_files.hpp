// SPDX-License-Identifier: Apache-2.0
// Which files a run of Diecast wrote. They are known by their contents: a user's file may have any name.
#pragma once

#include <filesystem>
#include <string_view>

namespace diecast::platforms {

inline constexpr std::string_view vcd_head = "$version Diecast $end\n";
inline constexpr std::string_view timeline_head =
    R"({"displayTimeUnit":"ns","otherData":{"version":"Diecast"},"traceEvents":[)";
inline constexpr std::string_view record_head = "diecast.record/1\n";
inline constexpr std::string_view job_head = "// A job of Diecast's --diagnose\n";

/// Whether a run gives this name to a file of --out.
[[nodiscard]] bool has_own_name(const std::filesystem::path& file);

/// Whether Diecast wrote this file: a file of --out, of --vcd, --timeline or --record, or the beginning of
/// one (NAME.partial). A config.json is one when result.json or diagnosis.json beside it has its checksum:
/// what was edited since is the user's. False for links and folders.
[[nodiscard]] bool is_own(const std::filesystem::path& file);

}  // namespace diecast::platforms
