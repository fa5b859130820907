// SPDX-License-Identifier: Apache-2.0
// --diagnose: walks a list of experiments on the machine as its command line gives it, and says what is
// wrong. It knows the machine by its behavior only: no config, no fault is ever handed to it.
#pragma once

#include <map>
#include <string>

#include "platforms/diagnose/patient.hpp"

namespace diecast::diagnose {

struct diagnosis {
  std::string json;                          ///< contents of diagnosis.json, schema diecast.diagnosis/1
  std::string text;                          ///< one page
  std::map<std::string, std::string> files;  ///< that commands of the page name
  int exit_code{};                           ///< exit code of the run as given
};

/// Ends within `budget_s` and the second its last experiment needs to stop. Throws std::system_error when no
/// experiment can be started.
[[nodiscard]] diagnosis examine(const patient& who, double budget_s = 110.0);

}  // namespace diecast::diagnose
