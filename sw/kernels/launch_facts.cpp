// SPDX-License-Identifier: Apache-2.0
#include "sw/kernels/launch_facts.hpp"

#include <memory>
#include <vector>

#include "models/comm/member_levels.hpp"
#include "models/comm/sync_layout.hpp"
#include "models/config/population.hpp"

namespace diecast::sw {

std::uint64_t vector_bytes(const argument_context& c) { return c.count * numeric::size_of(c.type); }

std::uint32_t ring_position(const argument_context& c, std::uint32_t rank) {
  if (c.ring_positions.size() != c.members.members.size()) {
    const std::vector<std::uint32_t> order = comm::ring_order(c.shape, c.members);
    c.ring_positions.resize(order.size());
    for (std::uint32_t position = 0; position < order.size(); ++position) {
      c.ring_positions[order[position]] = position;
    }
  }
  return c.ring_positions.at(rank);
}

const comm::rank_grid& grid_of(const argument_context& c) {
  if (c.grid == nullptr) {
    c.grid = std::make_shared<const comm::rank_grid>(pattern_context_of(c));
  }
  return *c.grid;
}

const config::memory_channels& channels_of(const argument_context& launch) {
  if (launch.channels == nullptr)
    launch.channels = std::make_shared<const config::memory_channels>(launch.config);
  return *launch.channels;
}

const comm::member_levels& levels_of(const argument_context& c) {
  if (c.levels == nullptr) c.levels = std::make_shared<const comm::member_levels>(c.shape, c.members);
  return *c.levels;
}

const comm::rank_cores& rank_cores_of(const argument_context& c) {
  if (c.cores == nullptr) c.cores = std::make_shared<const comm::rank_cores>(c.members);
  return *c.cores;
}

}  // namespace diecast::sw
