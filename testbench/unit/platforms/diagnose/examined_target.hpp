// SPDX-License-Identifier: Apache-2.0
// A target of the diagnosis that is a script.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>
#include <vector>

#include "platforms/diagnose/examination.hpp"

namespace diecast::test {

/// A program made of a few lines of shell; $OUT is the folder that --out names. `fault KIND PLACE` leaves a
/// result with that fault, `refuse KIND` a problem. What is asked beside runs
/// (--list, --print-map) gets `answer`.
class script {
 public:
  explicit script(const std::string& lines, const std::string& answer = "") {
    static int made = 0;
    path_ = (std::filesystem::temp_directory_path() /
             ("diecast-target-" + std::to_string(getpid()) + "-" + std::to_string(made++)))
                .string();
    std::ofstream(path_)
        << "#!/bin/sh\nOUT= before=\nfor word; do\n  [ \"$before\" = --out ] && OUT=$word\n "
           " before=$word\ndone\n"
           "[ -n \"$OUT\" ] || { echo '"
        << answer
        << "'; exit 0; }\nright() {\n  mkdir -p $OUT\n"
           "  echo '{\"runs\":[{\"fingerprint\":\"7\",\"time_ns\":5}]}' > $OUT/result.json\n"
           "}\nfault() {\n  mkdir -p $OUT\n"
           "  echo '{\"runs\":[{\"fingerprint\":\"7\",\"time_ns\":5,\"fault\":{\"kind\":\"'"
           "$1'\",\"place\":\"'$2'\"}}]}' > $OUT/result.json\n  echo 'a sentence for people' >&2\n}\n"
           "refuse() { echo '[{\"kind\":\"'$1'\"}]' > $DIECAST_PROBLEMS; exit 2; }\n"
        << lines;
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all);
  }
  ~script() { std::filesystem::remove(path_); }
  script(const script&) = delete;
  script& operator=(const script&) = delete;

  [[nodiscard]] diagnose::diagnosis examine(double budget_s, const std::string& more = "",
                                            const std::vector<std::string>& for_children_only = {},
                                            std::uint64_t bytes = 65536) const {
    std::vector<std::string> arguments;
    if (!more.empty()) arguments = {"--workload", more};
    return diagnose::examine({path_, arguments, "all_reduce", "", bytes, for_children_only}, budget_s);
  }

 private:
  std::string path_;
};

}  // namespace diecast::test
