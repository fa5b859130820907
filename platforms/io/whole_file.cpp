// SPDX-License-Identifier: Apache-2.0
#include "platforms/io/whole_file.hpp"

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <system_error>

#include "platforms/io/not_written.hpp"

namespace diecast::platforms {

namespace fs = std::filesystem;

void write_whole_file(const fs::path& target, const std::string& text) {
  const fs::path partial = target.string() + ".partial";
  errno = 0;
  std::ofstream file(partial, std::ios::binary);
  file << text;
  file.close();
  if (file && std::rename(partial.c_str(), target.c_str()) == 0) return;
  const output_error failure = not_written(target.string());
  std::error_code none;
  fs::remove(partial, none);
  throw failure;
}

}  // namespace diecast::platforms
