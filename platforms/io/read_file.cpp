// SPDX-License-Identifier: Apache-2.0
#include "platforms/io/read_file.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace diecast::platforms {

opened_file open_file(const std::filesystem::path& path) {
  std::error_code none;
  // A folder opens; only reading it fails.
  if (std::filesystem::is_directory(path, none)) return {{}, "a folder"};
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) return {{}, std::strerror(errno)};
  return {std::move(in), {}};
}

file_contents read_file(const std::filesystem::path& path) {
  opened_file file = open_file(path);
  file_contents all{{}, std::move(file.failure)};
  if (!all.failure.empty()) return all;
  std::array<char, 65536> part{};
  while (file.in.read(part.data(), part.size()) || file.in.gcount() > 0)
    all.text.append(part.data(), static_cast<std::size_t>(file.in.gcount()));
  if (file.in.bad()) return {{}, "read error"};
  return all;
}

problem cannot_be_read(const std::string& where, const std::filesystem::path& path,
                       const std::string& failure, const std::string& expected) {
  return {where, "cannot be read: " + failure, path.string(), expected};
}

}  // namespace diecast::platforms
