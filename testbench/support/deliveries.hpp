// SPDX-License-Identifier: Apache-2.0
// The law of every fabric: nothing lost, nothing twice, in order per flow.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "support/fabric_bench.hpp"
#include "support/test.hpp"

namespace diecast::test {

inline const std::vector<abi::traffic_class> every_class{
    abi::traffic_class::request, abi::traffic_class::response, abi::traffic_class::comm,
    abi::traffic_class::message, abi::traffic_class::sideband};

/// Every packet arrived once, and packets of a (source, destination, class) in the order of sending.
inline void check_conserved(const fabric_bench& bench, std::uint64_t planned) {
  std::map<std::tuple<abi::node_address, abi::node_address, abi::traffic_class>, std::uint64_t> last;
  std::set<std::pair<abi::node_address, std::uint64_t>> seen;
  std::uint64_t out_of_order = 0;
  for (const delivery& d : bench.deliveries()) {
    seen.emplace(d.source, d.tag);
    const auto [flow, first] = last.try_emplace({d.source, d.destination, d.traffic_class}, d.tag);
    if (!first && d.tag <= flow->second) ++out_of_order;
    flow->second = d.tag;
  }
  CHECK(out_of_order == 0);
  CHECK(bench.deliveries().size() == planned);
  CHECK(seen.size() == planned);
  CHECK(bench.unrest() == std::vector<std::string>{});
}

}  // namespace diecast::test
