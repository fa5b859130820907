// SPDX-License-Identifier: Apache-2.0
// The flight recorder of one run: kept while it goes on, written when it ends badly or when a signal asks.
#pragma once

#include <memory>
#include <string>

#include "models/events/events.hpp"
#include "platforms/netlist/pod.hpp"
#include "platforms/observe/flight_recorder.hpp"
#include "platforms/run/prepare.hpp"

namespace diecast::platforms {

class flight_dump {
 public:
  /// Attaches a recorder unless trace.flight_operations is 0.
  flight_dump(const prepared_run& run, events::hub& events);

  /// A launch begins.
  void next_launch();
  /// Contents of flight.json; empty without a recorder. `still`: nothing moves any more.
  [[nodiscard]] std::string text(netlist::pod& pod, const std::string& why, bool still) const;
  /// Between slices: what a signal asked for is written to run_point::flight_file while the run goes on.
  void look_for_request(netlist::pod& pod) const;

 private:
  const prepared_run& run_;
  std::unique_ptr<observe::flight_recorder> recorder_;
};

}  // namespace diecast::platforms
