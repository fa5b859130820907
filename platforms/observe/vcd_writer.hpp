// SPDX-License-Identifier: Apache-2.0
// Waveforms: an observer that writes a VCD file on change. sc_trace would compare every traced value
// at every time step; here a value costs something only when it changes.
#pragma once

#include <cstdint>
#include <fstream>
#include <map>
#include <queue>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "models/comm/install_plan.hpp"
#include "models/config/machine_config.hpp"
#include "models/events/events.hpp"
#include "models/fabric/topology.hpp"
#include "platforms/observe/dram_taps.hpp"

namespace diecast::observe {

/// Credits of a link's sender at the start.
struct initial_credits {
  std::uint32_t link{};
  std::uint8_t vc{};
  std::uint32_t flits{};
};

/// Per PE: core state and step; per queue pair of the plan: the four pointers and free credits; per
/// link: busy, and with trace.vcd_credits per VC the flits its sender has credits for; per HBM
/// pseudo-channel: command and row. Only instances whose path matches trace.vcd_scope (a glob), and only
/// changes from trace.vcd_from_ns to trace.vcd_to_ns, which begin with all values. Times are in femtoseconds.
class vcd_writer : public events::observer, public dram_listener {
 public:
  /// Creates the file; throws output_error when that fails. `topology`: null without links. `channels`: paths
  /// of HBM channels with banks. `names`: what queue pairs are called, as in reports.
  vcd_writer(const std::string& path, const config::machine_config& config, const fabric::topology* topology,
             const comm::install_plan& plan, const std::vector<std::string>& channels,
             const comm::direction_namer& names = comm::generic_names(), instance_filter shown = {});
  /// Declares the credits of links and writes the header: once, before anything moves.
  void begin(const std::vector<initial_credits>& credits);

  /// The kinds of events that it needs.
  static constexpr unsigned interests(const config::machine_config& config) {
    return events::core_states | events::steps | events::queue_pairs | events::links |
           (config.trace.vcd_credits ? +events::credits : 0);
  }

  /// Drops changes announced for times after `end`: the run stops there, so they never happen.
  void stop_at(sim_time end);
  /// Writes what is pending and closes the file; throws output_error when writing failed.
  void close(sim_time end);

  /// Whether an HBM channel is in scope. Then nothing is written before flush_before(), as the commands of
  /// channels come later than their time.
  [[nodiscard]] bool has_dram() const { return !channels_.empty(); }
  /// Writes all changes before `t`, which are complete.
  void flush_before(sim_time t) { flush(t); }

  using events::observer::on;
  void on(const events::core_state_changed& e) override;
  void on(const events::step_entered& e) override;
  void on(const events::queue_pair_changed& e) override;
  void on(const events::link_occupied& e) override;
  void on(const events::link_credits& e) override;
  void on_dram(const dram_channel& channel, const timing::dram_event& e) override;

 private:
  struct variable {
    std::string code;  ///< VCD identifier
    std::uint32_t width{};
    std::uint64_t last{};  ///< transfers in flight over a link
  };
  struct change {
    sim_time at;
    std::uint64_t sequence{};
    std::uint32_t var{};
    std::uint64_t value{};  ///< relative: to be added, modulo 2^64
    bool relative{};
    bool operator>(const change& o) const {
      return std::tie(at, var, sequence) > std::tie(o.at, o.var, o.sequence);
    }
  };
  /// Variables by scope path, in the order of the header.
  using scope_map = std::map<std::vector<std::string>, std::vector<std::pair<std::string, std::uint32_t>>>;

  /// `scope`: a dotted path; `inner`: a scope in it whose name may have any characters, or empty.
  std::uint32_t declare(const std::string& scope, const std::string& name, std::uint32_t width,
                        const std::string& inner = {});
  void declare_channels(const config::machine_config& config, const std::vector<std::string>& channels);
  void declare_links(const fabric::topology& topology);
  [[nodiscard]] bool in_scope(const std::string& path) const;
  void flush_unless_dram(sim_time before);
  void write_header();
  void put(sim_time at, std::uint32_t var, std::uint64_t value);
  void add(sim_time at, std::uint32_t var, std::int64_t difference);
  void flush(sim_time before);
  void write_value(const change& c);
  void write_time(sim_time at);
  void write_code(const variable& v);
  void open_window();

  std::string path_;
  std::ofstream file_;
  machine_shape shape_;
  std::string glob_;
  instance_filter shown_;
  sim_time window_from_, window_to_;
  bool window_open_{}, with_credits_{};
  std::vector<variable> variables_;
  scope_map scopes_;
  std::map<pe_coord, std::uint32_t> core_;                                     ///< state; step follows
  std::map<std::pair<pe_coord, comm::direction>, std::uint32_t> queue_pairs_;  ///< first of five
  const fabric::topology* topology_;
  std::map<std::uint32_t, std::uint32_t> links_;
  std::map<std::pair<std::uint32_t, std::uint8_t>, std::uint32_t> credits_;  ///< by link and VC
  std::map<std::string, std::uint32_t, std::less<>> channels_;  ///< command of the first pseudo-channel
  std::priority_queue<change, std::vector<change>, std::greater<>> pending_;
  std::uint64_t sequence_{};
  sim_time written_until_;
  bool any_time_{};
};

}  // namespace diecast::observe
