// SPDX-License-Identifier: Apache-2.0
// Where the shipped files are. A build tree and an installation look alike: binaries in bin/, data
// in share/diecast/ next to it (in a build tree a link to the sources' platforms/).
#pragma once

#include <filesystem>

namespace diecast::platforms {

/// The data folder: `given`, or share/diecast of the running binary when that is empty. Throws
/// user_error with the folder tried.
[[nodiscard]] std::filesystem::path data_dir(const std::filesystem::path& given = {});
[[nodiscard]] std::filesystem::path configs_dir(const std::filesystem::path& given = {});
[[nodiscard]] std::filesystem::path presets_dir(const std::filesystem::path& given = {});

/// The config a platform runs without --config: a file of configs/ ("pod_default.json"), or a file
/// elsewhere by its absolute path. Throws user_error when it is not there.
[[nodiscard]] std::filesystem::path default_config(const std::filesystem::path& file,
                                                   const std::filesystem::path& given_data_dir = {});

}  // namespace diecast::platforms
