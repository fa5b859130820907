// SPDX-License-Identifier: Apache-2.0
// The critical path of a launch: from the last core to end back to the common start, always along the event
// that the core waited for. Its edges follow each other without a gap, so they sum to the launch's
// time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "models/analysis/path_events.hpp"
#include "models/comm/install_plan.hpp"
#include "models/events/events.hpp"

namespace diecast::analysis {

/// Why time passes on an edge.
enum class path_cause : std::uint8_t {
  firmware,     ///< the core runs firmware: registers, runtime calls, task switches, accesses beyond its TCM
  vector,       ///< the vector unit computes or copies
  tcm,          ///< the core loads or stores in its TCM
  poll,         ///< the core pauses between two polls
  interrupt,    ///< from an event in the queue to the core's next instruction
  ipcq_check,   ///< the IPCQ engine checks a doorbell and passes the descriptor on
  dma_start,    ///< the descriptor waits in the DMA engine: for earlier ones and its own start-up
  source_read,  ///< the source is read and cut into packets
  fabric,       ///< the last packet crosses the fabric
  slot_write,   ///< the bytes are written to the slot and acknowledged
  ipcq_match,   ///< the IPCQ engine matches the token
  credit,       ///< a credit returns
  copy,         ///< a copy of the DMA engine
  unexplained   ///< a wait whose event has no recorded origin
};
inline constexpr std::size_t path_causes = 14;
[[nodiscard]] std::string_view to_string(path_cause c);

struct path_edge {
  sim_time from, to;
  path_cause cause{};
  pe_coord pe;                            ///< where the edge begins
  pe_coord to_pe;                         ///< where it ends; not `pe` for fabric and credit
  std::optional<comm::direction> qp;      ///< queue pair of the message or credit, at `pe`
  std::optional<core_record::step> step;  ///< step of `pe` when the edge began
  std::uint32_t bytes{};                  ///< bytes of the message
};

struct path {
  sim_time start, end;           ///< start and end of the launch, by the clock of the cores
  pe_coord last;                 ///< the PE that ended last
  std::vector<path_edge> edges;  ///< in order of time

  [[nodiscard]] sim_time total() const { return end - start; }
  [[nodiscard]] sim_time of(path_cause c) const;
};

/// The path of the launch that `events` holds. Empty when the launch has not ended on every core or is
/// incomplete. `core_period`: hardware acts on whole edges of this clock, cores between them.
[[nodiscard]] std::optional<path> critical_path(const path_events& events, sim_time core_period);

// Length of the longest chain of dependent messages, counted from events.

/// Longest chains that end at a PE: hops between cubes and hops between SIPs.
struct hop_depth {
  std::uint32_t cube{};
  std::uint32_t sip{};
  bool operator==(const hop_depth&) const = default;
};

/// Follows every message from its departure to the instant it becomes visible. A message carries its
/// sender's depth at departure; a PE's depth is the largest of all messages that it received, plus one
/// when that message was a hop of the level: cube, a message in direction N, S, E or W between two
/// cubes; sip, any message between two SIPs. Messages in other directions keep the depth.
class critical_hops : public events::observer {
 public:
  /// The plan pairs receive and transmit directions.
  explicit critical_hops(const comm::install_plan& plan);

  using events::observer::on;
  void on(const events::message_event& e) override;

  [[nodiscard]] std::uint32_t cube_hops() const { return longest_.cube; }
  [[nodiscard]] std::uint32_t sip_hops() const { return longest_.sip; }
  [[nodiscard]] hop_depth of(pe_coord pe) const;
  /// Messages that became visible where the plan does not expect them (sender matching does that);
  /// unless it is 0 the counts miss chains.
  [[nodiscard]] std::uint64_t unmatched() const { return unmatched_; }
  /// A message in flight to a SIP of another process, which must be informed.
  struct carried {
    sip_id to;
    std::uint32_t receiver{}, sequence{};
    std::uint64_t launch{};
    hop_depth depth;
  };
  /// SIPs of this process; messages to others are kept for take_leaving().
  void set_here(std::function<bool(sip_id)> here) { here_ = std::move(here); }
  /// Calls visit(sip_id from, sip_id to) for each direction of a message.
  template <class Visit>
  void visit_paths(Visit visit) const {
    for (const path& p : paths_) visit(p.from.sip, receivers_[p.receiver].pe.sip);
  }
  [[nodiscard]] std::vector<carried> take_leaving() { return std::exchange(leaving_, {}); }
  /// A message of a launch that has not begun here waits for reset(); one of an earlier launch is dropped.
  void arrive(const carried& c);
  /// Adds the result of another process.
  void merge(hop_depth longest, std::uint64_t unmatched);
  /// Forgets all chains, for the next collective on the same machine.
  void reset();

 private:
  struct path {
    pe_coord from;
    comm::direction dir{};
    std::uint32_t receiver{};  ///< index into the plan's receive halves
    bool between_cubes{}, between_sips{};
  };
  struct receiver {
    pe_coord pe;
    comm::direction dir{};
  };
  [[nodiscard]] const receiver* receiver_at(pe_coord pe, comm::direction dir) const;

  std::vector<receiver> receivers_;  ///< by PE, direction
  std::vector<path> paths_;          ///< by PE, direction; of a multicast one for each receiver
  std::map<pe_coord, hop_depth> depths_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, hop_depth> in_flight_;  ///< by receiver, sequence
  std::function<bool(sip_id)> here_;
  std::vector<carried> leaving_, early_;
  std::uint64_t launch_{};  ///< counts calls of reset()
  hop_depth longest_;
  std::uint64_t unmatched_{};
};

}  // namespace diecast::analysis
