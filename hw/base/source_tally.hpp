// SPDX-License-Identifier: Apache-2.0
// Who sent how much to a terminal. With the routes of the topology this gives the bytes that every link
// must have carried, without asking a link.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "models/abi/wire.hpp"

namespace diecast::hw {

class source_tally {
 public:
  struct row {
    abi::node_address source;
    std::uint64_t packets{};
    std::uint64_t flits{};
  };
  void add(const abi::node_address& source, std::uint32_t flits) {
    auto at = std::lower_bound(rows_.begin(), rows_.end(), source,
                               [](const row& r, const abi::node_address& s) { return r.source < s; });
    if (at == rows_.end() || at->source != source) at = rows_.insert(at, {source, 0, 0});
    ++at->packets;
    at->flits += flits;
  }
  /// In order of source.
  [[nodiscard]] const std::vector<row>& rows() const { return rows_; }

 private:
  std::vector<row> rows_;
};

}  // namespace diecast::hw
