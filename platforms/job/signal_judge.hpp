// SPDX-License-Identifier: Apache-2.0
// Checks the barriers of a run: which PEs entered and left each, and which defects of the firmware acted.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>

#include "models/analysis/barrier_checker.hpp"
#include "platforms/run/host_side.hpp"
#include "platforms/run/prepare.hpp"

namespace diecast::platforms {

/// Counts of the firmware and the data caches of all members.
struct barrier_counts {
  barrier_counts() = default;
  barrier_counts(const prepared_run& run, netlist::pod& pod);
  void add(const barrier_counts& other);
  [[nodiscard]] std::uint64_t of(abi::firmware_count what) const {
    return firmware[static_cast<unsigned>(what)];
  }

  hw::core_memory::counters memory;
  std::array<std::uint64_t, abi::firmware_counts> firmware{};
};

/// A number of `stats`, declared once: of a barrier its mean, NAME_per_barrier, of a workload the sum.
struct barrier_counter {
  const char* name;
  const char* meaning;
  std::uint64_t (*of)(const barrier_counts&);
};
[[nodiscard]] std::span<const barrier_counter> barrier_counters();
/// The counters as rows of the table of counters.
[[nodiscard]] std::string barrier_counters_markdown();

class signal_judge : public judge {
 public:
  signal_judge(const prepared_run& run, events::hub& events);

  void next_launch() override { checker_.next_launch(); }
  void report(const host_side& hosts, netlist::pod& pod, process_group* group, run_outcome& o) override;
  [[nodiscard]] analysis::line_history* history() override { return history_.get(); }

 protected:
  /// Verdict and statistics.
  virtual void judge_barriers(const host_side& hosts, const barrier_counts& sum, run_outcome& o) const = 0;
  void report_escapes(run_outcome& o) const;

  const prepared_run& run_;
  analysis::barrier_checker checker_;

 private:
  /// Adds notes on the bits of ccl.errata that have done no harm.
  void report_harmless(const barrier_counts& sum, run_outcome& o) const;

  std::unique_ptr<analysis::line_history> history_;
};

}  // namespace diecast::platforms
