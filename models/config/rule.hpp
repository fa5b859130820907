// SPDX-License-Identifier: Apache-2.0
// A rule between keys of a config: what check() holds every machine to.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/config/machine_config.hpp"

namespace diecast::config {

/// What a rule says of a config: value and expectation, or nothing when it holds.
struct broken_rule {
  std::string what;
  std::string value;
  std::string expected;
};
using verdict = std::optional<broken_rule>;

struct rule {
  std::vector<std::string> keys;  ///< the first is the one to change
  verdict (*test)(const machine_config&);
};

}  // namespace diecast::config
