// SPDX-License-Identifier: Apache-2.0
// What diecast-bench prints.
#pragma once

#include <string>
#include <vector>

#include "platforms/bench/bench.hpp"

namespace diecast::bench {

/// Schema diecast.bench/1: the median of each number over its runs, in the order given, and of ratios the
/// single values behind it.
[[nodiscard]] std::string result_json(
    const std::string& version, std::uint64_t runs,
    const std::vector<std::pair<std::string, std::vector<double>>>& numbers);

}  // namespace diecast::bench
