// SPDX-License-Identifier: Apache-2.0
// The front door of diecast-noc; its main file is
//
//   int sc_main(int argc, char** argv) { return diecast::noc::run(argc, argv); }
//   int main(int argc, char** argv) { return diecast::app::start(argc, argv); }
#pragma once

#include <string>

#include "platforms/noc/study.hpp"

namespace diecast::noc {

/// Parses the command line, runs what it asks for, returns the exit code.
int run(int argc, char** argv);

// What diecast-noc prints about itself and its network, without running anything.

/// --list patterns | presets
[[nodiscard]] std::string list_text(const std::string& what);
/// --check-config: size, VCs, buffers and zero-load latencies.
[[nodiscard]] std::string network_text(const network& net, std::uint32_t packet_flits);

}  // namespace diecast::noc
