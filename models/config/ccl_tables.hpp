// SPDX-License-Identifier: Apache-2.0
// Settings of collective algorithms and patterns by name: ccl.algorithms and ccl.patterns. That the names
// are registered is checked in platforms/run/prepare.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/types/ids.hpp"

namespace diecast::config {

/// Memory that holds receive rings.
enum class buffer_kind : std::uint8_t { tcm, sram, hbm };

/// Distribution of a SIP's tensor over its cubes, or of a cube's share over its PEs.
enum class layout : std::uint8_t { column_wise, row_wise, replicate };

/// Settings of one algorithm; an unset member keeps the algorithm's registered value.
struct algorithm_settings {
  std::string name{};
  std::optional<std::string> pattern{};
  std::optional<std::string> mapper{};
  std::optional<std::string> validator{};
  std::optional<buffer_kind> rings{};  ///< key buffer_kind
  std::optional<layout> cube_layout{};
  std::optional<layout> pe_layout{};
  std::vector<pe_coord> members{};  ///< ranks of mapper "custom", in rank order
  bool operator==(const algorithm_settings&) const = default;
};

/// One edge of a pattern given in the config.
struct custom_edge {
  pe_coord from;
  std::string direction{};  ///< "N", "global_E", "parent", or any other name
  pe_coord to;
  bool bidirectional{true};
  std::optional<std::string> reverse{};  ///< direction at `to`
  bool operator==(const custom_edge&) const = default;
};

struct custom_pattern {
  std::string name{};
  std::vector<custom_edge> edges{};
  bool operator==(const custom_pattern&) const = default;
};

struct ccl_tables {
  std::vector<algorithm_settings> algorithms{};  ///< in order of the file
  std::vector<custom_pattern> patterns{};
};

}  // namespace diecast::config
