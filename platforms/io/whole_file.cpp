// SPDX-License-Identifier: Apache-2.0
#include "platforms/io/whole_file.hpp"

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <system_error>

#include "platforms/io/standard_streams.hpp"

namespace diecast::platforms {

namespace fs = std::filesystem;

void write_whole_file(const fs::path& target, const std::string& text, const std::string& name,
                      const std::function<void()>& last) {
  std::error_code none;
  const fs::file_status there = fs::status(target, none);
  const bool staged = !fs::exists(there) || fs::is_regular_file(there);
  const fs::path canonical = fs::canonical(target, none);
  const fs::path& end = none ? target : canonical;  // a link stays one
  constexpr std::size_t longest = 240;              // the temporary name is no longer than a name may be
  const fs::path beside = end.parent_path() / (end.filename().string().substr(0, longest) + ".partial");
  const fs::path written = staged ? beside : target;
  const auto drop = [&] { return staged && fs::remove(written, none); };
  errno = 0;
  std::ofstream file(written, std::ios::binary);
  file << text;
  file.close();
  try {
    if (file && last) last();
  } catch (const output_error&) {
    drop();
    throw;
  }
  if (file && (!staged || std::rename(written.c_str(), end.c_str()) == 0)) return;
  const output_error failure = not_written(name.empty() ? target.string() : name);
  drop();
  throw failure;
}

}  // namespace diecast::platforms
