// SPDX-License-Identifier: Apache-2.0
// Rows and columns of ranks: all-reduce by the bucket algorithm along one axis, then the other. Half of the
// vector takes rows first, half columns first, and on closed axes each half goes both ways round, so that all
// four directions carry data at once.
#pragma once

#include "sw/kernels/ring.hpp"

namespace diecast::sw {

/// A PE on an open line of PEs: `forth` leads to position + 1, `back` to position - 1.
using open_line = ring_place;

/// On closed axes. Ends with the same bits everywhere; averages are divided.
void all_reduce_on_torus(pe_context& pe, const ring_place& row, const ring_place& column);
/// On open axes.
void all_reduce_on_mesh(pe_context& pe, const open_line& row, const open_line& column);

}  // namespace diecast::sw
