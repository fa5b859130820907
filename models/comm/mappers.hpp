// SPDX-License-Identifier: Apache-2.0
// Which PEs take part in a collective, and what each of them holds of its SIP's tensor: mappers choose the
// members, layouts spread the tensor, validators compare the two before anything runs.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/comm/patterns.hpp"
#include "models/config/ccl_tables.hpp"
#include "models/config/population.hpp"
#include "models/types/error.hpp"

namespace diecast::comm {

struct mapper_context {
  config::population machine;           ///< the PEs there are
  const std::vector<pe_coord>& listed;  ///< members of mapper "custom": ccl.algorithms.NAME.members
  std::string where;                    ///< config path of the algorithm's settings, for messages
};

struct mapper_entry {
  std::string name;
  std::string description;
  rank_set set{rank_set::pe};  ///< value of --ranks that selects the members
  /// Members in rank order. Throws user_error for an impossible list.
  std::function<group(const mapper_context&)> map;
};

/// all_pes, cube_leaders, leader_only, custom.
[[nodiscard]] std::vector<mapper_entry> builtin_mappers();
/// Name of the mapper that --ranks selects.
[[nodiscard]] const char* mapper_of(rank_set set);

/// How a SIP's tensor of rows and columns is spread: over its cubes, and each share over the cube's PEs.
struct tensor_layout {
  config::layout cube{config::layout::column_wise};
  config::layout pe{config::layout::column_wise};
};
/// "column_wise over cubes, replicate over PEs".
[[nodiscard]] std::string to_string(const tensor_layout& l);
[[nodiscard]] const char* to_string(config::layout l);

/// The layout in which every member holds a different share.
[[nodiscard]] tensor_layout layout_of(rank_set set);

/// Different shares that a SIP's tensor is cut into.
[[nodiscard]] std::uint64_t shards_per_sip(const machine_shape& shape, const tensor_layout& l);

/// What one PE holds: a rectangle of the SIP's tensor, all of it in one piece of local memory, row by row.
struct shard {
  std::uint64_t row_begin{}, rows{};
  std::uint64_t column_begin{}, columns{};
  [[nodiscard]] std::uint64_t elements() const { return rows * columns; }
  bool operator==(const shard&) const = default;
};
/// Shares are nearly equal parts [n * i / parts, n * (i + 1) / parts) of rows or columns.
[[nodiscard]] shard shard_of(const machine_shape& shape, const tensor_layout& l, pe_coord pe,
                             std::uint64_t rows, std::uint64_t columns);

struct validator_context {
  config::population machine;
  const group& members;
  tensor_layout layout;
  std::string where;  ///< config path of the algorithm's settings, for messages
};

struct validator_entry {
  std::string name;
  std::string description;
  /// What is wrong with the layout for these members; empty when it fits.
  std::function<std::optional<problem>(const validator_context&)> check;
};

/// single_shard, multi_pe_sip_local, replicated, cube_shards.
[[nodiscard]] std::vector<validator_entry> builtin_validators();
/// The validator of the members that a rank set has by itself.
[[nodiscard]] const char* validator_of(rank_set set);

// Shard-wise collectives: the ranks are SIPs, each holds its vector in shards over its PEs, and every shard
// is combined with the same shard of the other SIPs by the PEs that hold them.

/// One shard: its holders, a PE of every SIP in the order of SIPs, and its elements.
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
