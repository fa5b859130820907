// SPDX-License-Identifier: Apache-2.0
// What links carried in a run, and whether their rate can be told from it.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace diecast::diagnose {

/// What went over a link.
struct link_load {
  std::uint64_t flits{}, packets{};
};

/// By the link's instance path.
using link_loads = std::map<std::string, link_load>;

/// `links`: contents of links.csv. The size of a flit is the largest that all links carried whole ones of:
/// some link carries a credit, which is one.
[[nodiscard]] link_loads loads_of(const std::string& links);

enum class link_state {
  keeps_its_rate,
  in_doubt,  ///< slower, but so little was measured that packets between others explain it
  degraded,
};

/// `measured_gbytes_s`: flits of a packet behind its first one over their time.
[[nodiscard]] link_state judge(double measured_gbytes_s, double configured_gbytes_s, const link_load& load);

}  // namespace diecast::diagnose
