// SPDX-License-Identifier: Apache-2.0
#include "platforms/io/not_written.hpp"

#include <cerrno>
#include <fmt/format.h>
#include <system_error>

namespace diecast::platforms {
namespace {

std::string reason() {
  return errno == 0 ? "" : fmt::format(" ({})", std::generic_category().message(errno));
}

}  // namespace

output_error not_written(const std::string& what) {
  return output_error(fmt::format("{}: cannot be written{}", what, reason()));
}

output_error not_finished(const std::string& what) {
  return output_error(fmt::format("{}: writing failed{}; the file is incomplete", what, reason()));
}

}  // namespace diecast::platforms
