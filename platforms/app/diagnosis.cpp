// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "models/config/text.hpp"
#include "models/types/error.hpp"
#include "platforms/app/options.hpp"
#include "platforms/app/run_report.hpp"
#include "platforms/config_io/config_json.hpp"
#include "platforms/diagnose/examination.hpp"
#include "platforms/diagnose/experiment_runner.hpp"
#include "platforms/files/input.hpp"
#include "platforms/files/output_dir.hpp"
#include "platforms/run/child.hpp"

namespace diecast::app {
namespace {

void check_one_run(const options& o) {
  std::vector<problem> problems;
  const auto refuse = [&problems](const std::string& what, const char* expected) {
    problems.push_back({"--diagnose", "examines one run", what, expected});
  };
  if (o.bytes.size() > 1) refuse(fmt::format("{} sizes", o.bytes.size()), "a single size");
  if (o.teams.size() > 1) refuse(fmt::format("{} teams", o.teams.size()), "a single team");
  if (o.algorithms == std::vector<std::string>{"all"}) {
    refuse("all algorithms", "a single algorithm");
  } else if (o.algorithms.size() > 1) {
    refuse(fmt::format("{} algorithms", o.algorithms.size()), "a single algorithm");
  }
  if (o.format == output_format::csv)
    problems.push_back(
        {"--format", "is not available for a diagnosis", "csv", "table, which is text, or json"});
  if (!problems.empty()) throw user_error(std::move(problems));
}

/// Reports the flags that experiments ignore: a user may add --diagnose to any command line that failed.
void report_left_out_flags(const options& o) {
  std::vector<std::string> flags;
  for (const auto& [flag, path] : flag_files{
           {"--vcd", o.vcd}, {"--timeline", o.timeline}, {"--record", o.record}, {"--verify", o.verify}})
    if (!path.empty()) flags.push_back(flag);
  if (o.double_run) flags.emplace_back("--double-run");
  if (!flags.empty()) platforms::warn(fmt::format("--diagnose leaves out {}", config::join(flags)));
}

/// The arguments without settings of faults, and those settings, which only experiments get.
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

/// Texts of the pipes among the arguments, by path: experiments cannot read a pipe again.
std::map<std::string, std::string> read_once(int argc, char** argv) {
  std::map<std::string, std::string> texts;
  for (const platforms::input_file& input : platforms::inputs()) {
    if (input.identity || !input.failure.empty()) continue;
    const std::string path = input.path.string();
    const auto names_it = [&path](std::string_view word) {
      return word == path || word.ends_with("=" + path);
    };
    if (std::none_of(argv + 1, argv + argc, names_it))
      throw user_error(problem{"--diagnose",
                               fmt::format("{} reads a file that cannot be read again", input.reader), path,
                               "a regular file: every experiment reads it"});
    texts[path] = input.text;
  }
  return texts;
}

diagnose::diagnosis diagnosis_of(const diagnose::target& who) {
  try {
    return diagnose::examine(who);
  } catch (const diagnose::no_room& e) {
    throw output_error(e.what());
  } catch (const diagnose::no_resources& e) {
    throw resource_error(e.what());
  }
}

}  // namespace

/// Experiments are runs of this program: a diagnosis gets its path and the flags, and no config.
int run_diagnosis(const options& o, const config::machine_config& config, int argc, char** argv) {
  check_one_run(o);
  options with_folder = o;
  if (o.out.empty()) with_folder.out = "diagnosis";
  if (!o.point.workload.empty())
    (void)platforms::read_input("--workload", o.point.workload);  // read before outputs are opened
  const auto out = open_outputs(with_folder, platforms::dump_config(config), {});
  report_left_out_flags(o);
  auto [arguments, faults] = without_faults(argc, argv);
  const bool withheld = !faults.empty();
  faults.emplace_back("--hide-faults");
  diagnose::target who{std::filesystem::read_symlink("/proc/self/exe").string(),
                       std::move(arguments),
                       o.point.collective,
                       o.algorithms.empty() ? "" : o.algorithms.front(),
                       o.bytes.front(),
                       std::move(faults),
                       withheld};
  who.kept_in = with_folder.out;
  who.interrupted = [] { return platforms::interrupt_signal() != 0; };
  who.config_sha256 = platforms::config_sha256(config);
  who.read_once = read_once(argc, argv);
  const diagnose::diagnosis found = diagnosis_of(who);
  if (o.format == output_format::json) {
    print(found.json);
  } else if (!o.quiet) {
    print(found.text);
  }
  for (const auto& [name, text] : found.files) out->write(name, std::string(platforms::job_head) + text);
  out->write("diagnosis.txt", found.text);
  out->complete("diagnosis.json", found.json);
  if (platforms::interrupt_signal() == 0) return found.exit_code;
  platforms::warn("interrupted: the diagnosis is of the experiments made until then");
  return 128 + platforms::interrupt_signal();
}

}  // namespace diecast::app
