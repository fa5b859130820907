// SPDX-License-Identifier: Apache-2.0
// How every binary reads its command line: long flags only, no abbreviations, no stray arguments, no
// empty values, with the project's own error texts. Each binary defines its flags.
#pragma once

#include <boost/program_options.hpp>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "models/config/text.hpp"
#include "models/types/error.hpp"
#include "platforms/config_io/config_json.hpp"
#include "platforms/run/progress.hpp"

namespace diecast::app {

/// Throws user_error: unknown or abbreviated flags (with the nearest known one), stray arguments, flags
/// without their value.
[[nodiscard]] boost::program_options::variables_map read_command_line(
    int argc, const char* const* argv, const boost::program_options::options_description& known);

/// The value of a flag that takes one of a few words. Throws user_error naming them.
template <class T>
[[nodiscard]] T choose(const std::string& flag, const std::string& text,
                       const std::vector<std::pair<std::string, T>>& known) {
  std::vector<std::string> names;
  for (const auto& [name, value] : known) {
    if (text == name) return value;
    names.push_back(name);
  }
  throw user_error(
      problem{flag, config::with_nearest("no such value", text, names), text, config::join(names)});
}

/// The value of a flag whose words are the values themselves.
[[nodiscard]] std::string one_of(const std::string& flag, const std::string& text,
                                 const std::vector<std::string>& known);

/// Goes over the flags that were given and collects the problems of all of them.
class flag_reader {
 public:
  explicit flag_reader(const boost::program_options::variables_map& values) : values_(values) {}

  [[nodiscard]] bool flag(const char* name) const { return values_.count(name) != 0; }
  /// Runs use("--name", text) when the flag was given.
  template <class Use>
  void with(const char* name, Use use) {
    if (!flag(name)) return;
    try {
      const std::string flag = std::string("--") + name;
      const auto& text = values_[name].as<std::string>();
      // An empty shell variable must not pass for a flag that was not given.
      if (text.empty()) throw user_error(problem{flag, "is empty", "", "a value"});
      use(flag, text);
    } catch (const user_error& e) {
      problems_.insert(problems_.end(), e.problems().begin(), e.problems().end());
    }
  }
  /// Takes the text of a flag that was given.
  void text(const char* name, std::string& value) {
    with(name, [&value](const std::string&, const std::string& text) { value = text; });
  }
  /// Takes the number of a flag that was given, within these limits.
  template <class Value>
  void count(const char* name, std::uint64_t least, std::uint64_t most, Value& value) {
    with(name, [&](const std::string& flag, const std::string& text) {
      value = static_cast<Value>(config::count_argument(flag, text, least, most));
    });
  }
  template <class Value>
  void real(const char* name, double least, double most, Value& value) {
    with(name, [&](const std::string& flag, const std::string& text) {
      value = config::real_argument(flag, text, least, most);
    });
  }
  /// Every value of a flag that may be repeated, in the order given.
  [[nodiscard]] std::vector<std::string> all(const char* name) const {
    return flag(name) ? values_[name].as<std::vector<std::string>>() : std::vector<std::string>{};
  }
  void add(problem p) { problems_.push_back(std::move(p)); }
  /// Adds a problem for each of these flags that was given.
  void refuse(std::initializer_list<const char*> names, const std::string& what, const std::string& expected);
  /// Throws user_error with everything collected.
  void finish() const {
    if (!problems_.empty()) throw user_error(problems_);
  }

 private:
  const boost::program_options::variables_map& values_;
  std::vector<problem> problems_;
};

/// The values of one item of a sweep, "FROM:TO:+STEP" or a single one, both ends included; `number` reads
/// each part. Throws user_error for other text (`form` says what is expected), for ranges that end before
/// they begin, and for more than 1000 values.
[[nodiscard]] std::vector<double> sweep_argument(const std::string& flag, const std::string& item,
                                                 const char* form,
                                                 const std::function<double(const std::string&)>& number);

/// Flags and the files to write that they name; empty paths were not given.
using flag_files = std::vector<std::pair<std::string, std::string>>;
/// Adds a problem for each file that another flag of the same command line writes, too: it would be lost.
void refuse_same_file(flag_reader& r, const flag_files& written);
/// Adds a problem for each file whose name is that of a packed format.
void refuse_packed_names(flag_reader& r, const flag_files& written);
/// "run 2 of 5"; empty for the only run.
[[nodiscard]] std::string progress_label(std::size_t index, std::size_t count);
/// Opens all of them for writing, leaves them as they are and takes back those it made. Throws output_error
/// for the first that cannot be opened.
void try_files(const flag_files& files);
/// Replaces waveforms (--vcd) and timelines by the first lines of their formats before the simulation begins,
/// so that they are known as ours if the run is killed. Leaves all as they are where one cannot be opened.
/// Throws output_error.
void claim_files(const flag_files& files);

// Flags that every binary which simulates has, with one meaning: where the config comes from, what is
// written, what is printed without running anything.

enum class output_format : std::uint8_t { table, json, csv };

struct common_options : platforms::watched_run {
  bool help{}, version{}, schema{}, check_config{}, dump_config{};
  std::string list;  ///< the argument of --list
  std::string config;
  std::vector<std::string> sets;
  std::string out;
  output_format format{output_format::table};
  bool quiet{};
};

/// Help texts of flags that all binaries have, for their own objects.
struct output_help {
  const char* out;
  const char* vcd;
  const char* vcd_scope;
  const char* timeline;
  const char* timeline_scope;
};
/// A flag as --help shows it.
struct flag_row {
  const char* name;
  const char* value;  ///< name of the flag's value in help; empty: a switch
  std::string help;
  bool repeatable{};
};
/// A group of flags of --help, whose lines have less than 100 columns.
[[nodiscard]] boost::program_options::options_description flag_group(const char* name,
                                                                     const std::vector<flag_row>& flags);
/// The text of --help: `examples` are flags after the name, `exit_codes` those before the interrupted one.
[[nodiscard]] std::string help_page(const std::string& binary, const std::string& description,
                                    const std::vector<std::string>& examples,
                                    const boost::program_options::options_description& flags,
                                    const char* exit_codes, const char* arguments = "[flags]");
/// --config, --set, --seed, --check-config, --dump-config. `config`: the default; `set`: an assignment as
/// example; `check`: what --check-config prints.
[[nodiscard]] boost::program_options::options_description config_flags(const char* group, const char* config,
                                                                       const char* set, const char* check);
/// --out, --format, --vcd, --vcd-scope, --vcd-window, --timeline, --timeline-scope, --progress, --quiet
[[nodiscard]] boost::program_options::options_description output_flags(const output_help& help);
/// --list patterns|presets, --schema, --version, --help of studies.
[[nodiscard]] boost::program_options::options_description information_flags();

/// --config, --set, --seed
void read_config_flags(flag_reader& r, common_options& o);
/// The text of output_flags().
void read_output_flags(flag_reader& r, common_options& o);
/// --list with one of `lists`, --schema, --version, --help, --check-config, --dump-config. Adds a problem for
/// each further flag of that kind (of any binary), and for each that a run alone would write.
void read_information_flags(flag_reader& r, const std::vector<std::string>& lists, common_options& o);

/// The config named on the command line, or else the binary's own (platforms::default_config). Throws
/// user_error with every problem.
[[nodiscard]] platforms::loaded_config load_config(const common_options& o,
                                                   const std::filesystem::path& default_config,
                                                   const std::filesystem::path& data_dir = {});

/// Throws user_error when `runs` would have to share the file of --vcd or --timeline.
void refuse_shared_files(std::size_t runs, const char* expected, const common_options& o);

}  // namespace diecast::app
