// SPDX-License-Identifier: Apache-2.0
// A file as text, whole. What is made of one that cannot be read is the reader's affair.
#pragma once

#include <filesystem>
#include <string>

namespace diecast::platforms {

struct file_contents {
  std::string text;
  std::string failure;  ///< why it could not be read: "a folder", "No such file or directory"; else empty
};
[[nodiscard]] file_contents read_file(const std::filesystem::path& path);

}  // namespace diecast::platforms
