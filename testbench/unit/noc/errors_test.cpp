// SPDX-License-Identifier: Apache-2.0
// A fabric that cannot work is refused with everything that is wrong with it.
#include "models/types/error.hpp"
#include "support/test.hpp"
#include "traffic.hpp"

namespace diecast::test {
namespace {

std::vector<std::string> problems_of(const config::machine_config& c) {
  std::vector<std::string> where;
  try {
    const fabric_bench bench(c);
  } catch (const user_error& e) {
    for (const problem& p : e.problems()) where.push_back(p.where);
  }
  return where;
}

TEST_CASE("a NoC without walls or buffers is refused with all problems") {
  config::machine_config c = small_machine(1, 1, 1);
  c.noc.link_cycles = 0;
  c.noc.ni_out_cycles = 0;
  c.noc.vc_buffer_flits = 16;
  CHECK(problems_of(c) ==
        std::vector<std::string>{"noc.link_cycles", "noc.ni_out_cycles", "noc.vc_buffer_flits"});
}

TEST_CASE("a die-to-die link below one cycle or a packet is refused") {
  config::machine_config c = small_machine(1, 2, 1);
  c.ucie.latency_ns = 0.5;
  c.ucie.buffer_flits = 16;
  CHECK(problems_of(c) == std::vector<std::string>{"ucie.latency_ns", "ucie.buffer_flits"});
}

TEST_CASE("a packet longer than the NoC's buffer is refused where it is sent") {
  fabric_bench bench(small_machine(1, 1, 1));
  hw::packet_pool pool;
  hw::packet_ptr p = pool.make();
  p->header.payload_bytes = 64 * 1024;
  CHECK_THROWS_AS(bench.at({0, 0, 0}).port.send(p, abi::traffic_class::comm), protocol_error);
}

}  // namespace
}  // namespace diecast::test
