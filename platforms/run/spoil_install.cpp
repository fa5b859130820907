// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fmt/format.h>
#include <utility>
#include <vector>

#include "models/config/faults.hpp"
#include "models/config/population.hpp"
#include "models/config/text.hpp"
#include "models/types/error.hpp"
#include "platforms/run/prepare.hpp"

namespace diecast::platforms {
namespace {

using rings = std::vector<comm::queue_pair_install*>;

rings rings_of(comm::install_plan& plan, pe_coord pe) {
  rings found;
  for (comm::queue_pair_install& q : plan.queue_pairs)
    if (q.owner == pe && q.rx) found.push_back(&q);
  return found;
}

/// False when no two directions of the PE lead to one peer: then the first match is the right one.
bool pair_by_first_match(comm::install_plan& plan, pe_coord pe) {
  bool changed = false;
  for (comm::queue_pair_install& q : plan.queue_pairs) {
    if (q.owner != pe || !q.tx || q.through != comm::carrier::queue_pairs) continue;
    const auto first = std::find_if(
        plan.queue_pairs.begin(), plan.queue_pairs.end(),
        [&q](const auto& other) { return other.owner == q.peer && other.peer == q.owner && other.rx; });
    if (first == plan.queue_pairs.end() || first->rx_base == q.peer_rx_base) continue;
    q.peer_rx_base = first->rx_base;
    changed = true;
  }
  return changed;
}

}  // namespace

bool spoil_install(const config::machine_config& config, comm::install_plan& plan) {
  bool changed = false;
  for (std::size_t i = 0; i < config.faults.size(); ++i) {
    const config::fault_setting& f = config.faults[i];
    if (f.kind != config::fault_kind::wrong_install) continue;
    for (const pe_coord pe : config::population(config).pes()) {
      if (!config::matches(f.where, pe_path(config.shape(), pe))) continue;
      if (f.variant == "first_match") {
        if (pair_by_first_match(plan, pe)) continue;
        throw user_error(problem{fmt::format("faults[{}].where", i),
                                 "names a PE with no two directions to one peer in this run",
                                 pe_path(config.shape(), pe), "a PE of a ring of two"});
      }
      const rings of_pe = rings_of(plan, pe);
      if (of_pe.size() < 2) {
        throw user_error(problem{fmt::format("faults[{}].where", i),
                                 "names a PE with fewer than two receiving directions in this run",
                                 pe_path(config.shape(), pe), "a PE with two"});
      }
      if (f.variant == "overlap") {
        of_pe[1]->rx_base = of_pe[0]->rx_base + of_pe[0]->slot_bytes / 2;
      } else {
        std::swap(of_pe[0]->rx_base, of_pe[1]->rx_base);
      }
      changed = true;
    }
  }
  return changed;
}

}  // namespace diecast::platforms
