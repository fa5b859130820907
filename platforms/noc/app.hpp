// SPDX-License-Identifier: Apache-2.0
// The front door of diecast-noc; its main file is
//
//   int sc_main(int argc, char** argv) { return diecast::noc::run(argc, argv); }
//   int main(int argc, char** argv) { return diecast::app::start(argc, argv); }
#pragma once

namespace diecast::noc {

/// Parses the command line, runs what it asks for, returns the exit code.
int run(int argc, char** argv);

}  // namespace diecast::noc
