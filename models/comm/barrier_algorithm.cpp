// SPDX-License-Identifier: Apache-2.0
#include "models/comm/barrier_algorithm.hpp"

#include <stdexcept>

namespace diecast::comm {

const char* to_string(barrier_algorithm a) {
  switch (a) {
    case barrier_algorithm::centralized_pull: return "centralized_pull";
    case barrier_algorithm::dissemination: return "dissemination";
    case barrier_algorithm::group_dissemination: return "group_dissemination";
  }
  return "unknown";
}

std::optional<barrier_algorithm> barrier_named(std::string_view name) {
  for (const auto a : {barrier_algorithm::centralized_pull, barrier_algorithm::dissemination,
                       barrier_algorithm::group_dissemination}) {
    if (name == to_string(a)) return a;
  }
  return std::nullopt;
}

std::uint32_t dissemination_rounds(std::uint64_t ranks, std::uint64_t radix) {
  if (radix < 2) throw std::invalid_argument("a dissemination with a radix below 2 never ends");
  std::uint32_t rounds = 0;
  for (std::uint64_t reach = 1; reach < ranks; reach *= radix) ++rounds;
  return rounds;
}

std::optional<barrier_work> work_of(barrier_algorithm a, std::uint32_t ranks, std::uint32_t radix) {
  switch (a) {
    case barrier_algorithm::centralized_pull: return barrier_work{1, ranks - 1U};
    case barrier_algorithm::dissemination: {
      const std::uint64_t n = dissemination_rounds(ranks, 2);
      return barrier_work{n, n};
    }
    case barrier_algorithm::group_dissemination: {
      if (radix < 2) return std::nullopt;
      const std::uint64_t n = std::uint64_t{dissemination_rounds(ranks, radix)} * (radix - 1);
      return barrier_work{n, n};
    }
  }
  return std::nullopt;
}

}  // namespace diecast::comm
