// SPDX-License-Identifier: Apache-2.0
// The pattern of intercube: lines of cubes in every SIP, and the roots between SIPs.
#pragma once

#include <vector>

#include "models/comm/patterns.hpp"

namespace diecast::comm {

/// The edges that the algorithm sends over: E/W between the members of neighboring cubes of each row, N/S
/// along the root's column (north is y + 1), and global_* between the members in the root cubes of the SIPs
/// (ring_1d: E/W in SIP order; torus_2d: E/W along the rows, N/S along the columns of sip_grid_of). The
/// members must be one PE of every cube of one or more SIPs; the torus needs all SIPs of the pod.
/// Throws user_error naming what is missing.
[[nodiscard]] std::vector<edge> intercube(const pattern_context& c);

}  // namespace diecast::comm
