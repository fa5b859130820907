// SPDX-License-Identifier: Apache-2.0
// The registries of this repository's binaries.
#pragma once

#include "platforms/run/registries.hpp"

namespace diecast::app {

/// Everything Diecast ships, for the platform given.
[[nodiscard]] registries builtin_registries(platform_entry platform);

[[nodiscard]] platform_entry pod_platform();
[[nodiscard]] platform_entry sip_platform();
[[nodiscard]] platform_entry cube_platform();

}  // namespace diecast::app
