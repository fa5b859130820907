// SPDX-License-Identifier: Apache-2.0
#include "platforms/io/paths.hpp"

#include <fmt/format.h>
#include <string_view>

#include "models/types/error.hpp"

namespace diecast::platforms {
namespace fs = std::filesystem;

namespace {

fs::path binary_dir() {
  // /proc/self/exe is the binary itself whatever argv[0] or the working directory say.
  std::error_code error;
  const fs::path binary = fs::read_symlink("/proc/self/exe", error);
  if (error)
    throw user_error(problem{"/proc/self/exe", "cannot be read", error.message(), "the running binary"});
  return binary.parent_path();
}

fs::path existing(fs::path path, std::string_view meaning) {
  std::error_code error;
  if (fs::exists(path, error)) return path;
  throw user_error(problem{path.string(), fmt::format("{} not found", meaning), "",
                           "the files of an installation or a build tree next to the binary"});
}

}  // namespace

fs::path data_dir(const fs::path& given) {
  const fs::path folder = given.empty() ? binary_dir() / ".." / "share" / "diecast" : given;
  return existing(folder.lexically_normal(), "folder of shipped data");
}
fs::path configs_dir(const fs::path& given) {
  return existing(data_dir(given) / "configs", "folder of shipped configs");
}
fs::path presets_dir(const fs::path& given) {
  return existing(data_dir(given) / "presets", "folder of presets");
}

fs::path default_config(const fs::path& file, const fs::path& given_data_dir) {
  const fs::path path = file.is_absolute() ? file : configs_dir(given_data_dir) / file;
  return existing(path, "default config of the platform");
}

}  // namespace diecast::platforms
