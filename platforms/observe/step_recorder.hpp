// SPDX-License-Identifier: Apache-2.0
// Records the activity of every rank in every step of a run, for --record, --verify and --double-run.
#pragma once

#include <cstdint>
#include <cstdio>
#include <map>
#include <unordered_map>
#include <vector>

#include "models/events/events.hpp"
#include "platforms/result/run_point.hpp"
#include "platforms/result/step_rows.hpp"

namespace diecast::observe {

class step_recorder : public events::observer {
 public:
  explicit step_recorder(const platforms::run_names& run);

  /// A launch begins: steps count from 0 again.
  void next_launch();
  /// The result buffer of a rank, after a launch.
  void result(std::uint32_t rank, std::uint64_t digest);
  /// The rows so far, by launch, rank, number.
  [[nodiscard]] std::vector<platforms::step_row> rows() const;

  void on(const events::step_entered& e) override;
  void on(const events::message_event& e) override;
  void on(const events::message_content& e) override;
  void on(const events::operation_changed& e) override;

 private:
  [[nodiscard]] platforms::step_row* present(pe_coord pe);

  machine_shape shape_;
  std::unordered_map<std::uint32_t, std::uint32_t> rank_of_;  ///< by dense index of the PE
  std::vector<std::vector<platforms::step_row>> rows_;        ///< by rank; the last is the present one
  using counts = std::unordered_map<std::uint64_t, std::uint64_t>;
  std::vector<counts> received_;  ///< by rank: per flow, this launch
  std::vector<counts> barriers_;  ///< by rank: per team, this launch
  std::uint32_t launch_{};
  bool launched_{};
};

// --ccl-trace: one line per send, receive and credit, for reading beside a kernel's source.

/// Writes "ccl rank 3 at 1616.000 ns: send E 8192 bytes seq 0" and the like. "send": the engine has taken
/// the descriptor; "recv": the message is visible to the receiver; "credit": a slot is free again at the
/// sender, seq being how far the peer has consumed. Times are simulated, from the start of the run.
class ccl_trace : public events::observer {
 public:
  /// `to` must outlive the trace. Wants events::messages.
  ccl_trace(const platforms::run_names& run, std::FILE* to);
  void on(const events::message_event& e) override;

 private:
  const platforms::run_names run_;
  std::FILE* to_;
  std::map<pe_coord, std::size_t> ranks_;
};

}  // namespace diecast::observe
