// SPDX-License-Identifier: Apache-2.0
// All-reduce by recursive doubling: in step k every rank exchanges its whole vector with the rank whose
// number differs in bit k, and adds. log2(ranks) steps; the ranks must be a power of two.
#pragma once

#include "models/comm/patterns.hpp"
#include "sw/collectives/base/kernel_table.hpp"

namespace lab {

[[nodiscard]] diecast::comm::pattern_entry hypercube();
[[nodiscard]] diecast::sw::kernel_entry hypercube_doubling();

}  // namespace lab
