// SPDX-License-Identifier: Apache-2.0
#include "platforms/app/run_report.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/resource.h>

#include "models/types/error.hpp"
#include "platforms/files/input.hpp"

namespace diecast::app {

using platforms::run_status;

namespace {

bool reader_gone = false;  ///< standard output is a pipe whose reader has ended (head -1)

void note_failure(bool failed) {
  if (failed && errno == EPIPE) reader_gone = true;
}

/// Writes the kind of each problem, and the PEs that it concerns, to the file named by the environment
/// variable DIECAST_PROBLEMS, because a refused input has no result file.
void record_problems(const user_error& e) {
  const char* const file = std::getenv("DIECAST_PROBLEMS");
  if (file == nullptr) return;
  nlohmann::json list = nlohmann::json::array();
  for (const problem& p : e.problems()) list.push_back({{"kind", to_string(p.kind)}, {"pes", p.pes}});
  platforms::write_whole_file(file, list.dump());
}

/// Prints why an input is refused. Writes the record first; an error of writing is printed instead.
int refused(const user_error& e) {
  try {
    record_problems(e);
  } catch (const output_error& lost) {
    platforms::warn(lost.what());
    return platforms::output_failed;
  }
  platforms::warn(e.what());
  return platforms::exit_code(run_status::error);
}

/// Checks the stack limit, because the operating system kills a program that exceeds it without a message.
void need_stack() {
  constexpr rlim_t least_kib = 256;
  rlimit limit{};
  if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < least_kib << 10)
    throw resource_error(
        fmt::format("a stack of {} KiB; expected at least {} (ulimit -s)", limit.rlim_cur >> 10, least_kib));
}

}  // namespace

void print(const std::string& text) {
  errno = 0;
  const std::string shown = platforms::visible(text);
  note_failure(std::fwrite(shown.data(), 1, shown.size(), stdout) < shown.size());
}

void flush() {
  errno = 0;
  note_failure(std::fflush(stdout) != 0);
}

bool inform(const common_options& o, const std::string& binary, const std::string& help,
            const std::function<std::string()>& list) {
  if (o.help) return print(help), true;
  if (o.version) return print(fmt::format("{} {}\n", binary, DIECAST_VERSION)), true;
  if (o.schema) return print(platforms::config_schema()), true;
  if (!o.list.empty()) return print(list()), true;
  return false;
}

int exit_code_of(const std::function<int()>& body) {
  try {
    need_stack();
    const int code = body();
    flush();
    if (reader_gone || std::ferror(stdout) == 0) return code;
    platforms::warn("standard output: cannot be written");
    const int internal = platforms::exit_code(run_status::internal);
    return code == internal ? internal : platforms::output_failed;
  } catch (const user_error& e) {
    return refused(e);
  } catch (const output_error& e) {
    platforms::warn(e.what());
    return platforms::output_failed;
  } catch (const std::exception&) {
    const platforms::fault_text why = platforms::explain(std::current_exception());
    const bool system = why.status == run_status::system;
    platforms::warn((system ? "the system refuses: " : "internal error: ") + why.message);
    return platforms::exit_code(system ? run_status::system : run_status::internal);
  }
}

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
  platforms::install_signal_handlers();  // from here on a signal ends the runs only
  if (options.out.empty()) return try_files(written), nullptr;
  return std::make_unique<platforms::output_dir>(options.out, config, named, [&] { try_files(written); });
}

}  // namespace diecast::app
