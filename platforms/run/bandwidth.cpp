// SPDX-License-Identifier: Apache-2.0
#include "platforms/run/bandwidth.hpp"

#include "models/comm/collective.hpp"

namespace diecast::platforms {

void report_bandwidth(run_outcome& o) {
  if (o.time_ns <= 0) return;
  o.algbw_gbytes_s = static_cast<double>(o.bytes) / o.time_ns;
  o.busbw_gbytes_s =
      o.algbw_gbytes_s * comm::bus_bandwidth_factor(*comm::collective_named(o.collective), o.ranks);
}

}  // namespace diecast::platforms
