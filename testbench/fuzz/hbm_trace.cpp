// SPDX-License-Identifier: Apache-2.0
// diecast-hbm --pattern replay:FILE
#include "platforms/hbm/study.hpp"
#include "testbench/fuzz/fuzz.hpp"

using namespace diecast;

FUZZ_TARGET(text) {
  const config::hbm_block hbm;
  const fuzz::memory_file file(text);
  for (const auto& channel : hbm::read_replay(file.path(), hbm).channels) {
    for (const auto& r : channel)
      fuzz::require(r.bytes <= (hbm.port_mib << 20) - r.address, "a request is within its channel");
  }
}
