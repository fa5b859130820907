// SPDX-License-Identifier: Apache-2.0
#include "platforms/io/standard_streams.hpp"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <fmt/format.h>
#include <string_view>
#include <system_error>
#include <unistd.h>

namespace diecast::platforms {
namespace {

/// Control characters as \x1b: what an input or a name holds gives a terminal no orders.
std::string visible(const std::string& text) {
  constexpr std::string_view digits = "0123456789abcdef", kept = "\n\t";
  std::string made;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if ((code >= 0x20 && code != 0x7f) || kept.find(c) != std::string_view::npos)
      made += c;
    else
      made += {'\\', 'x', digits[code >> 4U], digits[code & 0xfU]};
  }
  return made;
}

}  // namespace

void hold_standard_streams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest free number is this one. Opened for reading, standard output still tells that it is closed.
    (void)open("/dev/null", fd == STDERR_FILENO ? O_WRONLY : O_RDONLY);
  }
  (void)std::signal(SIGPIPE, SIG_IGN);
  (void)std::signal(SIGXFSZ, SIG_IGN);  // a file at its limit (ulimit -f) is an error of its write
}

void tell(const std::string& line) { tell(stderr, visible(line) + '\n'); }

void tell(std::FILE* to, const std::string& text) { (void)std::fwrite(text.data(), 1, text.size(), to); }

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
