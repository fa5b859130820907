// SPDX-License-Identifier: Apache-2.0
// --timeline: what every PE, link and HBM channel did when, for Perfetto or chrome://tracing.
//
// A group per cube with a track per PE: the kernel, in it the kernel's steps, in them waits by cause, vector
// work and TCM accesses, with an instant and an arrow for every message, and a counter of free credits per
// queue pair. A group per cube with a track per link (and VC, as packets of two VCs share a link) and the
// utilization of each kind of link; one per cube with a track per HBM pseudo-channel. Only instances whose
// path matches trace.timeline_scope (a glob).
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "models/analysis/path_events.hpp"
#include "models/analysis/usage_bins.hpp"
#include "models/config/machine_config.hpp"
#include "models/events/events.hpp"
#include "models/fabric/topology.hpp"
#include "platforms/files/trace_events.hpp"
#include "platforms/observe/dram_taps.hpp"

namespace diecast::observe {

class timeline final : public events::observer, public dram_listener {
 public:
  /// Creates the file; throws output_error when that fails. `topology`: null without links. `part`: above 0,
  /// number of a part of a file, which another timeline appends.
  timeline(const std::string& path, const config::machine_config& config, const fabric::topology* topology,
           const comm::install_plan& plan, comm::direction_namer names, instance_filter shown = {},
           std::uint32_t part = 0);

  /// The kinds of events that it needs.
  static constexpr unsigned interests = events::everything & ~events::transfers;

  /// Time at which the first packet was left out because of trace.timeline_packets, if any was.
  [[nodiscard]] std::optional<sim_time> packets_end() const { return packets_end_; }

  /// Ends every open slice and the file; throws output_error when writing failed.
  void close(sim_time end);

  using events::observer::on;
  void on(const events::core_state_changed& e) override;
  void on(const events::step_entered& e) override;
  void on(const events::queue_pair_changed& e) override;
  void on(const events::message_event& e) override;
  void on(const events::link_occupied& e) override;
  void on(const events::core_waited& e) override;
  void on(const events::core_worked& e) override;
  void on_dram(const dram_channel& channel, const timing::dram_event& e) override;
  /// An op of a workload begins on a PE, and ends. Chains run at one time: each has a track, named after its
  /// stream.
  void on_op_begun(pe_coord pe, std::uint32_t chain, const std::string& stream, const std::string& name,
                   sim_time at);
  void on_op_ended(pe_coord pe, std::uint32_t chain, sim_time at);

  /// A message in flight to a PE whose instants are in another part.
  struct carried {
    sip_id to;
    analysis::queue_end receiver;
    platforms::track_id from;
    sim_time sent;
    std::uint32_t sequence{};
  };
  [[nodiscard]] std::vector<carried> take_leaving() { return std::exchange(leaving_, {}); }
  void arrive(const carried& c) { flows_[c.receiver].push_back({c.from, c.sent, c.sequence}); }
  /// A closed part, to be taken in at the end; its file is removed.
  void append(const std::string& path) { parts_.push_back(path); }

 private:
  struct open_slice {
    sim_time since;
    std::string name;
  };
  struct pe_track {
    platforms::track_id at;
    events::core_state state{};
    std::optional<open_slice> phase;  ///< waiting for the start, or the kernel
    std::optional<open_slice> step;
    sim_time asleep_since;
    std::vector<std::pair<comm::direction, std::string>> sends;  ///< transmit halves and their names
    std::map<comm::direction, std::uint32_t> credits;
  };
  struct op_track {
    platforms::track_id at;
    std::optional<open_slice> op;
  };
  /// A message in flight: its arrow is drawn when it has arrived, so that none is left without an end.
  struct flow {
    platforms::track_id from;
    sim_time sent;
    std::uint32_t sequence{};
  };

  void name_pes(const comm::install_plan& plan);
  void count_links();
  [[nodiscard]] bool in_scope(const std::string& path) const;
  [[nodiscard]] pe_track* track_of(pe_coord pe);
  void end_step(pe_track& t, sim_time at);
  void end_phase(pe_track& t, sim_time at, bool unfinished);
  void write_credits(const pe_track& t, std::uint32_t pe, sim_time at);
  [[nodiscard]] std::uint32_t link_group(const fabric::link& link);
  [[nodiscard]] platforms::track_id link_track(const events::link_occupied& e);
  [[nodiscard]] platforms::track_id channel_track(const dram_channel& channel);
  void write_utilization(sim_time end);

  machine_shape shape_;
  const fabric::topology* topology_;
  analysis::queue_ends ends_;
  comm::direction_namer names_;
  std::string glob_;
  instance_filter shown_;
  std::uint32_t part_;
  std::vector<carried> leaving_;
  std::vector<std::string> parts_;
  std::uint64_t packets_left_;
  std::optional<sim_time> packets_end_;
  platforms::trace_events file_;
  std::map<pe_coord, pe_track> pes_;
  std::map<std::pair<pe_coord, std::uint32_t>, op_track> op_tracks_;  ///< by PE and chain
  std::map<analysis::queue_end, std::deque<flow>> flows_;             ///< messages in flight, by receiver
  std::uint64_t next_flow_;
  std::set<std::uint32_t> groups_;  ///< groups of links and channels named so far
  std::map<std::pair<std::uint32_t, std::uint8_t>, bool> links_;  ///< by link and VC: in scope
  std::map<std::string, platforms::track_id> channels_;           ///< the first pseudo-channel's track
  std::map<std::uint32_t, std::uint32_t> channel_rows_;           ///< rows used, by group
  analysis::usage_bins usage_;                                    ///< by usage_row()
  std::vector<std::uint32_t> link_counts_;                        ///< links in scope, by usage_row()
  std::vector<sim_time> busy_until_;                              ///< by link: of what usage_ has
};

}  // namespace diecast::observe
