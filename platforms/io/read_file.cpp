// SPDX-License-Identifier: Apache-2.0
#include "platforms/io/read_file.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

namespace diecast::platforms {

file_contents read_file(const std::filesystem::path& path) {
  std::error_code none;
  // A folder opens; only reading it fails.
  if (std::filesystem::is_directory(path, none)) return {{}, "a folder"};
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) return {{}, std::strerror(errno)};
  file_contents all;
  std::array<char, 65536> part{};
  while (file.read(part.data(), part.size()) || file.gcount() > 0)
    all.text.append(part.data(), static_cast<std::size_t>(file.gcount()));
  if (file.bad()) return {{}, "read error"};
  return all;
}

}  // namespace diecast::platforms
