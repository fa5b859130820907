// SPDX-License-Identifier: Apache-2.0
// How modules report the credits of links to observers.
#pragma once

#include "models/events/events.hpp"

namespace diecast::hw {

/// Credits of a link spent (flits < 0), or usable again, all at `at`. `cycle`: of the clock that they return
/// on, where they return on one.
inline void report_credits(const events::hub& hub, sim_time now, std::uint32_t link, std::uint8_t vc,
                           std::int32_t flits, sim_time at, sim_time cycle = {}) {
  if (!hub.wants(events::credits)) return;
  hub.publish(events::link_credits{now, link, vc, flits, at, at, cycle});
}

}  // namespace diecast::hw
