// SPDX-License-Identifier: Apache-2.0
#include "platforms/noc/study.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "models/config/check.hpp"
#include "models/types/error.hpp"

namespace diecast::noc {

std::string study_point::traffic_text() const {
  if (transactions) return "transactions:" + transactions->file;
  return replay ? "replay:" + replay->file : traffic::to_string(pattern);
}

namespace {

/// Throws user_error with the cycle of buffers in which packets can wait for each other, if there is one.
void prove_free_of_deadlock(const fabric::topology& topology) {
  const auto cycle = fabric::find_dependency_cycle(topology);
  if (cycle.empty()) return;
  std::string text;
  for (const auto& node : cycle) text += "\n  " + node;
  throw user_error(
      problem{"noc", "packets can wait for each other in a cycle:" + text, "", "noc.dateline_vcs true"});
}

}  // namespace

network::network(config::machine_config c, fabric::purpose what)
    : config(std::move(c)), topology(config, what) {
  prove_free_of_deadlock(topology);
  if (what != fabric::purpose::transaction_study) return;
  for (unsigned k = 1; k < config.noc.networks; ++k) {
    further.push_back(std::make_unique<const fabric::topology>(config, what, k));
    prove_free_of_deadlock(*further.back());
  }
}

std::vector<const fabric::topology*> network::topologies() const {
  std::vector<const fabric::topology*> all{&topology};
  for (const auto& t : further) all.push_back(t.get());
  return all;
}

traffic::node_grid network::grid() const {
  const auto& noc = config.noc;
  const bool one_row =
      noc.topology == config::noc_topology::ring || noc.topology == config::noc_topology::crossbar;
  if (one_row) return {nodes(), 1};
  return {static_cast<std::uint32_t>(noc.columns), static_cast<std::uint32_t>(noc.rows)};
}

config::machine_config adapt(config::machine_config c, std::uint32_t packet_flits) {
  c.pod = {};
  c.pod.sips = c.sip.columns = c.sip.rows = 1;
  c.noc.max_packet_bytes =
      std::max(c.noc.max_packet_bytes, std::uint64_t{packet_flits - 1} * c.noc.flit_bytes);
  auto problems = config::check(c, {});
  if (!problems.empty()) throw user_error(std::move(problems));
  return c;
}

void describe(const study_point& point, study_outcome& o) {
  o.traffic = point.traffic_text();
  if (point.replay || point.transactions) return;
  o.packet_flits = point.packet_flits;
  o.cycles = point.cycles;
  o.offered_flits_per_node_cycle = point.rate;
}

}  // namespace diecast::noc
