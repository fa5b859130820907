// SPDX-License-Identifier: Apache-2.0
// --config: an accepted file is read again from its dump as the same machine.
#include "platforms/config_io/config_json.hpp"
#include "testbench/fuzz/fuzz.hpp"

using namespace diecast;

FUZZ_TARGET(text) {
  const fuzz::memory_file file(text);
  const std::string dump = platforms::dump_config(platforms::load_config({file.path(), {}, {}}).config);
  const fuzz::memory_file dumped(dump);
  fuzz::require(platforms::dump_config(platforms::load_config({dumped.path(), {}, {}}).config) == dump,
                "a dumped config is read as what it was");
}
