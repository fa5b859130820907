// SPDX-License-Identifier: Apache-2.0
// What the fuzz targets share. A malformed input is answered by a user_error; every other exception ends the
// program.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>

#include "models/types/error.hpp"
#include "platforms/files/input.hpp"

namespace diecast::fuzz {

/// A file in memory, for readers that take a path.
class memory_file {
 public:
  explicit memory_file(std::string_view text) : fd_(memfd_create("input", 0)) {
    platforms::forget_inputs();  // the file before had the same path
    if (fd_ < 0 || write(fd_, text.data(), text.size()) != static_cast<ssize_t>(text.size())) abort();
  }
  memory_file(const memory_file&) = delete;
  memory_file& operator=(const memory_file&) = delete;
  ~memory_file() { close(fd_); }
  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

/// A property that must hold for every input that is accepted.
inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "violated: %s\n", what);
  abort();
}

/// `read` takes the input as text.
template <class Read>
int run(const std::uint8_t* data, std::size_t size, Read read) {
  try {
    read(std::string_view(reinterpret_cast<const char*>(data), size));
  } catch (const user_error& e) {
    require(!e.problems().empty(), "an error names a problem");
  }
  return 0;
}

}  // namespace diecast::fuzz

/// SystemC's library, which the studies' headers need, calls it from a main of its own; libFuzzer's is linked
/// instead.
extern "C" int sc_main(int, char**) { return 0; }

/// FUZZ_TARGET(text) { ... }: what libFuzzer calls.
#define FUZZ_TARGET(text)                                                          \
  static void read_input(std::string_view text);                                   \
  extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t n) { \
    return diecast::fuzz::run(data, n, read_input);                                \
  }                                                                                \
  static void read_input(std::string_view text)
