// SPDX-License-Identifier: Apache-2.0
// Steps of a run as plain rows, as text, and the first difference of two runs.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "platforms/result/run_point.hpp"

namespace diecast::platforms {

/// Activity of one rank in one step. Number 0 is the time before the first step a kernel marked. A message
/// counts to the step its receiver (or sender) was in.
struct step_row {
  std::uint32_t launch{}, rank{}, number{};
  std::string step;
  std::uint64_t start_fs{}, last_fs{};  ///< entered; last message became visible
  std::uint64_t sends{}, sent_bytes{}, receives{}, received_bytes{};
  std::uint64_t barriers{};  ///< left; of any team
  std::uint64_t contents{};  ///< digest of what was received, and which messages and barriers these were
  std::uint64_t result{};    ///< digest of the result buffer; in the last step of a launch
};

/// By launch, rank, number.
void sort(std::vector<step_row>& rows);
/// One row a line, values separated by tabs.
[[nodiscard]] std::string to_text(const std::vector<step_row>& rows);
/// Throws std::runtime_error naming the line that is none.
[[nodiscard]] std::vector<step_row> rows_from(const std::string& text);

struct row_difference {
  step_row at;
  std::string field;
  std::string expected, found;
};
/// Empty when the runs are the same. Else the difference in the earliest step of the reference.
[[nodiscard]] std::optional<row_difference> first_difference(const std::vector<step_row>& reference,
                                                             const std::vector<step_row>& other);
/// Differences between later launches of one run and its first, rank by rank over all steps: results,
/// contents and their order on each queue pair. The time of a message, and so its step, may differ: open
/// rows, refresh and bit errors continue from launch to launch. `at.step` has no meaning.
[[nodiscard]] std::optional<row_difference> launch_difference(const std::vector<step_row>& rows);

/// "rank 3, step round 2 (number 3 of launch 0): contents is ..., was ..."
[[nodiscard]] std::string to_text(const row_difference& d);

/// How long each member that is `here` waited until `now`.
[[nodiscard]] std::vector<wait_row> wait_rows(const machine_shape& shape,
                                              const std::vector<pe_coord>& members,
                                              const analysis::waited_time& waits, sim_time now,
                                              const std::function<bool(sip_id)>& here);

}  // namespace diecast::platforms
