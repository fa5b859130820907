// SPDX-License-Identifier: Apache-2.0
// The directory of --out: claimed before the simulation, written file by file with a rename.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace diecast::platforms {

/// Throws output_error for anything that cannot be written.
class output_dir {
 public:
  /// Creates the directory, refuses one that holds files of somebody else, removes what an
  /// earlier run left, and proves that a file can be created in it. `named` are files that the same
  /// command line writes (a waveform, a timeline): they may lie in the directory.
  explicit output_dir(std::filesystem::path path, const std::vector<std::filesystem::path>& named = {});

  /// Writes to a temporary name and renames, so that no reader ever sees half a file.
  void write(const std::string& name, const std::string& text) const;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace diecast::platforms
