// SPDX-License-Identifier: Apache-2.0
// Config files for tests: a folder that is removed again, and the problems a load reports.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "models/types/error.hpp"
#include "platforms/config_io/config_json.hpp"
#include "platforms/files/input.hpp"

namespace diecast::test {

class temporary_folder {
 public:
  temporary_folder() {
    std::string name = (std::filesystem::temp_directory_path() / "diecast-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder " + name);
    path_ = name;
  }
  ~temporary_folder() { std::filesystem::remove_all(path_); }
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  /// Writes a file, in folders as needed; returns its path.
  std::filesystem::path write(const std::string& name, const std::string& text) const {
    std::filesystem::path file = path_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
    platforms::forget_inputs();
    return file;
  }

 private:
  std::filesystem::path path_;
};

/// Problems as the user reads them, without the folder; empty when the load succeeds.
inline std::vector<std::string> load_problems(const platforms::config_request& request) {
  std::vector<std::string> lines;
  const std::string folder = request.file.parent_path().string() + "/";
  try {
    static_cast<void>(platforms::load_config(request));
  } catch (const user_error& e) {
    for (const problem& p : e.problems()) {
      std::string line = to_string(p);
      for (std::size_t at = line.find(folder); at != std::string::npos; at = line.find(folder)) {
        line.erase(at, folder.size());
      }
      lines.push_back(std::move(line));
    }
  }
  return lines;
}

inline std::vector<std::string> problems_of_text(const std::string& text,
                                                 std::vector<std::string> sets = {}) {
  const temporary_folder folder;
  return load_problems({folder.write("m.json", text), std::move(sets), {}});
}

inline config::machine_config load_text(const std::string& text, std::vector<std::string> sets = {}) {
  const temporary_folder folder;
  return platforms::load_config({folder.write("m.json", text), std::move(sets), {}}).config;
}

using lines = std::vector<std::string>;

}  // namespace diecast::test
