// SPDX-License-Identifier: Apache-2.0
#include "platforms/app/diagnosis.hpp"

#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <optional>

#include "models/types/error.hpp"
#include "platforms/diagnose/doctor.hpp"
#include "platforms/io/output_dir.hpp"

namespace diecast::app {
namespace {

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
  if (!problems.empty()) throw user_error(std::move(problems));
}

}  // namespace

/// The experiments are runs of this program; the doctor is given its path and the flags, nothing else.
int run_diagnosis(const options& o, const std::string& config, int argc, char** argv) {
  check_one_run(o);
  std::optional<platforms::output_dir> out;
  if (!o.out.empty()) {
    out.emplace(o.out);
    out->write("config.json", config);
  }
  const diagnose::patient who{std::filesystem::read_symlink("/proc/self/exe").string(),
                              {argv + 1, argv + argc},
                              o.collective,
                              o.algorithms.empty() ? "" : o.algorithms.front(),
                              o.bytes.front()};
  const diagnose::diagnosis found = diagnose::examine(who);
  if (o.format == output_format::json) {
    std::fwrite(found.json.data(), 1, found.json.size(), stdout);
  } else if (!o.quiet) {
    std::fwrite(found.text.data(), 1, found.text.size(), stdout);
  }
  const auto write = [&](const char* name, const std::string& text) {
    if (out) return out->write(name, text);
    if (!(std::ofstream(name) << text << std::flush)) {
      throw output_error(fmt::format("{}: cannot be written", name));
    }
  };
  write("diagnosis.json", found.json);
  write("diagnosis.txt", found.text);
  return found.exit_code;
}

}  // namespace diecast::app
