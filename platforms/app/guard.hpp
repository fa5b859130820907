// SPDX-License-Identifier: Apache-2.0
// What every binary makes of an error that reaches its main.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "platforms/run/child.hpp"

namespace diecast::app {

/// Runs `body` and returns its exit code; prints what it throws to stderr and returns the code that the
/// error's type stands for (2 user, 5 output, 71 the operating system, 70 anything else). Standard output
/// that cannot be written is an output error, unless it is a pipe whose reader has ended.
int exit_code_of(const std::function<int()>& body);

/// Writes to standard output; what fails is found when exit_code_of() ends.
void print(const std::string& text);
/// Writes out what was printed.
void flush();

/// Exit code of an invocation: of the worst of its runs; 5 where a file of one was lost and the model itself
/// is sound; 128 and the signal's number of one that was interrupted.
template <class Outcome>
[[nodiscard]] int exit_code_of(const std::vector<Outcome>& runs) {
  const platforms::run_status status = platforms::worst(runs);
  const bool lost = std::any_of(runs.begin(), runs.end(), [](const Outcome& o) { return o.output_lost; });
  using platforms::run_status;
  if (status != run_status::internal && status != run_status::system && lost) return platforms::output_failed;
  if (status == run_status::interrupted) return 128 + platforms::interrupt_signal();
  return platforms::exit_code(status);
}

}  // namespace diecast::app
