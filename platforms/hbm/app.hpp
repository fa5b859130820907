// SPDX-License-Identifier: Apache-2.0
// The front door of an HBM binary; its main file is
//
//   int sc_main(int argc, char** argv) { return diecast::hbm::run(registries, argc, argv); }
//   int main(int argc, char** argv) { return diecast::app::start(argc, argv); }
#pragma once

#include "platforms/hbm/study.hpp"

namespace diecast::hbm {

/// Parses the command line, runs what it asks for, returns the exit code.
int run(const registries& tables, int argc, char** argv);

}  // namespace diecast::hbm
