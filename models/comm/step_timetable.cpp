// SPDX-License-Identifier: Apache-2.0
#include "models/comm/step_timetable.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "models/abi/address.hpp"
#include "models/abi/wire.hpp"
#include "models/fabric/topology.hpp"
#include "models/timing/link.hpp"
#include "models/types/error.hpp"

namespace diecast::comm {
namespace {

/// Share of the time by which a flow may be late that the next one waits: the buffers of the routers on its
/// way take in the rest. Measured (docs/adr/0058): from 0.58 on steps do not meet, and more only waits.
sim_time waited_out(sim_time late) { return {late.fs * 3 / 5}; }

/// How long a packet occupies the network interface. Beside 15 blocks that are sent 16 are read and 16 are
/// written. Measured: copies of chunks have the time between chunks, too (docs/adr/0058); blocks that
/// come out of HBM for each step need more than their time, or steps run late and meet (docs/adr/0081).
sim_time at_interface(step_load load, sim_time packet) {
  switch (load) {
    case step_load::blocks: break;
    case step_load::chunks: return {packet.fs * 9 / 5};
    case step_load::tensors: return {packet.fs * 47 / 20};
  }
  return packet;
}

/// Every member is the only one of its cube, and all are in one SIP.
bool is_one_per_cube(const group& g) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> cubes;
  for (const pe_coord& pe : g.members) {
    if (pe.sip != g.members.front().sip) return false;
    if (!cubes.insert({pe.sip.value, pe.cube.value}).second) return false;
  }
  return true;
}

/// As far as can be told without the steps: putting them in order takes long.
bool may_have_times(const group& g) {
  const std::size_t ranks = g.members.size();
  return ranks >= fewest_timed_steps && ranks <= most_ordered && is_one_per_cube(g);
}

class times_of {
 public:
  times_of(const pattern_context& c, const rank_grid& grid, step_load load)
      : c_(c), grid_(grid), load_(load), topology_(c.config) {}

  [[nodiscard]] std::optional<step_times> operator()(std::uint32_t crossings) const {
    const auto& noc = c_.config.noc;
    const std::uint32_t flits = abi::flits_of(static_cast<std::uint32_t>(noc.max_packet_bytes),
                                              static_cast<std::uint32_t>(noc.flit_bytes));
    const sim_time own = timing::noc_clock(c_.config).cycles(flits), between = between_cubes(flits);
    if (between > own && c_.members.members.size() < fewest_timed_on_slow_links) return std::nullopt;
    const sim_time way = idle(grid_.columns() - 1, grid_.rows() - 1, flits);
    return step_times{std::max(at_interface(load_, own), between),
                      waited_out(crossing(way, flits) * crossings), way};
  }

 private:
  /// A packet on the slowest link between cubes: steps that begin sooner would pile up there.
  [[nodiscard]] sim_time between_cubes(std::uint32_t flits) const {
    sim_time longest;
    const sip_id sip = c_.members.members.front().sip;
    for (const fabric::link& l : topology_.links()) {
      if (l.kind != fabric::link_kind::ucie || l.sip != sip.value || l.gbytes_s == 0.0) continue;
      const config::ucie_block& u = topology_.ucie(sip, cube_id{l.cube}, static_cast<fabric::side>(l.from));
      longest = std::max(longest, timing::ucie_timing_of(c_.config, u).serialization(flits));
    }
    return longest;
  }
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
  step_load load_;
  fabric::topology topology_;
};

}  // namespace

step_timetable::step_timetable(const pattern_context& c, step_load load) : grid(c), steps(grid) {
  const auto crossings = steps.crossings_to_wait();
  if (crossings && steps.fill_a_link() && may_have_times(c.members))
    times = times_of(c, grid, load)(*crossings);
}

std::optional<step_times> step_times_of(const pattern_context& c, step_load load) {
  if (!may_have_times(c.members)) return std::nullopt;
  try {
    return step_timetable(c, load).times;
  } catch (const user_error&) {
    return std::nullopt;  // no rectangle
  }
}

}  // namespace diecast::comm
