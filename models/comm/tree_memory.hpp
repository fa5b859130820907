// SPDX-License-Identifier: Apache-2.0
// The latest trees of comm::packed_trees. A run needs the same trees for wiring, arguments and estimates, and
// a sweep needs them for each size; a search takes up to seconds.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "models/comm/patterns.hpp"
#include "models/comm/trees.hpp"

namespace diecast::comm {

/// Not for several threads at a time.
class tree_memory {
 public:
  /// Nodes by tree and rank.
  using nodes = std::array<std::vector<tree_node>, 2>;
  using search_fn = std::function<nodes(const pattern_context&, bool up)>;

  /// What the search finds for this machine, members and root; asked only when it is not known. Everything
  /// that a search can depend on is compared, every key of the machine's configuration included, so that who
  /// asked before cannot matter.
  [[nodiscard]] nodes trees_of(const pattern_context& c, bool up, const search_fn& search);
  [[nodiscard]] std::uint64_t searches() const { return searches_; }

  /// The memory of the process. Searches are pure functions: there is nothing to share it out by.
  [[nodiscard]] static tree_memory& of_process();

 private:
  struct question {
    question(const pattern_context& c, bool up);
    bool operator==(const question&) const = default;

    std::string values;  ///< values of all keys, as a written configuration has them
    std::vector<config::instance_override> overrides;
    machine_shape shape;
    std::vector<pe_coord> members;
    std::uint32_t root{};
    bool shares_queue_pairs{}, up{};
  };
  struct known {
    question asked;
    nodes found;
  };
  static constexpr std::size_t most_known = 16;

  std::deque<known> last_;
  std::uint64_t searches_{};
};

}  // namespace diecast::comm
