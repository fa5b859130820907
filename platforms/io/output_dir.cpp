// SPDX-License-Identifier: Apache-2.0
#include "platforms/io/output_dir.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "models/types/error.hpp"
#include "platforms/io/input.hpp"
#include "platforms/io/own_files.hpp"
#include "platforms/io/whole_file.hpp"

namespace diecast::platforms {
namespace fs = std::filesystem;

constexpr const char* config_name = "config.json";

output_dir::output_dir(fs::path path, std::string config, const std::vector<fs::path>& named,
                       const std::function<void()>& claim)
    : path_(std::move(path)), config_(std::move(config)) {
  std::error_code error;
  fs::create_directories(path_, error);
  if (error || !fs::is_directory(path_, error)) {
    throw output_error(fmt::format("--out {}: cannot create this directory ({})", path_.string(),
                                   error ? error.message() : "it exists and is not a directory"));
  }
  lock();
  const std::vector<fs::path> earlier = earlier_files(named);
  if (claim) claim();
  remove_all(earlier);
  const fs::path any = path_ / "result.json", proof = path_ / "result.json.partial";
  write_whole_file(proof, "", any.string());
  fs::remove(proof, error);
}

std::vector<fs::path> output_dir::earlier_files(const std::vector<fs::path>& named) const {
  std::error_code error;
  fs::directory_iterator entries(path_, error);
  if (error)
    throw output_error(fmt::format("--out {}: cannot be read ({})", path_.string(), error.message()));
  for (const fs::path& n : named) {
    if (!n.empty() && has_own_name(n) &&
        fs::equivalent(n.parent_path().empty() ? "." : n.parent_path(), path_, error))
      throw output_error(
          fmt::format("--out {}: {} has the name of a file of the run itself; expected another",
                      path_.string(), n.string()));
  }
  const auto is_named = [&](const fs::path& file) {
    return std::any_of(named.begin(), named.end(),
                       [&](const fs::path& n) { return fs::equivalent(file, n, error); });
  };
  std::vector<fs::path> earlier;
  std::vector<problem> inputs;
  std::string foreign;
  for (const auto& entry : entries) {
    const fs::path& file = entry.path();
    if (is_named(file)) continue;
    const input_file* const input = input_at(file);
    const bool again = input != nullptr && file.filename() == config_name && input->text == config_;
    if (input != nullptr && has_own_name(file) && !again) {
      inputs.push_back({"--out", fmt::format("would overwrite what {} reads", input->reader), file.string(),
                        "another directory"});
    } else if (!again && !is_own(file)) {
      foreign = file.filename().string();
    } else if (input == nullptr) {
      earlier.push_back(file);
    }
  }
  if (!inputs.empty()) throw user_error(std::move(inputs));
  if (!foreign.empty())
    throw output_error(
        fmt::format("--out {}: holds {}, which Diecast did not write or which was changed since; expected "
                    "an empty directory or one of an earlier run",
                    path_.string(), foreign));
  return earlier;
}

/// All or none: each is renamed first, which needs the same permissions as its removal and can be undone. The
/// status is the first to lose its name and the last to go: a folder that a killed run leaves looks
/// incomplete, and its config is known as the run's.
void output_dir::remove_all(const std::vector<fs::path>& files) const {
  std::vector<std::pair<fs::path, fs::path>> renamed;
  std::error_code error, none;
  std::vector<fs::path> order = files;
  std::stable_partition(order.begin(), order.end(), [](const fs::path& f) {
    return f.filename() == "result.json" || f.filename() == "diagnosis.json";
  });
  for (const fs::path& file : order) {
    const std::string name =
        has_own_name(file) ? file.filename().string() : fmt::format("file{}", renamed.size());
    const fs::path aside = path_ / (name + (name.ends_with(".partial") ? "" : ".partial"));
    fs::rename(file, aside, error);
    if (error) {
      for (const auto& [from, to] : renamed) fs::rename(to, from, none);
      throw output_error(fmt::format("--out {}: the file of an earlier run cannot be removed ({})",
                                     file.string(), error.message()));
    }
    renamed.emplace_back(file, aside);
  }
  for (auto r = renamed.rbegin(); r != renamed.rend(); ++r) fs::remove(r->second, none);
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

void output_dir::complete(const std::string& name, const std::string& text) const {
  std::error_code none;
  const bool was_read = fs::exists(path_ / config_name, none);
  try {
    // The config is known as the run's by the status or its .partial beside it, so that also what a killed
    // run leaves is no user's file.
    write_whole_file(path_ / name, text, {}, [this] { write(config_name, config_); });
  } catch (const output_error&) {
    if (!was_read) fs::remove(path_ / config_name, none);
    throw;
  }
}

}  // namespace diecast::platforms
