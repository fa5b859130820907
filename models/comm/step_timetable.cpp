// SPDX-License-Identifier: Apache-2.0
#include "models/comm/step_timetable.hpp"

#include <set>
#include <utility>

#include "models/abi/address.hpp"
#include "models/abi/wire.hpp"
#include "models/fabric/topology.hpp"
#include "models/types/error.hpp"

namespace diecast::comm {
namespace {

/// Of the time by which a flow may be late, what the next one waits: the buffers of the routers on its way
/// take in the rest. Found by trial (docs/adr/0058): less, and flows stand in each other's way for good.
sim_time waited_out(sim_time late) { return {late.fs / 5 * 3}; }

/// Every member is the only one of its cube, and all are in one SIP.
bool is_one_per_cube(const group& g) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> cubes;
  for (const pe_coord& pe : g.members) {
    if (pe.sip != g.members.front().sip) return false;
    if (!cubes.insert({pe.sip.value, pe.cube.value}).second) return false;
  }
  return true;
}

class times_of {
 public:
  times_of(const pattern_context& c, const rank_grid& grid) : c_(c), grid_(grid), topology_(c.config) {}

  [[nodiscard]] step_times operator()(std::uint32_t crossings) const {
    const auto& noc = c_.config.noc;
    const std::uint32_t flits = abi::flits_of(static_cast<std::uint32_t>(noc.max_packet_bytes),
                                              static_cast<std::uint32_t>(noc.flit_bytes));
    const sim_time way = idle(grid_.columns() - 1, grid_.rows() - 1, flits);
    return {clock_domain::from_ghz(noc.clock_ghz).cycles(flits), waited_out(crossing(way, flits) * crossings),
            way};
  }

 private:
  /// From the rank in the corner to another.
  [[nodiscard]] sim_time idle(std::uint32_t x, std::uint32_t y, std::uint32_t flits) const {
    return fabric::idle_latency(topology_, c_.config, terminal(0, 0), terminal(x, y),
                                abi::traffic_class::comm, flits);
  }
  [[nodiscard]] abi::node_address terminal(std::uint32_t x, std::uint32_t y) const {
    const pe_coord pe = c_.members.members[grid_.rank_at(x, y)];
    return topology_.locate(abi::encode({pe.sip, pe.cube, abi::region::tcm, pe.pe.value, 0}));
  }
  /// A further link between neighbors on a packet's way, the cube behind it included.
  [[nodiscard]] sim_time crossing(sim_time way, std::uint32_t flits) const {
    const std::uint32_t links = grid_.columns() - 1 + grid_.rows() - 1;
    if (links < 2) return {};
    const sim_time nearest = grid_.columns() > 1 ? idle(1, 0, flits) : idle(0, 1, flits);
    return {(way - nearest).fs / (links - 1)};
  }

  const pattern_context& c_;
  const rank_grid& grid_;
  fabric::topology topology_;
};

}  // namespace

step_timetable::step_timetable(const pattern_context& c) : grid(c), steps(grid) {
  const bool many = c.members.members.size() >= fewest_timed_steps;
  if (!many || !steps.fill_a_link() || !is_one_per_cube(c.members)) return;
  times = times_of(c, grid)(steps.crossings_to_wait());
}

std::optional<step_times> step_times_of(const pattern_context& c) {
  if (c.members.members.size() > most_ordered) return std::nullopt;
  try {
    return step_timetable(c).times;
  } catch (const user_error&) {
    return std::nullopt;  // no rectangle
  }
}

}  // namespace diecast::comm
