// SPDX-License-Identifier: Apache-2.0
// diecast-noc --traffic replay:FILE
#include "platforms/noc/study.hpp"
#include "testbench/fuzz/fuzz.hpp"

using namespace diecast;

FUZZ_TARGET(text) {
  constexpr std::uint32_t nodes = 16;
  const fuzz::memory_file file(text);
  for (const auto& p : noc::read_replay(file.path(), nodes).packets)
    fuzz::require(p.source < nodes && p.destination < nodes, "packets are between nodes of the network");
}
