// SPDX-License-Identifier: Apache-2.0
// What a run of a workload reports of its ops and streams. Times count from the common start.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace diecast::platforms {

/// One op in one iteration of its stream, over all members.
struct op_row {
  std::string id, stream, op;
  std::string algorithm;  ///< algorithm of a collective
  std::uint64_t iteration{};
  std::uint64_t ranks{};
  std::uint64_t bytes{};
  double start_ns{};             ///< start of the first member
  std::optional<double> end_ns;  ///< end of the last member; empty until all have ended
  bool finished{};               ///< all members have ended it
  std::optional<bool> verified;  ///< empty: nothing to check, or not checked
  std::optional<std::uint64_t> wrong_elements;

  DIECAST_LIST(fields, id, stream, op, algorithm, iteration, ranks, bytes, start_ns, end_ns, finished,
               verified, wrong_elements)
};

struct stream_row {
  std::string name;
  std::uint64_t ranks{}, repeat{}, ops{};
  double start_ns{};
  std::optional<double> end_ns;   ///< empty until all its ops have ended
  std::optional<double> time_ns;  ///< from the start of the first op to end_ns
  bool finished{};
  std::optional<bool> verified;
  std::optional<double> isolated_ns;  ///< time_ns of the stream alone (--isolate)
  std::optional<double> slowdown;     ///< time_ns / isolated_ns
  std::string not_isolated;           ///< why the stream cannot run alone, or has not ended then (--isolate)

  DIECAST_LIST(fields, name, ranks, repeat, ops, start_ns, end_ns, time_ns, finished, verified, isolated_ns,
               slowdown, not_isolated)
};

}  // namespace diecast::platforms
