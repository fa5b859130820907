// SPDX-License-Identifier: Apache-2.0
#include "models/traffic/transactions.hpp"

#include <fmt/format.h>

#include "models/config/text.hpp"
#include "models/types/enum_name.hpp"
#include "models/types/error.hpp"

namespace diecast::traffic {

const char* to_string(transaction_op op) { return enum_name(op); }

std::vector<std::uint32_t> controllers_of(const config::noc_block& noc) {
  std::vector<std::uint32_t> of_node(noc.columns * noc.rows, no_controller);
  if (noc.dram_tiles == "none") return of_node;
  const auto refuse = [&](const char* what, const std::string& tile) {
    throw user_error(problem{"noc.dram_tiles", what, tile,
                             fmt::format("0_0 to {}_{}, each once", noc.columns - 1, noc.rows - 1)});
  };
  std::uint32_t controller = 0;
  for (const std::string& tiles : config::split(noc.dram_tiles, '/')) {
    for (const std::string& tile : config::split(tiles, ',')) {
      const std::vector<std::string> at = config::split(tile, '_');
      const auto column = config::parse_count(at.at(0)), row = config::parse_count(at.at(1));
      if (!column || !row || *column >= noc.columns || *row >= noc.rows)
        refuse("names a tile outside the network", tile);
      std::uint32_t& place = of_node[*row * noc.columns + *column];
      if (place != no_controller) refuse("names a tile twice", tile);
      place = controller;
    }
    ++controller;
  }
  return of_node;
}

std::vector<std::uint32_t> request_queues(const config::noc_block& noc) {
  std::vector<std::uint32_t> queues;
  for (const std::uint32_t controller : controllers_of(noc)) {
    const std::uint64_t requests = controller == no_controller ? noc.request_queue : noc.dram_request_queue;
    queues.push_back(static_cast<std::uint32_t>(requests));
  }
  return queues;
}

}  // namespace diecast::traffic
