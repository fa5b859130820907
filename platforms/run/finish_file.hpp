// SPDX-License-Identifier: Apache-2.0
// The end of a file that an observer writes.
#pragma once

#include <string>
#include <systemc>

#include "hw/base/time.hpp"
#include "models/types/error.hpp"

namespace diecast::platforms {

/// Closes it. A file that could not be finished costs the run nothing but that file.
template <class Writer, class Outcome>
void finish_file(Writer& writer, Outcome& o) {
  try {
    writer.close(hw::now());
  } catch (const output_error& e) {
    o.output_lost = true;
    o.message += (o.message.empty() ? "" : "\n") + std::string(e.what());
  }
}

/// Ends a waveform where the simulation was stopped, if more was to come.
template <class Writer, class Outcome>
void finish_waveform(Writer& writer, Outcome& o) {
  if (sc_core::sc_pending_activity()) writer.stop_at(hw::now());
  finish_file(writer, o);
}

}  // namespace diecast::platforms
