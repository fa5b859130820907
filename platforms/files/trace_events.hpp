// SPDX-License-Identifier: Apache-2.0
// Writes the Trace Event format (JSON) that Perfetto and chrome://tracing open: tracks with nested slices,
// instants, counters and flow arrows. Events go to the file as they come; viewers sort them by time.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/types/time.hpp"

namespace diecast::platforms {

/// A track: a row (tid) in a group (pid).
struct track_id {
  std::uint32_t group{}, row{};
};

class trace_events {
 public:
  /// One argument of an event: a name and a value that is already JSON (`text_argument` makes one of text).
  using arguments = std::vector<std::pair<std::string, std::string>>;

  /// Creates the file; throws output_error naming `flag` when that fails. A part lacks the closing brackets.
  trace_events(std::string flag, std::string path, bool part = false);

  void name_group(std::uint32_t group, const std::string& name, std::uint32_t order);
  void name_track(track_id t, const std::string& name, std::uint32_t order);
  /// Slices of one track must nest or follow each other, as the events of one instance do.
  void slice(track_id t, std::string_view name, std::string_view category, sim_time from, sim_time to,
             const arguments& extra = {});
  void instant(track_id t, std::string_view name, sim_time at, const arguments& extra = {});
  /// Values of all series of a counter, from `at` on.
  void counter(std::uint32_t group, std::string_view name, sim_time at, const arguments& series);
  /// An arrow from the slice open at its start to the slice open at its end; both carry `number`.
  void flow(bool end, track_id t, std::uint64_t number, sim_time at);

  /// Appends the events of a closed part, and removes the part.
  void append(const std::string& part);
  /// Ends the file; throws output_error when writing failed.
  void close();

 private:
  void begin(char phase, track_id t, std::string_view name, sim_time at);
  void end(const arguments& extra);

  std::string flag_, path_;
  std::ofstream file_;
  bool part_, any_{};
};

/// A JSON string, quoted and escaped.
[[nodiscard]] std::string text_argument(std::string_view text);

}  // namespace diecast::platforms
