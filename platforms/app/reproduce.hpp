// SPDX-License-Identifier: Apache-2.0
// --record, --verify and --double-run: whether a run happened as it did before.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "platforms/run/run_point.hpp"

namespace diecast::app {

/// Compares a run with a second one of itself: everything but the time it took the host. Says what differs
/// in the outcome, whose status becomes not_reproducible unless it is worse already.
void compare_runs(platforms::run_outcome& first, const platforms::run_outcome& second);

/// Runs recorded in a file.
class run_record {
 public:
  run_record() = default;
  /// Reads `file`. Throws user_error when it cannot be read or is no record.
  explicit run_record(const std::string& file);

  void add(const platforms::run_outcome& o);
  /// Text of the file.
  [[nodiscard]] std::string text() const;
  /// Compares run number `index` of this invocation with the recorded one.
  void verify(std::size_t index, platforms::run_outcome& o) const;

 private:
  struct entry {
    std::string name;  ///< what was run
    std::string steps;
  };
  std::string file_;
  std::vector<entry> entries_;
};

}  // namespace diecast::app
