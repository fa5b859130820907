// SPDX-License-Identifier: Apache-2.0
#include "platforms/run/flight_dump.hpp"

#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <system_error>

#include "hw/base/time.hpp"
#include "platforms/io/flight_json.hpp"
#include "platforms/io/standard_streams.hpp"
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
  if (!dump_requested() || !recorder_) return;
  const std::string& file = run_.point.flight_file;
  const std::string partial = file + ".partial";
  std::ofstream out(partial, std::ios::binary);
  out << text(pod, "a signal asked for it", false);
  out.close();
  std::error_code error;
  if (out) std::filesystem::rename(partial, file, error);
  const bool lost = !out || error;
  tell(fmt::format("{}: flight recorder {} at {:.3f} us; the run goes on", file,
                   lost ? "could not be written" : "written", hw::now().ns() / 1e3));
}

}  // namespace diecast::platforms
