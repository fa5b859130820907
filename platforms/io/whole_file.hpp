// SPDX-License-Identifier: Apache-2.0
// Files that are there whole or not at all.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace diecast::platforms {

/// Writes to a temporary name beside it and renames, so that no reader ever sees half a file; a device or a
/// pipe is written to directly. Throws output_error with `name` (empty: the target) and the system's reason;
/// what was there before is then as it was. `last` is called when all of it is written, before the rename.
void write_whole_file(const std::filesystem::path& target, const std::string& text,
                      const std::string& name = {}, const std::function<void()>& last = {});

}  // namespace diecast::platforms
