// SPDX-License-Identifier: Apache-2.0
// What an invocation makes of its runs, whatever they are: a table that grows with them, complaints on
// stderr, one form of all for stdout, and the files of --out.
#pragma once

#include <cstdio>
#include <filesystem>
#include <functional>
#include <optional>
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

template <class Outcome>
class run_report {
 public:
  /// Opens --out and writes the config there. `options` outlives the report. `files`: what the command line
  /// names beside a waveform and a timeline, and may lie in that directory.
  run_report(const common_options& options, platforms::result_context context,
             const config::machine_config& config, std::vector<std::filesystem::path> files = {})
      : options_(options), context_(std::move(context)) {
    if (options.out.empty()) return;
    files.insert(files.end(), {options.vcd, options.timeline});
    out_.emplace(options.out, files);
    out_->write("config.json", platforms::dump_config(config));
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
  [[nodiscard]] bool writes_files() const { return out_.has_value(); }
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
  std::optional<platforms::output_dir> out_;
  std::vector<Outcome> outcomes_;
};

}  // namespace diecast::app
