// SPDX-License-Identifier: Apache-2.0
#include "models/cost/link_loads.hpp"

#include <algorithm>
#include <map>

#include "models/comm/launch_plan.hpp"
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
  if (l.kind == fabric::link_kind::sip)
    return is_staged(config_) ? 0 : wires_.sip_link_gbytes_s(topology_, l.from);
  return wires_.noc_gbytes_s();
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

std::optional<double> link_loads::longest_ns(const comm::group& ranks, const std::vector<way>& ways,
                                             double bytes) const {
  if (ways.size() > most_ways) return std::nullopt;
  std::map<std::uint32_t, double> flows;               // by link
  std::map<std::uint32_t, double> to_host, from_host;  // by SIP
  const auto trace = [&](const abi::node_address& a, const abi::node_address& b) {
    for (const fabric::route_hop& h : topology_.trace(a, b)) flows[h.link] += 1;
  };
  for (const auto& [from, to] : ways) {
    if (from == to) continue;
    const pe_coord a = ranks.members[from], b = ranks.members[to];
    const abi::node_address begin = terminal_of(topology_, a), end = terminal_of(topology_, b);
    if (!is_staged(config_) || a.sip == b.sip) {
      trace(begin, end);
      continue;
    }
    trace(begin, comm::io_cpu_node(topology_, a.sip));
    trace(comm::io_cpu_node(topology_, b.sip), end);
    to_host[a.sip.value] += 1;
    from_host[b.sip.value] += 1;
  }
  double longest = 0;
  const auto keep = [&](double count, double rate) {
    if (rate > 0) longest = std::max(longest, count * bytes * wires_.wire_bytes_per_byte() / rate);
  };
  for (const auto& [link, count] : flows) keep(count, gbytes_s(link));
  for (const auto& [sip, count] : to_host) keep(count, staging_gbytes_s(config_));
  for (const auto& [sip, count] : from_host) keep(count, staging_gbytes_s(config_));
  return longest;
}

}  // namespace diecast::cost
