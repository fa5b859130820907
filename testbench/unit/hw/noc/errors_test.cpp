// SPDX-License-Identifier: Apache-2.0
// A fabric that cannot work is refused with everything that is wrong with it.
#include <initializer_list>
#include <stdexcept>

#include "hw/noc/switch_core.hpp"
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

TEST_CASE("a NoC without interface latency or buffers is refused with all problems") {
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

TEST_CASE("routers whose ports are apart are refused: their requests would lie in those of others") {
  struct nothing : hw::switch_core::environment {
    hw::switch_core::hop route(std::uint16_t, std::uint16_t, std::uint8_t) const override { return {}; }
    void eject(const hw::switch_core::departure&, hw::packet_ptr&&) override {}
    void delay(std::uint32_t, std::uint8_t, std::uint64_t) override {}
    void return_credit(std::uint32_t, std::uint8_t, std::uint32_t, std::uint64_t) override {}
    void occupied(std::uint32_t, std::uint8_t, std::uint32_t, std::uint64_t, std::uint64_t) override {}
  } around;
  const auto ports_of = [](std::initializer_list<std::uint16_t> routers) {
    hw::switch_core::parameters p;
    for (const std::uint16_t r : routers) p.ports.emplace_back().router = r;
    return p;
  };
  CHECK_NOTHROW(hw::switch_core(ports_of({3, 3, 0, 1, 1}), around));
  CHECK_THROWS_WITH(hw::switch_core(ports_of({0, 0, 1, 0}), around),
                    Catch::Contains("port 3 is of router 0"));
  CHECK_THROWS_AS(hw::switch_core(ports_of({0, 1, 2, 1}), around), std::logic_error);
}

}  // namespace
}  // namespace diecast::test
