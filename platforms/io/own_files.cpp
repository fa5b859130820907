// SPDX-License-Identifier: Apache-2.0
#include "platforms/io/own_files.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <string>
#include <system_error>

namespace diecast::platforms {

bool begins_as_ours(const std::filesystem::path& file) {
  constexpr std::array heads{vcd_head, timeline_head, record_head};
  std::error_code none;
  if (!std::filesystem::is_regular_file(std::filesystem::symlink_status(file, none))) return false;
  std::string text(timeline_head.size(), '\0');  // the longest
  std::ifstream in(file, std::ios::binary);
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  return std::any_of(heads.begin(), heads.end(),
                     [&text](std::string_view head) { return text.starts_with(head); });
}

}  // namespace diecast::platforms
