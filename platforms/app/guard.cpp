// SPDX-License-Identifier: Apache-2.0
#include "platforms/app/guard.hpp"

#include <cstdio>
#include <string>

#include "models/types/error.hpp"
#include "platforms/io/standard_streams.hpp"

namespace diecast::app {

using platforms::run_status;

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

int exit_code_of(const std::function<int()>& body) {
  try {
    const int code = body();
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
    platforms::tell("standard output: cannot be written");
    const int internal = platforms::exit_code(run_status::internal);
    return code == internal ? internal : platforms::output_failed;
  } catch (const user_error& e) {
    platforms::tell(e.what());
    return platforms::exit_code(run_status::error);
  } catch (const output_error& e) {
    platforms::tell(e.what());
    return platforms::output_failed;
  } catch (const std::exception& e) {
    platforms::tell(std::string("internal error: ") + e.what());
    return platforms::exit_code(run_status::internal);
  }
}

}  // namespace diecast::app
