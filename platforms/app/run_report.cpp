// SPDX-License-Identifier: Apache-2.0
#include "platforms/app/run_report.hpp"

#include <filesystem>
#include <fmt/format.h>

#include "models/types/error.hpp"
#include "platforms/io/config_read.hpp"
#include "platforms/io/read_file.hpp"

namespace diecast::app {
namespace {

void refuse_lost_inputs(const common_options& options, const std::string& config, flag_files read) {
  if (!options.config.empty()) {
    for (const auto& file : platforms::config_chain(options.config)) read.emplace_back("--config", file);
  }
  std::vector<problem> problems;
  for (const auto& [flag, file] : read) {
    if (file.empty() || !platforms::would_lose(options.out, file)) continue;
    // What an earlier run wrote and this one writes again, letter by letter, is not lost.
    const bool is_config = std::filesystem::path(file).filename() == "config.json";
    if (is_config && platforms::read_file(file).text == config) continue;
    problems.push_back(
        {"--out", fmt::format("would overwrite what {} reads", flag), file, "another directory"});
  }
  if (!problems.empty()) throw user_error(std::move(problems));
}

}  // namespace

platforms::result_context context_of(const std::string& binary, const config::machine_config& c,
                                     std::vector<platforms::unread_key> unread, int argc, char** argv,
                                     const machine_shape& shape) {
  return {binary, DIECAST_VERSION,  platforms::config_sha256(c), c.sim.seed, {argv, argv + argc},
          shape,  std::move(unread)};
}

std::unique_ptr<platforms::output_dir> open_out(const common_options& options, const std::string& config,
                                                const flag_files& written, flag_files read) {
  std::vector<std::filesystem::path> named;
  for (const auto& [flag, file] : written) named.emplace_back(file);
  for (const auto& [flag, file] : read) {
    if (flag == "--verify") named.emplace_back(file);
  }
  refuse_lost_inputs(options, config, std::move(read));
  auto out = std::make_unique<platforms::output_dir>(options.out, named, [&] { try_files(written); });
  out->write("config.json", config);
  return out;
}

}  // namespace diecast::app
