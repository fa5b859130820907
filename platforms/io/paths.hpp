// SPDX-License-Identifier: Apache-2.0
// Where the shipped files are. A build tree and an installation look alike: binaries in bin/, data
// in share/diecast/ next to it (in a build tree a link to the sources' platforms/).
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace diecast::platforms {

/// share/diecast of the running binary. Throws user_error with the folder tried.
[[nodiscard]] std::filesystem::path data_dir();
[[nodiscard]] std::filesystem::path configs_dir();
[[nodiscard]] std::filesystem::path presets_dir();

/// The config a platform runs without --config: "pod" -> .../configs/pod_default.json. Throws
/// user_error when it is not there.
[[nodiscard]] std::filesystem::path default_config(std::string_view platform);

}  // namespace diecast::platforms
