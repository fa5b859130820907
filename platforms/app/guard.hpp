// SPDX-License-Identifier: Apache-2.0
// What every binary makes of an error that reaches its main.
#pragma once

#include <functional>

namespace diecast::app {

/// Runs `body` and returns its exit code; prints what it throws to stderr and returns the code that the
/// error's type stands for (2 user, 5 output, 70 anything else). Standard output that cannot be written
/// is an output error.
int exit_code_of(const std::function<int()>& body);

}  // namespace diecast::app
