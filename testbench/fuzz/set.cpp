// SPDX-License-Identifier: Apache-2.0
// --set: one assignment per line.
#include <sstream>

#include "platforms/config_io/config_json.hpp"
#include "testbench/fuzz/fuzz.hpp"

using namespace diecast;

FUZZ_TARGET(text) {
  platforms::config_request request;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) request.sets.push_back(line);
  const std::string dump = platforms::dump_config(platforms::load_config(request).config);
  const fuzz::memory_file dumped(dump);
  fuzz::require(platforms::dump_config(platforms::load_config({dumped.path(), {}, {}}).config) == dump,
                "a dumped config is read as what it was");
}
