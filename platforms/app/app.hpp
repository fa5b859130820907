// SPDX-License-Identifier: Apache-2.0
// Entry of a platform binary. A main file is two functions:
//
//   int sc_main(int argc, char** argv) { return diecast::app::run(registries, argc, argv); }
//   int main(int argc, char** argv) { return diecast::app::start(argc, argv); }
#pragma once

#include "platforms/app/builtin.hpp"

namespace diecast::app {

/// Parses the command line, runs the job, returns the exit code (README.md).
int run(const registries& tables, int argc, char** argv);

/// Prepares the standard streams and enters SystemC, which calls sc_main, without its banner.
int start(int argc, char** argv);

}  // namespace diecast::app
