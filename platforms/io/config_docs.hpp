// SPDX-License-Identifier: Apache-2.0
// Pages of the documentation that the tables write: docs/config.md and docs/registers.md.
#pragma once

#include <string>

namespace diecast::platforms {

/// Every config key with unit, values, default, description and source, a table per block.
[[nodiscard]] std::string config_markdown();

/// The register map of a PE (models/abi/registers.hpp).
[[nodiscard]] std::string registers_markdown();

}  // namespace diecast::platforms
