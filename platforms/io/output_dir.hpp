// SPDX-License-Identifier: Apache-2.0
// The directory of --out: claimed before the simulation, written file by file with a rename, the status last.
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
  /// the same command line writes (a waveform, a timeline, a record): they may lie in the directory, under
  /// names that are not the run's own. Inputs of the run stay: one whose name the run needs is a user_error,
  /// but for a config.json with the text `config`, which is written again. `claim` is called when nothing
  /// speaks against the directory and nothing is removed yet: what it throws costs no earlier result.
  explicit output_dir(std::filesystem::path path, std::string config,
                      const std::vector<std::filesystem::path>& named = {},
                      const std::function<void()>& claim = {});
  output_dir(const output_dir&) = delete;
  output_dir& operator=(const output_dir&) = delete;

  /// As write_whole_file does.
  void write(const std::string& name, const std::string& text) const;
  /// Writes config.json and, as the last file, the one that holds the status of the run: where it is missing,
  /// the directory is not complete.
  void complete(const std::string& name, const std::string& text) const;

 private:
  /// Two runs at once would leave one's links beside the other's result.
  void lock();
  /// What an earlier run left. Throws for anything else that is in the directory.
  [[nodiscard]] std::vector<std::filesystem::path> earlier_files(
      const std::vector<std::filesystem::path>& named) const;
  void remove_all(const std::vector<std::filesystem::path>& files) const;

  /// A descriptor that goes with what holds it, also where the constructor throws after it was opened.
  struct descriptor {
    int fd{-1};
    descriptor() = default;
    descriptor(const descriptor&) = delete;
    descriptor& operator=(const descriptor&) = delete;
    ~descriptor();
  };

  std::filesystem::path path_;
  std::string config_;
  descriptor lock_;
};

}  // namespace diecast::platforms
