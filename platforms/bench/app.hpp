// SPDX-License-Identifier: Apache-2.0
// The front door of diecast-bench.
#pragma once

namespace diecast::bench {

/// diecast-bench fabric|hbm|mmio|all [flags]: prints JSON; returns the exit code.
int run(int argc, char** argv);

}  // namespace diecast::bench
