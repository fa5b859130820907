// SPDX-License-Identifier: Apache-2.0
// Rings over all ranks, and rows and columns of ranks.
#pragma once

#include <vector>

#include "models/comm/patterns.hpp"

namespace diecast::comm {

/// ring_1d: E/W over ring_order. A dimension of size 1 has no edges; size 2 has E and W both
/// leading to the same peer.
[[nodiscard]] std::vector<edge> ring_1d(const pattern_context& c);
[[nodiscard]] std::vector<edge> ring_1d_unidir(const pattern_context& c);
/// mesh_2d (also mesh_2d_no_wrap) and torus_2d: E/W along the rows and N/S along the columns of the
/// rank_grid, open or closed.
[[nodiscard]] std::vector<edge> mesh_2d(const pattern_context& c);
[[nodiscard]] std::vector<edge> torus_2d(const pattern_context& c);

}  // namespace diecast::comm
