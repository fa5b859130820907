// SPDX-License-Identifier: Apache-2.0
#include "platforms/app/diagnosis.hpp"

#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "models/config/text.hpp"
#include "models/types/error.hpp"
#include "platforms/app/guard.hpp"
#include "platforms/app/run_report.hpp"
#include "platforms/diagnose/doctor.hpp"
#include "platforms/io/output_dir.hpp"
#include "platforms/io/standard_streams.hpp"
#include "platforms/io/whole_file.hpp"
#include "platforms/run/child.hpp"

namespace diecast::app {
namespace {

constexpr const char* verdict_json = "diagnosis.json";
constexpr const char* verdict_text = "diagnosis.txt";

void check_one_run(const options& o) {
  std::vector<problem> problems;
  const auto refuse = [&problems](const std::string& what, const char* expected) {
    problems.push_back({"--diagnose", "looks into one run", what, expected});
  };
  if (o.bytes.size() > 1) refuse(fmt::format("{} sizes", o.bytes.size()), "a single size");
  if (o.teams.size() > 1) refuse(fmt::format("{} teams", o.teams.size()), "a single team");
  if (o.algorithms == std::vector<std::string>{"all"}) {
    refuse("all algorithms", "a single algorithm");
  } else if (o.algorithms.size() > 1) {
    refuse(fmt::format("{} algorithms", o.algorithms.size()), "a single algorithm");
  }
  if (o.format == output_format::csv)
    problems.push_back({"--format", "a diagnosis has no rows", "csv", "table, which is text, or json"});
  if (!problems.empty()) throw user_error(std::move(problems));
}

/// What is left out of the experiments, so that one may add --diagnose to the command line that went wrong.
void tell_what_is_left_out(const options& o) {
  std::vector<std::string> flags;
  for (const auto& [flag, path] : flag_files{
           {"--vcd", o.vcd}, {"--timeline", o.timeline}, {"--record", o.record}, {"--verify", o.verify}}) {
    if (!path.empty()) flags.push_back(flag);
  }
  if (o.double_run) flags.emplace_back("--double-run");
  if (!flags.empty()) platforms::tell(fmt::format("--diagnose leaves out {}", config::join(flags)));
}

/// The arguments, and apart from them the faults that are set among them: for the experiments only.
std::pair<std::vector<std::string>, std::vector<std::string>> without_faults(int argc, char** argv) {
  std::pair<std::vector<std::string>, std::vector<std::string>> both;
  const auto sets_faults = [](std::string_view setting) { return setting.starts_with("faults"); };
  constexpr std::string_view joined = "--set=";
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--set" && i + 1 < argc) {
      auto& list = sets_faults(argv[i + 1]) ? both.second : both.first;
      list.insert(list.end(), {argv[i], argv[i + 1]});
      ++i;
    } else {
      const bool set = word.starts_with(joined) && sets_faults(word.substr(joined.size()));
      (set ? both.second : both.first).emplace_back(word);
    }
  }
  return both;
}

}  // namespace

/// The experiments are runs of this program; the doctor is given its path and the flags, nothing else.
int run_diagnosis(const options& o, const config::machine_config& config, int argc, char** argv) {
  check_one_run(o);
  std::unique_ptr<platforms::output_dir> out;
  if (!o.out.empty()) {
    out = open_out(o, platforms::dump_config(config), {}, files_read(o, config));
  } else {
    try_files({{"--diagnose", verdict_json}, {"--diagnose", verdict_text}});
  }
  tell_what_is_left_out(o);
  platforms::install_signal_handlers();
  auto [arguments, faults] = without_faults(argc, argv);
  const bool withheld = !faults.empty();
  faults.emplace_back("--hide-faults");
  diagnose::patient who{std::filesystem::read_symlink("/proc/self/exe").string(),
                        std::move(arguments),
                        o.collective,
                        o.algorithms.empty() ? "" : o.algorithms.front(),
                        o.bytes.front(),
                        std::move(faults),
                        withheld};
  who.interrupted = [] { return platforms::interrupt_signal() != 0; };
  const diagnose::diagnosis found = diagnose::examine(who);
  if (o.format == output_format::json) {
    print(found.json);
  } else if (!o.quiet) {
    print(found.text);
  }
  const auto write = [&](const char* name, const std::string& text) {
    if (out) return out->write(name, text);
    platforms::write_whole_file(name, text);
  };
  for (const auto& [name, text] : found.files) write(name.c_str(), text);
  write(verdict_json, found.json);
  write(verdict_text, found.text);
  if (platforms::interrupt_signal() == 0) return found.exit_code;
  platforms::tell("interrupted: the diagnosis is of the experiments made until then");
  return 128 + platforms::interrupt_signal();
}

}  // namespace diecast::app
