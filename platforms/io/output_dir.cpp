// SPDX-License-Identifier: Apache-2.0
#include "platforms/io/output_dir.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <string_view>
#include <sys/file.h>
#include <system_error>
#include <unistd.h>
#include <vector>

#include "models/types/error.hpp"
#include "platforms/io/not_written.hpp"
#include "platforms/io/own_files.hpp"
#include "platforms/io/whole_file.hpp"

namespace diecast::platforms {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 13> ours{
    "result.json",    "config.json",   "links.csv",   "ipcq.csv", "waits.csv",
    "health.csv",     "deadlock.json", "flight.json", "hbm.csv",  "critical_path.json",
    "diagnosis.json", "diagnosis.txt", "report.html"};

/// "deadlock_3.json": a file of one run of several.
bool is_of_run(const std::string& name, std::string_view head) {
  constexpr std::string_view tail = ".json";
  if (!name.starts_with(head) || !name.ends_with(tail) || name.size() <= head.size() + tail.size())
    return false;
  return std::all_of(name.begin() + head.size(), name.end() - tail.size(),
                     [](char c) { return c >= '0' && c <= '9'; });
}

bool is_of_run(const std::string& name) {
  return is_of_run(name, "deadlock_") || is_of_run(name, "flight_") || is_of_run(name, "critical_path_") ||
         is_of_run(name, "diagnosis_job_");
}

bool is_ours(const fs::path& file) {
  std::string name = file.filename().string();
  if (name.ends_with(".partial")) name.resize(name.size() - std::string_view(".partial").size());
  for (const auto& known : ours) {
    if (name == known) return true;
  }
  return is_of_run(name);
}

}  // namespace

bool would_lose(const fs::path& dir, const fs::path& file) {
  std::error_code none;
  const fs::path folder = fs::canonical(dir, none);
  if (none || !fs::exists(file, none)) return false;
  const auto lies_there = [&](const fs::path& f) {
    return is_ours(f) && fs::weakly_canonical(f.parent_path(), none) == folder;
  };
  return lies_there(fs::absolute(file)) ||
         lies_there(fs::canonical(file, none));  // a link, or what it leads to
}

output_dir::output_dir(fs::path path, const std::vector<fs::path>& named, const std::function<void()>& claim)
    : path_(std::move(path)) {
  std::error_code error;
  fs::create_directories(path_, error);
  if (error || !fs::is_directory(path_)) {
    throw output_error(fmt::format("--out {}: cannot create this directory ({})", path_.string(),
                                   error ? error.message() : "it exists and is not a directory"));
  }
  lock();
  fs::directory_iterator entries(path_, error);
  if (error)
    throw output_error(fmt::format("--out {}: cannot be read ({})", path_.string(), error.message()));
  const auto is_named = [&](const fs::path& file) {
    return std::any_of(named.begin(), named.end(),
                       [&](const fs::path& n) { return fs::exists(n) && fs::equivalent(file, n, error); });
  };
  for (const fs::path& n : named) {
    if (!n.empty() && is_ours(n) && fs::weakly_canonical(n).parent_path() == fs::canonical(path_)) {
      throw output_error(
          fmt::format("--out {}: {} has the name of a file of the run itself; expected another",
                      path_.string(), n.string()));
    }
  }
  std::vector<fs::path> earlier;
  for (const auto& entry : entries) {
    if (is_named(entry.path())) continue;
    if (!is_ours(entry.path()) && !begins_as_ours(entry.path())) {
      throw output_error(
          fmt::format("--out {}: holds {}, which Diecast did not write; expected an empty directory or "
                      "one of an earlier run",
                      path_.string(), entry.path().filename().string()));
    }
    earlier.push_back(entry.path());
  }
  if (claim) claim();
  for (const fs::path& file : earlier) {
    fs::remove(file, error);
    if (error) {
      throw output_error(fmt::format("--out {}: the file of an earlier run cannot be removed ({})",
                                     file.string(), error.message()));
    }
  }
  write("config.json", "");
}

output_dir::descriptor::~descriptor() {
  if (fd >= 0) close(fd);
}

void output_dir::lock() {
  lock_.fd = open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  // A folder that cannot be read is refused below; a file system without locks is no reason not to run.
  if (lock_.fd < 0 || flock(lock_.fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  throw output_error(
      fmt::format("--out {}: another run is writing there; expected a directory for each", path_.string()));
}

void output_dir::write(const std::string& name, const std::string& text) const {
  write_whole_file(path_ / name, text);
}

}  // namespace diecast::platforms
