// SPDX-License-Identifier: Apache-2.0
// Shard-wise collectives: the ranks are SIPs, each holds its vector in shards over its PEs, and every shard
// is combined with the same shard of the other SIPs by the PEs that hold them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/comm/mappers.hpp"

namespace diecast::comm {

/// One shard: who holds it, a PE of every SIP in the order of SIPs, and which elements it is.
struct shard_group {
  std::string place;  ///< "cube3.pe2", of all members
  group members;      ///< members of rank set sip
  std::uint64_t begin{}, elements{};
};

/// The shards of a vector of `count` elements. A vector has no rows: column_wise and row_wise both cut it
/// into nearly equal parts. With replicate over cubes (PEs) those of cube 0 (PE 0) hold the shards. Throws
/// user_error when the machine lacks a PE that would hold one.
[[nodiscard]] std::vector<shard_group> shard_groups(const config::population& machine,
                                                    const tensor_layout& layout, std::uint64_t count);

}  // namespace diecast::comm
