// SPDX-License-Identifier: Apache-2.0
// The front door of an HBM binary; its main file is
//
//   int sc_main(int argc, char** argv) { return diecast::hbm::run(registries, argc, argv); }
//   int main(int argc, char** argv) { return diecast::app::start(argc, argv); }
#pragma once

#include <string>

#include "platforms/hbm/study.hpp"

namespace diecast::hbm {

/// Parses the command line, runs what it asks for, returns the exit code.
int run(const registries& tables, int argc, char** argv);

// What an HBM binary prints about itself and its memory, without running anything.

/// --list patterns | presets
[[nodiscard]] std::string list_text(const registries& tables, const std::string& what);
/// --check-config: organization, peak and the closed-form limits of the patterns.
[[nodiscard]] std::string memory_text(const config::hbm_block& hbm);

}  // namespace diecast::hbm
