// SPDX-License-Identifier: Apache-2.0
// Listens to the commands of every HBM channel that has banks. Memories of other kinds have no commands.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "hw/hbm/hbm_controller.hpp"
#include "models/config/machine_config.hpp"
#include "models/fabric/topology.hpp"
#include "models/timing/fr_fcfs.hpp"
#include "models/types/immovable.hpp"
#include "platforms/netlist/pod.hpp"

namespace diecast::observe {

/// A channel: the controller behind one HBM port.
struct dram_channel {
  std::string path;  ///< "pod.sip0.cube_0_0.hbm0"
  const timing::dram_parameters* parameters{};
};

class dram_listener : public abstract_interface {
 public:
  /// The commands of one channel are reported in order of time, but later than they are issued.
  virtual void on_dram(const dram_channel& channel, const timing::dram_event& e) = 0;
};

/// The controllers with banks of a pod.
[[nodiscard]] std::vector<hw::hbm_controller*> dram_controllers(netlist::pod& pod);
/// "pod.sip0.cube_0_0.hbm0": names of the HBM channels that a pod of this config will have; none without
/// banks.
[[nodiscard]] std::vector<std::string> dram_channel_paths(const config::machine_config& config,
                                                          const fabric::topology& topology);

/// Connects listeners to channels; both outlive it.
class dram_taps : immovable {
 public:
  dram_taps(const std::vector<hw::hbm_controller*>& controllers, std::vector<dram_listener*> listeners);
  ~dram_taps();
  /// Forwards the commands up to now: controllers compute them late, when they are needed.
  void catch_up();

 private:
  class tap;
  std::vector<dram_listener*> listeners_;
  std::deque<tap> taps_;
};

[[nodiscard]] const char* to_string(timing::dram_command c);
/// Whether a command moves data.
[[nodiscard]] constexpr bool is_column(timing::dram_command c) {
  return c == timing::dram_command::read || c == timing::dram_command::write ||
         c == timing::dram_command::read_precharge || c == timing::dram_command::write_precharge;
}

/// Instances that a file shows among those in its scope, by path; empty: all.
using instance_filter = std::function<bool(const std::string& path)>;

// Which instances of a run --vcd-scope and --timeline-scope may name.

/// Hierarchical names of what waveforms and timelines show. A waveform has the modules that drive links, too.
struct instances {
  std::vector<std::string> pes, links, channels;
};
[[nodiscard]] std::vector<std::string> link_names(const fabric::topology& topology);
/// All instances of a pod.
[[nodiscard]] instances instances_of(const config::machine_config& config, const fabric::topology& topology);

/// The part of a machine that a study of one cube shows: PEs are not built.
[[nodiscard]] config::machine_config only_cube(config::machine_config c);

/// Refuses scopes of requested files (`vcd`, `timeline`) that match nothing, for which files would be empty.
/// To be called before an earlier file of that name is opened. Throws user_error with a name that exists.
void check_scopes(const config::trace_block& scopes, const instances& all, bool vcd, bool timeline);

}  // namespace diecast::observe
