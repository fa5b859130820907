// SPDX-License-Identifier: Apache-2.0
// Flags that every binary which simulates has, with one meaning: where the config comes from, what is
// written, what is printed without running anything.
#pragma once

#include <boost/program_options.hpp>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "platforms/app/command_line.hpp"
#include "platforms/io/config_json.hpp"
#include "platforms/run/progress.hpp"

namespace diecast::app {

enum class output_format : std::uint8_t { table, json, csv };

struct common_options {
  bool help{}, version{}, schema{}, check_config{}, dump_config{};
  std::string list;  ///< what --list is asked for
  std::string config;
  std::vector<std::string> sets;
  std::string out;
  std::string vcd;
  std::string timeline;
  platforms::progress_mode progress{platforms::progress_mode::automatic};
  output_format format{output_format::table};
  bool quiet{};
};

/// What --help says of flags that mean the same everywhere and are about something else in each binary.
struct output_help {
  const char* out;
  const char* vcd;
  const char* vcd_scope;
  const char* timeline;
  const char* timeline_scope;
};
/// An empty group of flags of --help, whose lines have less than 100 columns.
[[nodiscard]] boost::program_options::options_description flag_group(const char* name);
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
/// What output_flags() lists.
void read_output_flags(flag_reader& r, common_options& o);
/// --list with one of `lists`, --schema, --version, --help, --check-config, --dump-config. Adds a problem for
/// each further flag of that kind (of any binary), and for each that a run alone would write.
void read_information_flags(flag_reader& r, const std::vector<std::string>& lists, common_options& o);

/// The config asked for, or else the binary's own (platforms::default_config). Throws user_error with what is
/// wrong in it.
[[nodiscard]] platforms::loaded_config load_config(const common_options& o,
                                                   const std::filesystem::path& default_config,
                                                   const std::filesystem::path& data_dir = {});

/// Adds a problem for --vcd and for --timeline when `runs` would have to share the file.
void refuse_shared_files(flag_reader& r, std::size_t runs, const char* expected, const common_options& o);

}  // namespace diecast::app
