// SPDX-License-Identifier: Apache-2.0
// A file to be read, whole or line by line, and why it cannot be. What is made of that is the reader's
// affair.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "models/types/error.hpp"

namespace diecast::platforms {

struct opened_file {
  std::ifstream in;
  std::string failure;  ///< why it cannot be read: "a folder", "No such file or directory"; else empty
};
[[nodiscard]] opened_file open_file(const std::filesystem::path& path);

struct file_contents {
  std::string text;
  std::string failure;  ///< as opened_file's, or "read error"
};
[[nodiscard]] file_contents read_file(const std::filesystem::path& path);

/// What a user is told of a file that a flag or key named; `failure`: of one of the above.
[[nodiscard]] problem cannot_be_read(const std::string& where, const std::filesystem::path& path,
                                     const std::string& failure, const std::string& expected);

}  // namespace diecast::platforms
