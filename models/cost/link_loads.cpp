// SPDX-License-Identifier: Apache-2.0
#include "models/cost/link_loads.hpp"

#include <algorithm>
#include <map>

#include "models/cost/message_cost.hpp"

namespace diecast::cost {
namespace {

constexpr std::size_t most_ways = 4096;

}  // namespace

double link_loads::gbytes_s(std::uint32_t link) const {
  const fabric::link& l = topology_.links()[link];
  if (l.kind == fabric::link_kind::ucie) {
    return wires_.ucie_gbytes_s(topology_, sip_id{l.sip}, cube_id{l.cube}, static_cast<fabric::side>(l.from));
  }
  if (l.kind == fabric::link_kind::sip && !is_staged(config_))
    return wires_.sip_link_gbytes_s(topology_, l.from);
  return 0;
}

double link_loads::slowest_gbytes_s(pe_coord from, pe_coord to) const {
  double slowest = 0;
  for (const fabric::route_hop& h :
       topology_.trace(terminal_of(topology_, from), terminal_of(topology_, to))) {
    const double rate = gbytes_s(h.link);
    if (rate > 0) slowest = slowest > 0 ? std::min(slowest, rate) : rate;
  }
  return slowest;
}

double link_loads::longest_ns(const comm::group& ranks, const std::vector<way>& ways, double bytes) const {
  if (ways.size() > most_ways) return 0;
  std::map<std::uint32_t, double> flows;  // by link
  for (const auto& [from, to] : ways) {
    if (from == to) continue;
    for (const fabric::route_hop& h : topology_.trace(terminal_of(topology_, ranks.members[from]),
                                                      terminal_of(topology_, ranks.members[to]))) {
      flows[h.link] += 1;
    }
  }
  double longest = 0;
  for (const auto& [link, count] : flows) {
    const double rate = gbytes_s(link);
    if (rate > 0) longest = std::max(longest, count * bytes * wires_.wire_bytes_per_byte() / rate);
  }
  return longest;
}

}  // namespace diecast::cost
