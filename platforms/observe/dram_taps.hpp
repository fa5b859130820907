// SPDX-License-Identifier: Apache-2.0
// Listens to the commands of every HBM channel that has banks. Memories of other kinds have no commands.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "models/timing/fr_fcfs.hpp"
#include "platforms/netlist/pod.hpp"

namespace diecast::observe {

/// A channel: the controller behind one HBM port.
struct dram_channel {
  std::string path;  ///< "pod.sip0.cube_0_0.hbm0"
  const timing::dram_parameters* parameters{};
};

class dram_listener {
 public:
  dram_listener() = default;
  dram_listener(const dram_listener&) = delete;
  dram_listener& operator=(const dram_listener&) = delete;
  virtual ~dram_listener() = default;
  /// The commands of one channel come in order of time, but later than their time.
  virtual void on_dram(const dram_channel& channel, const timing::dram_event& e) = 0;
};

/// Connects listeners to the channels of a pod; both outlive it.
class dram_taps {
 public:
  dram_taps(netlist::pod& pod, std::vector<dram_listener*> listeners);
  dram_taps(const dram_taps&) = delete;
  dram_taps& operator=(const dram_taps&) = delete;
  ~dram_taps();
  /// Hands on what the controllers have decided up to now: they are caught up only when it matters.
  void catch_up();

 private:
  class tap;
  std::vector<dram_listener*> listeners_;
  std::deque<tap> taps_;
};

[[nodiscard]] const char* to_string(timing::dram_command c);

}  // namespace diecast::observe
