// SPDX-License-Identifier: Apache-2.0
// Texts of --doc, --list and --check-config; preparation and repetition of the runs of a command line.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "platforms/app/options.hpp"
#include "platforms/result/run_point.hpp"
#include "platforms/run/prepare.hpp"
#include "platforms/run/registries.hpp"

namespace diecast::app {

/// All runs of an invocation, prepared before any of them starts. Sizes that do not fit a memory, and what
/// --algorithm all cannot run here, are left out with one line on stderr for each reason. Throws user_error
/// where nothing is left, and for every other problem.
[[nodiscard]] std::vector<std::unique_ptr<platforms::prepared_run>> prepare_all(
    const platforms::machine_model& machine, const registries& tables,
    const std::vector<platforms::run_point>& points);

/// Refuses observers and second runs of packets where sim.fidelity has none. Throws user_error.
void check_fidelity(const options& o, const config::machine_config& c);

/// --print-map: every range of addresses at which something answers, with what does and the router it is on.
[[nodiscard]] std::string map_text(const platforms::machine_model& machine);

// Texts about a binary and its machine, without a run.

/// --doc: a page, or a part of one.
[[nodiscard]] std::string doc_text(const registries& tables, const std::string& page);
/// --list algorithms | patterns | mappers | presets
[[nodiscard]] std::string list_text(const registries& tables, const std::string& what);
/// --check-config: the balance table, warnings last.
[[nodiscard]] std::string balance_text(const platforms::machine_model& machine);

// --record, --verify and --double-run: whether a run repeats an earlier one.

/// Runs recorded in a file.
class run_record {
 public:
  run_record() = default;
  /// Reads `file`. Throws user_error when it cannot be read or is no record.
  explicit run_record(const std::string& file);

  void add(const platforms::run_outcome& o);
  /// Text of the file for `runs` runs; an interrupted invocation has fewer, which are no complete record.
  [[nodiscard]] std::string text(std::size_t runs) const;
  /// Compares run number `index` of this invocation with the recorded one.
  void verify(std::size_t index, platforms::run_outcome& o) const;
  /// Reports in `last`, the last run of this invocation, that more runs were recorded.
  void expect(std::size_t runs, platforms::run_outcome& last) const;

 private:
  struct entry {
    std::string name;  ///< name of the algorithm that was run
    std::string steps;
  };
  std::string file_;
  std::vector<entry> entries_;
};

/// Applies --double-run, --record and --verify to the runs of an invocation.
class reproducer {
 public:
  /// `runs`: of this invocation. Throws user_error when --verify is no record.
  reproducer(const options& o, std::size_t runs);

  /// After run number `index`; `again` simulates it once more.
  void look_at(std::size_t index, platforms::run_outcome& outcome,
               const std::function<platforms::run_outcome()>& again);
  /// Writes the record. Throws output_error.
  void finish() const;

 private:
  const options& options_;
  std::size_t runs_;
  run_record reference_, recorded_;
};

}  // namespace diecast::app
