// SPDX-License-Identifier: Apache-2.0
// What ended a run or was found wrong in it, as data, at places as configs spell them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "platforms/run/field_list.hpp"

namespace diecast::platforms {

struct detected_fault {
  std::string kind;   ///< fault_kind
  std::string place;  ///< a PE, or the block that found it
  std::string queue_pair{}, sender{};
  std::optional<std::uint64_t> sequence{}, expected{};
  std::string first_pa{}, end_pa{};  ///< physical addresses of the slot ring, or of the slot
  std::vector<std::string> links{};  ///< that the packet came over
  double time_ns{};

  DIECAST_LIST(fields, kind, place, time_ns, queue_pair, sender, sequence, expected, first_pa, end_pa, links)
};

}  // namespace diecast::platforms
