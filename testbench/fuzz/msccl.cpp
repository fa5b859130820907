// SPDX-License-Identifier: Apache-2.0
// --workload, MSCCL XML and plans: an accepted program can be checked and loaded into each rank.
#include "platforms/config_io/msccl_xml.hpp"
#include "testbench/fuzz/fuzz.hpp"

using namespace diecast;

FUZZ_TARGET(text) {
  const comm::program p = (text.starts_with('{') ? platforms::parse_mscclpp(text, "input")
                                                 : platforms::parse_msccl(text, "input"))
                              .program;
  (void)comm::check_program(p);
  const comm::program_wiring wiring = comm::wire(p);
  for (std::uint32_t rank = 0; rank < static_cast<std::uint32_t>(p.ranks); ++rank) {
    const auto words = comm::encode(comm::image_of(p, wiring, rank));
    fuzz::require(comm::encode(comm::decode_program_image(words)) == words,
                  "an image decodes to what it was");
  }
}
