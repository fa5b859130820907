// SPDX-License-Identifier: Apache-2.0
#include "sw/kernels/launch_facts.hpp"

#include "models/comm/member_levels.hpp"
#include "models/comm/sync_layout.hpp"
#include "models/config/population.hpp"

namespace diecast::sw {

std::uint64_t vector_bytes(const argument_context& c) { return c.count * numeric::size_of(c.type); }

const std::vector<std::uint32_t>& ring_positions(const argument_context& c) {
  struct ring {
    std::vector<std::uint32_t> positions;
  };
  return c.memo
      .get<ring>([&c] {
        const std::vector<std::uint32_t> order = comm::ring_order(c.shape, c.members);
        ring r{std::vector<std::uint32_t>(order.size())};
        for (std::uint32_t position = 0; position < order.size(); ++position) {
          r.positions[order[position]] = position;
        }
        return r;
      })
      .positions;
}

std::uint32_t ring_position(const argument_context& c, std::uint32_t rank) {
  return ring_positions(c).at(rank);
}

const comm::rank_grid& grid_of(const argument_context& c) {
  return c.memo.get<comm::rank_grid>([&c] { return comm::rank_grid(pattern_context_of(c)); });
}

const config::memory_channels& channels_of(const argument_context& launch) {
  return launch.memo.get<config::memory_channels>(
      [&launch] { return config::memory_channels(launch.config); });
}

const comm::member_levels& levels_of(const argument_context& c) {
  return c.memo.get<comm::member_levels>([&c] { return comm::member_levels(c.shape, c.members); });
}

const comm::rank_cores& rank_cores_of(const argument_context& c) {
  return c.memo.get<comm::rank_cores>([&c] { return comm::rank_cores(c.members); });
}

}  // namespace diecast::sw
