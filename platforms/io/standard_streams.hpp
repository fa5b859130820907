// SPDX-License-Identifier: Apache-2.0
// Standard input, output and error as a program finds them: perhaps closed, full, or a pipe nobody reads.
#pragma once

#include <cstdio>
#include <string>

#include "models/types/error.hpp"

namespace diecast::platforms {

/// Opens /dev/null on each of the descriptors 0 to 2 that is closed, so that no file of the run gets its
/// number and with it what is printed. Writing to a standard output that was closed still fails. A pipe that
/// nobody reads, and a file that reaches its limit, becomes an error of the write, no end of the program. To
/// be called before any file is opened.
void hold_standard_streams();

/// Writes a line to standard error. What cannot be written there is lost: there is no other place to say so.
void tell(const std::string& line);
/// Writes `text` as it is; what cannot be written is lost.
void tell(std::FILE* to, const std::string& text);

// What is said of a file that could not be written.

/// "WHAT: cannot be written (reason)". The reason is errno's, which the caller has set to 0 before it tried.
[[nodiscard]] output_error not_written(const std::string& what);

/// Of a file that was opened and could not be written to its end.
[[nodiscard]] output_error not_finished(const std::string& what);

}  // namespace diecast::platforms
