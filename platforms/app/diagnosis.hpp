// SPDX-License-Identifier: Apache-2.0
// --diagnose.
#pragma once

#include "platforms/app/options.hpp"

namespace diecast::app {

/// Examines the run that the flags ask for; writes its files into --out, by default the folder diagnosis of
/// the working directory. Returns the exit code of the run as given.
int run_diagnosis(const options& o, const config::machine_config& config, int argc, char** argv);

}  // namespace diecast::app
