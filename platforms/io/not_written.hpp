// SPDX-License-Identifier: Apache-2.0
// What is said of a file that could not be written.
#pragma once

#include <string>

#include "models/types/error.hpp"

namespace diecast::platforms {

/// "WHAT: cannot be written (reason)". The reason is errno's, which the caller has set to 0 before it tried.
[[nodiscard]] output_error not_written(const std::string& what);

/// Of a file that was opened and could not be written to its end.
[[nodiscard]] output_error not_finished(const std::string& what);

}  // namespace diecast::platforms
