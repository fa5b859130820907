// SPDX-License-Identifier: Apache-2.0
// The critical path of a launch: from the last core to end back to the common start, always along what
// the core there was waiting for. Its edges follow each other without a gap, so they sum to the launch's
// time.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "models/analysis/path_events.hpp"

namespace diecast::analysis {

/// Why time passes on an edge.
enum class path_cause : std::uint8_t {
  firmware,     ///< the core runs firmware: registers, runtime calls, task switches, accesses beyond its TCM
  vector,       ///< the vector unit works
  tcm,          ///< the core loads or stores in its TCM
  poll,         ///< the core pauses between two polls
  interrupt,    ///< from an event being queued to the core going on
  ipcq_check,   ///< the queue engine checks a doorbell and hands the descriptor on
  dma_start,    ///< the descriptor waits in the DMA engine: its start-up and those before it
  source_read,  ///< the source is read and cut into packets
  fabric,       ///< the last packet crosses the fabric
  slot_write,   ///< the bytes are written to the slot and acknowledged
  ipcq_match,   ///< the queue engine matches the token
  credit,       ///< a credit runs back
  copy,         ///< a copy of the DMA engine
  unexplained   ///< a wait whose event has no recorded origin
};
inline constexpr std::size_t path_causes = 14;
[[nodiscard]] std::string_view to_string(path_cause c);

struct path_edge {
  sim_time from, to;
  path_cause cause{};
  pe_coord pe;                            ///< where the edge begins
  pe_coord to_pe;                         ///< where it ends; the same but for fabric and credit
  std::optional<comm::direction> qp;      ///< queue pair of the message or credit, at `pe`
  std::optional<core_record::step> step;  ///< that `pe` was in when the edge began
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

}  // namespace diecast::analysis
