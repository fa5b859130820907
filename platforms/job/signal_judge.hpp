// SPDX-License-Identifier: Apache-2.0
// Watches the barriers of a run: who entered and left each of them, and which defects of the firmware acted.
#pragma once

#include <memory>

#include "models/analysis/barrier_checker.hpp"
#include "platforms/run/host_side.hpp"
#include "platforms/run/prepare.hpp"

namespace diecast::platforms {

class signal_judge : public judge {
 public:
  signal_judge(const prepared_run& run, events::hub& events);

  void next_launch() override { checker_.next_launch(); }
  void report(const host_side& hosts, netlist::pod& pod, run_outcome& o) const override;
  [[nodiscard]] const analysis::line_history* history() const override { return history_.get(); }

 protected:
  /// What the firmware and the data caches of all members have counted.
  struct counts;

  /// Verdict and statistics.
  virtual void judge_barriers(const host_side& hosts, const counts& sum, run_outcome& o) const = 0;
  void tell_escapes(run_outcome& o) const;

  const prepared_run& run_;
  analysis::barrier_checker checker_;

 private:
  /// Notes for the bits of ccl.errata that have done no harm.
  void tell_harmless(const counts& sum, run_outcome& o) const;

  std::unique_ptr<analysis::line_history> history_;
};

struct signal_judge::counts {
  counts(const prepared_run& run, netlist::pod& pod);
  [[nodiscard]] std::uint64_t of(abi::firmware_count what) const {
    return firmware[static_cast<unsigned>(what)];
  }

  hw::core_memory::counters memory;
  std::array<std::uint64_t, abi::firmware_counts> firmware{};
};

}  // namespace diecast::platforms
