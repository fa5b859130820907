// SPDX-License-Identifier: Apache-2.0
#include "platforms/files/input.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace diecast::platforms {
namespace {

/// One list per process: a pipe gives its text only once, so all readers share it.
std::deque<input_file>& remembered() {
  static std::deque<input_file> files;
  return files;
}

std::optional<file_identity> identity_in(const struct stat& s) {
  if (!S_ISREG(s.st_mode)) return std::nullopt;
  return file_identity{s.st_dev, s.st_ino};
}

/// Reads to the end of the file; returns why that failed.
std::string read_to_end(int fd, std::string& text) {
  std::array<char, 65536> part{};
  for (;;) {
    const ssize_t n = read(fd, part.data(), part.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fmt::format("read error ({})", std::strerror(errno));
    if (n == 0) return {};
    if (text.size() + static_cast<std::size_t>(n) > input_limits::file_mib << 20)
      return fmt::format("longer than {} MiB", input_limits::file_mib);
    text.append(part.data(), static_cast<std::size_t>(n));
  }
}

/// UTF-8 is the only encoding that is read; its mark is no part of the text. Returns why others are not.
std::string remove_mark(std::string& text) {
  constexpr std::string_view utf8 = "\xEF\xBB\xBF", big = "\xFE\xFF", little = "\xFF\xFE";
  if (text.starts_with(utf8)) text.erase(0, utf8.size());
  if (text.starts_with("\x1F\x8B")) return "compressed by gzip; give it unpacked, as by <(zcat FILE)";
  if (text.starts_with(big) || text.starts_with(little)) return "its text is UTF-16, not UTF-8";
  const std::size_t nul = text.find('\0');  // the position at which C string functions would end the text
  return nul == text.npos ? "" : fmt::format("byte {} is NUL, which no text has", nul);
}

void read_descriptor(int fd, input_file& file) {
  struct stat s {};
  if (fstat(fd, &s) == 0) file.identity = identity_in(s);
  file.failure = S_ISDIR(s.st_mode) ? "a folder" : read_to_end(fd, file.text);
  if (file.failure.empty()) file.failure = remove_mark(file.text);
  if (!file.failure.empty() && file.path.extension() == ".et")
    file.failure += "; scripts/chakra2workload reads binary traces of Chakra";
  if (!file.failure.empty()) file.text = {};
}

/// The identity of a regular file; empty where there is none. Pipes and devices have no contents that an
/// output could replace.
std::optional<file_identity> identity_of(const std::filesystem::path& path) {
  struct stat s {};
  return stat(path.c_str(), &s) == 0 ? identity_in(s) : std::nullopt;
}

}  // namespace

const input_file& read_input(const std::string& reader, const std::filesystem::path& path) {
  std::deque<input_file>& files = remembered();
  const auto known = std::ranges::find(files, path, &input_file::path);
  if (known != files.end()) return *known;
  input_file& file = files.emplace_back(input_file{reader, path, {}, {}, {}});
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) {
    file.failure = std::strerror(errno);
    return file;
  }
  read_descriptor(fd, file);
  close(fd);
  return file;
}

void provide_input(const std::string& reader, const std::filesystem::path& path, std::string text) {
  remembered().push_back({reader, path, std::move(text), {}, {}});
}

const std::deque<input_file>& inputs() { return remembered(); }

void forget_inputs() { remembered().clear(); }

const input_file* input_at(const std::filesystem::path& output) {
  const auto identity = identity_of(output);
  if (!identity) return nullptr;
  const auto& files = inputs();
  const auto found = std::ranges::find(files, identity, &input_file::identity);
  return found == files.end() ? nullptr : &*found;
}

std::string_view take_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line;
}

problem cannot_be_read(const std::string& where, const std::filesystem::path& path,
                       const std::string& failure, const std::string& expected) {
  return {where, "cannot be read: " + failure, path.string(), expected};
}

}  // namespace diecast::platforms
