// SPDX-License-Identifier: Apache-2.0
#include "platforms/app/guard.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "models/types/error.hpp"
#include "platforms/io/standard_streams.hpp"
#include "platforms/io/whole_file.hpp"
#include "platforms/run/fault_text.hpp"

namespace diecast::app {

using platforms::run_status;

namespace {

bool reader_gone = false;  ///< standard output is a pipe whose reader has read what it wanted (head -1)

void note_failure(bool failed) {
  if (failed && errno == EPIPE) reader_gone = true;
}

/// Leaves the kind of each problem, and the PEs it concerns, in the file that DIECAST_PROBLEMS of the
/// environment names: a refused input has no result.
void record_problems(const user_error& e) {
  const char* const file = std::getenv("DIECAST_PROBLEMS");
  if (file == nullptr) return;
  nlohmann::json list = nlohmann::json::array();
  for (const problem& p : e.problems()) list.push_back({{"kind", to_string(p.kind)}, {"pes", p.pes}});
  platforms::write_whole_file(file, list.dump());
}

/// Tells a refused input. Its record is written first: what keeps that from being written is told instead.
int refused(const user_error& e) {
  try {
    record_problems(e);
  } catch (const output_error& lost) {
    platforms::tell(lost.what());
    return platforms::output_failed;
  }
  platforms::tell(e.what());
  return platforms::exit_code(run_status::error);
}

}  // namespace

void print(const std::string& text) {
  errno = 0;
  note_failure(std::fwrite(text.data(), 1, text.size(), stdout) < text.size());
}

void flush() {
  errno = 0;
  note_failure(std::fflush(stdout) != 0);
}

int exit_code_of(const std::function<int()>& body) {
  try {
    const int code = body();
    flush();
    if (reader_gone || std::ferror(stdout) == 0) return code;
    platforms::tell("standard output: cannot be written");
    const int internal = platforms::exit_code(run_status::internal);
    return code == internal ? internal : platforms::output_failed;
  } catch (const user_error& e) {
    return refused(e);
  } catch (const output_error& e) {
    platforms::tell(e.what());
    return platforms::output_failed;
  } catch (const std::exception&) {
    const platforms::fault_text why = platforms::explain(std::current_exception());
    const bool system = why.status == run_status::system;
    platforms::tell((system ? "the system refuses: " : "internal error: ") + why.message);
    return platforms::exit_code(system ? run_status::system : run_status::internal);
  }
}

}  // namespace diecast::app
