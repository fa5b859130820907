// SPDX-License-Identifier: Apache-2.0
// What an invocation makes of its runs, whatever they are: a table that grows with them, complaints on
// stderr, one form of all for stdout, and the files of --out.
#pragma once

#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "platforms/app/common_options.hpp"
#include "platforms/app/guard.hpp"
#include "platforms/io/output_dir.hpp"
#include "platforms/io/result_json.hpp"
#include "platforms/io/standard_streams.hpp"

namespace diecast::app {

/// The context of a result of `binary`; for machines without a pod `shape` is left as it is.
[[nodiscard]] platforms::result_context context_of(const std::string& binary, const config::machine_config& c,
                                                   std::vector<platforms::unread_key> unread, int argc,
                                                   char** argv, const machine_shape& shape = {});

/// --out with its config.json, whose text is `config`. Throws user_error where it would lose what --config
/// (with what that extends) or a flag or key of `read` reads, output_error where it or a file of `written`
/// cannot be written; what an earlier run left there is removed only then. Precondition: --out was given.
[[nodiscard]] std::unique_ptr<platforms::output_dir> open_out(const common_options& options,
                                                              const std::string& config,
                                                              const flag_files& written, flag_files read);

template <class Outcome>
class run_report {
 public:
  /// Opens --out and writes the config there. `options` outlives the report. `written` and `read`: what is
  /// named beside the config, a waveform and a timeline.
  run_report(const common_options& options, platforms::result_context context,
             const config::machine_config& config, flag_files written = {}, flag_files read = {})
      : options_(options), context_(std::move(context)) {
    if (options.out.empty()) return;
    written.insert(written.end(), {{"--vcd", options.vcd}, {"--timeline", options.timeline}});
    out_ = open_out(options, platforms::dump_config(config), written, std::move(read));
  }

  /// Before the first run: keys given in vain, and the table's first line.
  void start(const std::string& table_header) const {
    if (table()) print(platforms::unread_text(context_.unread) + table_header);
  }

  /// A run that has ended, and what the table says of it.
  void add(Outcome o, const std::string& table_rows) {
    if (table()) {
      print(table_rows);
      std::fflush(stdout);
    }
    if (!o.message.empty()) platforms::tell(platforms::complaint(o.status, o.message));
    outcomes_.push_back(std::move(o));
  }

  [[nodiscard]] bool interrupted() const {
    return outcomes_.back().status == platforms::run_status::interrupted;
  }
  [[nodiscard]] const platforms::result_context& context() const { return context_; }
  [[nodiscard]] const std::vector<Outcome>& outcomes() const { return outcomes_; }
  /// Whether there is a table.
  [[nodiscard]] bool table() const { return options_.format == output_format::table && !options_.quiet; }
  /// Whether --out was asked for. Files of large machines are long: their text is made only then.
  [[nodiscard]] bool writes_files() const { return out_ != nullptr; }
  /// A file of --out. Precondition: writes_files().
  void write(const std::string& name, const std::string& text) { out_->write(name, text); }

  /// After the last run: to stdout in the form asked for, and result.json. Makes no text that is not wanted.
  void finish(const std::function<std::string()>& json, const std::function<std::string()>& csv) {
    if (options_.format == output_format::json) print(json());
    if (options_.format == output_format::csv) print(csv());
    if (writes_files()) write("result.json", json());
  }
  [[nodiscard]] int exit_code() const { return exit_code_of(outcomes_); }

 private:
  const common_options& options_;
  platforms::result_context context_;
  std::unique_ptr<platforms::output_dir> out_;
  std::vector<Outcome> outcomes_;
};

}  // namespace diecast::app
