// SPDX-License-Identifier: Apache-2.0
#include "platforms/app/run_report.hpp"

#include <filesystem>
#include <fmt/format.h>

#include "models/types/error.hpp"
#include "platforms/io/input.hpp"

namespace diecast::app {
platforms::result_context context_of(const std::string& binary, const config::machine_config& c,
                                     std::vector<platforms::unread_key> unread, int argc, char** argv,
                                     const machine_shape& shape) {
  return {binary, DIECAST_VERSION,  platforms::config_sha256(c), c.sim.seed, {argv, argv + argc},
          shape,  std::move(unread)};
}

std::unique_ptr<platforms::output_dir> open_outputs(const common_options& options, const std::string& config,
                                                    flag_files written) {
  std::erase_if(written, [](const auto& file) { return file.second.empty(); });
  std::vector<problem> problems;
  std::vector<std::filesystem::path> named;
  for (const auto& [flag, file] : written) {
    named.emplace_back(file);
    if (const platforms::input_file* input = platforms::input_at(file))
      problems.push_back(
          {flag, fmt::format("would overwrite what {} reads", input->reader), file, "another file"});
  }
  if (!problems.empty()) throw user_error(std::move(problems));
  if (options.out.empty()) return try_files(written), nullptr;
  return std::make_unique<platforms::output_dir>(options.out, config, named, [&] { try_files(written); });
}

}  // namespace diecast::app
