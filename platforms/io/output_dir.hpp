// SPDX-License-Identifier: Apache-2.0
// The directory of --out: claimed before the simulation, written file by file with a rename.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace diecast::platforms {

/// Throws output_error for anything that cannot be written.
class output_dir {
 public:
  /// Creates the directory, refuses one that holds files of somebody else or in which another run is writing,
  /// removes what an earlier run left, and proves that a file can be created in it. `named` are files that
  /// the same command line writes (a waveform, a timeline, a record) or reads (a record): they may lie in the
  /// directory, under names that are not the run's own. `claim` is called when nothing speaks against the
  /// directory and nothing is removed yet: what it throws costs no earlier result.
  explicit output_dir(std::filesystem::path path, const std::vector<std::filesystem::path>& named = {},
                      const std::function<void()>& claim = {});
  output_dir(const output_dir&) = delete;
  output_dir& operator=(const output_dir&) = delete;

  /// As write_whole_file does.
  void write(const std::string& name, const std::string& text) const;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  /// Two runs at once would leave one's links beside the other's result.
  void lock();

  /// A descriptor that goes with what holds it, also where the constructor throws after it was opened.
  struct descriptor {
    int fd{-1};
    descriptor() = default;
    descriptor(const descriptor&) = delete;
    descriptor& operator=(const descriptor&) = delete;
    ~descriptor();
  };

  std::filesystem::path path_;
  descriptor lock_;
};

/// Whether a run that writes into `dir` would replace or remove `file`, which lies there under a name of its
/// own. False where one of them does not exist.
[[nodiscard]] bool would_lose(const std::filesystem::path& dir, const std::filesystem::path& file);

}  // namespace diecast::platforms
