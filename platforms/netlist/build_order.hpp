// SPDX-License-Identifier: Apache-2.0
// The order in which a netlist constructs its modules and binds its sockets (sim.build_order).
// Results must not depend on it; the key exists so that this can be shown.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace diecast::netlist {

class build_order {
 public:
  /// "forward", "reverse" or "shuffle:N". Throws user_error for anything else.
  explicit build_order(const std::string& text);

  /// Runs every step once. `where` (an instance path) makes shuffles of different containers differ.
  void run(const std::string& where, const std::vector<std::function<void()>>& steps) const;

 private:
  enum class kind { forward, reverse, shuffle };
  kind kind_{kind::forward};
  std::uint64_t seed_{};
};

}  // namespace diecast::netlist
