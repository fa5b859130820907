// SPDX-License-Identifier: Apache-2.0
#include "platforms/run/flight_dump.hpp"

#include <fmt/format.h>

#include "hw/base/time.hpp"
#include "platforms/io/deadlock_json.hpp"
#include "platforms/io/standard_streams.hpp"
#include "platforms/io/whole_file.hpp"
#include "platforms/run/child.hpp"
#include "platforms/run/collect.hpp"

namespace diecast::platforms {

flight_dump::flight_dump(const prepared_run& run, events::hub& events) : run_(run) {
  const config::machine_config& c = run.machine.config;
  if (c.trace.flight_operations == 0) return;
  recorder_ = std::make_unique<observe::flight_recorder>(c.shape(), c.trace.flight_operations);
  const bool crc = c.comm.checksum != config::packet_checksum::none;
  events.attach(*recorder_, events::steps | events::messages | events::operations |
                                (crc ? unsigned{events::contents} : 0U));
}

void flight_dump::next_launch() {
  if (recorder_) recorder_->next_launch();
}

std::string flight_dump::text(netlist::pod& pod, const std::string& why, bool still) const {
  if (!recorder_) return {};
  return flight_json(run_, *recorder_, machine_now(run_, pod, still), hw::now(), why);
}

void flight_dump::look_for_request(netlist::pod& pod) const {
  if (!dump_requested()) return;
  if (!recorder_)
    return tell("a signal asks for the flight recorder, but trace.flight_operations is 0; the run continues");
  const std::string& file = run_.point.flight_file;
  std::string lost;
  try {
    write_whole_file(file, text(pod, "a signal asked for it", false));
  } catch (const output_error& e) {
    lost = e.what();
  }
  const std::string what = lost.empty() ? file + ": flight recorder written" : lost;
  tell(fmt::format("{} at {:.3f} us; the run continues", what, hw::now().ns() / 1e3));
}

}  // namespace diecast::platforms
