// SPDX-License-Identifier: Apache-2.0
// Output of an invocation for runs of any kind: a table that grows with them, complaints on
// stderr, one form of all for stdout, and the files of --out.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "platforms/app/command_line.hpp"
#include "platforms/files/output_dir.hpp"
#include "platforms/result/result_json.hpp"
#include "platforms/run/child.hpp"

namespace diecast::app {

// Handling of errors that reach main, common to all binaries.

/// Runs `body` and returns its exit code; prints what it throws to stderr and returns the code that the
/// error's type stands for (2 user, 5 output, 71 the operating system, 70 anything else). Standard output
/// that cannot be written is an output error, unless it is a pipe whose reader has ended.
int exit_code_of(const std::function<int()>& body);

/// Writes to standard output; exit_code_of() reports failures at its end.
void print(const std::string& text);
/// Writes out what was printed.
void flush();

/// Prints the text for --help, --version, --schema or --list; false without them.
bool inform(const common_options& o, const std::string& binary, const std::string& help,
            const std::function<std::string()>& list);

/// Exit code of an invocation: that of its worst run; 5 when a file could not be written and all runs are
/// sound; 128 plus the signal's number when interrupted.
template <class Outcome>
[[nodiscard]] int exit_code_of(const std::vector<Outcome>& runs) {
  const platforms::run_status status = platforms::worst(runs);
  const bool lost = std::ranges::any_of(runs, [](const Outcome& o) { return o.output_lost; });
  using platforms::run_status;
  if (status != run_status::internal && status != run_status::system && lost) return platforms::output_failed;
  if (status == run_status::interrupted) return 128 + platforms::interrupt_signal();
  return platforms::exit_code(status);
}

/// The context of a result of `binary`; for machines without a pod `shape` is left as it is.
[[nodiscard]] platforms::result_context context_of(const std::string& binary, const config::machine_config& c,
                                                   std::vector<platforms::unread_key> unread, int argc,
                                                   char** argv, const machine_shape& shape = {});

/// --out, for a run whose config has the text `config`; null where it was not given. Throws user_error where
/// --out or a file of `written` would replace a file that was read, output_error where one of them cannot be
/// written; what an earlier run left is removed only then. Installs the handlers of signals.
[[nodiscard]] std::unique_ptr<platforms::output_dir> open_outputs(const common_options& options,
                                                                  const std::string& config,
                                                                  flag_files written);

template <class Outcome>
class run_report {
 public:
  /// Opens --out. `options` outlives the report. `written`: files beside --out, a waveform and a timeline.
  /// Precondition: all inputs are read.
  run_report(const common_options& options, platforms::result_context context,
             const config::machine_config& config, flag_files written = {})
      : options_(options), context_(std::move(context)) {
    written.insert(written.end(), {{"--vcd", options.vcd}, {"--timeline", options.timeline}});
    out_ = open_outputs(options, platforms::dump_config(config), std::move(written));
  }

  /// Before the first run: empties waveform and timeline, and prints keys given without effect and the
  /// table's first line.
  void start(const std::string& table_header) const {
    // After --out, in whose directory they may lie. A record is written whole at the end.
    claim_files({{"--vcd", options_.vcd}, {"--timeline", options_.timeline}});
    if (table()) print(platforms::unread_text(context_.unread) + table_header);
  }

  /// Adds a run that has ended, and its rows of the table.
  void add(Outcome o, const std::string& table_rows) {
    if (table()) {
      print(table_rows);
      flush();
    }
    if (!o.message.empty()) platforms::warn(platforms::complaint(o.status, o.message));
    outcomes_.push_back(std::move(o));
  }

  [[nodiscard]] bool interrupted() const {
    return outcomes_.back().status == platforms::run_status::interrupted;
  }
  [[nodiscard]] const platforms::result_context& context() const { return context_; }
  [[nodiscard]] const std::vector<Outcome>& outcomes() const { return outcomes_; }
  /// Whether there is a table.
  [[nodiscard]] bool table() const { return options_.format == output_format::table && !options_.quiet; }
  /// Whether --out was given. Files of large machines are long, so their text is made only then.
  [[nodiscard]] bool writes_files() const { return out_ != nullptr; }
  /// A file of --out. Precondition: writes_files().
  void write(const std::string& name, const std::string& text) { out_->write(name, text); }

  /// After the last run: prints to stdout in the requested form, writes the tables of --out by
  /// `write_tables`, and result.json as the last file. Text that no option requests is not made.
  void finish(const std::function<std::string()>& json, const std::function<std::string()>& csv,
              const std::function<void()>& write_tables = {}) {
    if (options_.format == output_format::json) print(json());
    if (options_.format == output_format::csv) print(csv());
    if (!writes_files()) return;
    if (write_tables) write_tables();
    out_->complete("result.json", json());
  }
  [[nodiscard]] int exit_code() const { return exit_code_of(outcomes_); }

 private:
  const common_options& options_;
  platforms::result_context context_;
  std::unique_ptr<platforms::output_dir> out_;
  std::vector<Outcome> outcomes_;
};

}  // namespace diecast::app
