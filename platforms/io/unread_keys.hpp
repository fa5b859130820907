// SPDX-License-Identifier: Apache-2.0
// Keys that somebody gave and no run reads, because the machine has no such part. One file may serve all
// binaries, so this is no error; but a key set in vain is better seen.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "platforms/io/config_json.hpp"

namespace diecast::platforms {

struct unread_key {
  std::string path;
  /// Given on the command line; or a list that says how this very machine differs from others with its blocks
  /// (overrides, faults), wherever it was given.
  bool told{};
};

/// Given keys outside the blocks `read`, in alphabetical order.
[[nodiscard]] std::vector<unread_key> unread_keys(const loaded_config& given,
                                                  const std::set<std::string>& read);
/// Given keys that a pod, SIP or cube does not read: of links and levels it has only one of. `built` is what
/// the platform made of the config.
[[nodiscard]] std::vector<unread_key> unread_keys(const loaded_config& given,
                                                  const config::machine_config& built);

/// A line for the table, naming those that should be told; empty when there are none.
[[nodiscard]] std::string unread_text(const std::vector<unread_key>& keys);

}  // namespace diecast::platforms
