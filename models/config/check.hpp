// SPDX-License-Identifier: Apache-2.0
// Rules between keys. Types and ranges of single keys are checked by their rows (field.hpp).
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "models/config/machine_config.hpp"
#include "models/types/error.hpp"

namespace diecast::config {

// A rule between keys of a config; check() tests all of them for every machine.

/// Result of a rule for a config: value and expectation, or nothing when it holds.
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

/// Every broken rule; `where` is the dotted path of the key to change first. Rules that use a key of `broken`
/// are left out: the value of such a key was refused before, and `config` has another one. Precondition:
/// every value is in its own range.
[[nodiscard]] std::vector<problem> check(const machine_config& config,
                                         const std::set<std::string>& broken = {});

/// Rules of the block hbm: one copy, for --check-config and for the models of memory.
[[nodiscard]] std::span<const rule> hbm_rules();

/// Throws user_error with every number that is out of its key's range and every rule that the others break.
/// To be called by code that builds a memory from a block that was not read from a file.
void need_sound(const hbm_block& hbm);

}  // namespace diecast::config
