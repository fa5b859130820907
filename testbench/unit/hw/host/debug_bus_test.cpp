// SPDX-License-Identifier: Apache-2.0
#include "launch_bench.hpp"
#include "support/machines.hpp"
#include "support/sc_fixture.hpp"
#include "support/test.hpp"

using namespace diecast;
using namespace diecast::test;

namespace {

config::machine_config two_sips() {
  config::machine_config c = machine_of({2, 2, 1, 2});
  c.hbm.ports = 1;
  return c;
}

/// The fault of a run whose host of SIP 0 reads eight bytes at `from`.
std::string fault_of_read(diecast::abi::address from) {
  launch_bench bench(two_sips(), [from](diecast::abi::host_hal& host, launch_bench&) {
    std::array<std::byte, 8> bytes{};
    if (host.self() == sip_id{0}) host.debug_read(from, bytes);
  });
  bench.fabric.faults.expected = true;
  run_to_starvation();
  return bench.fault();
}

}  // namespace

TEST_CASE("debug bus: an access reaches the block at its address, with the whole address, in no time") {
  const diecast::abi::address tcm =
      diecast::abi::encode({sip_id{1}, cube_id{1}, diecast::abi::region::tcm, 1, 0x40});
  const pe_coord pe{sip_id{1}, cube_id{1}, pe_id{1}};
  std::array<std::byte, 3> read{};
  launch_bench bench(two_sips(), [&](diecast::abi::host_hal& host, launch_bench&) {
    if (host.self() != sip_id{1}) return;
    host.debug_read(tcm, read);
    host.debug_write_register(pe, 0x10, 5);
    host.debug_write(tcm, read);
    host.debug_write(tcm, {});
  });
  CHECK(run_to_starvation() == sim_time{});
  CHECK(bench.fault() == "");
  CHECK(read == std::array{std::byte{1}, std::byte{1}, std::byte{1}});
  for (const auto& p : bench.pes) {
    if (p->self() == pe) {
      const diecast::abi::address reg =
          diecast::abi::encode({pe.sip, pe.cube, diecast::abi::region::pe_registers, 1, 0x10});
      CHECK(p->debug_addresses == std::vector<diecast::abi::address>{tcm, reg, tcm});
    } else {
      CHECK(p->debug_addresses.empty());
    }
  }
}

TEST_CASE("debug bus: an address nobody answers to is an error that names it") {
  const std::string fault =
      fault_of_read(diecast::abi::encode({sip_id{0}, cube_id{1}, diecast::abi::region::sram, 0, 0x80}));
  CHECK_THAT(fault, Catch::StartsWith("pod_sip0_debug_bus: no block of sip 0 answers at 0x00014"));
  CHECK_THAT(fault, Catch::Contains("sip0 cube1 sram[0]+0x80"));
}

TEST_CASE("debug bus: an address of another SIP is an error that names it") {
  CHECK_THAT(fault_of_read(diecast::abi::encode({sip_id{1}, cube_id{0}, diecast::abi::region::tcm, 0, 0})),
             Catch::Contains("no block of sip 0 answers at") && Catch::Contains("sip1 cube0 tcm[0]"));
}

TEST_CASE("debug bus: an address that does not decode is an error") {
  CHECK_THAT(fault_of_read(0), Catch::Contains("no block of sip 0 answers at"));
}

TEST_CASE("debug bus: bytes a block did not move are an error that names the address") {
  CHECK_THAT(
      fault_of_read(diecast::abi::encode({sip_id{0}, cube_id{0}, diecast::abi::region::tcm, 1, 0x1000})),
      Catch::Contains("sip0 cube0 tcm[1]+0x1000") && Catch::Contains("moved 0 bytes (expected 8)"));
}

TEST_CASE("debug bus: two blocks at one address are refused") {
  launch_bench bench(two_sips(), [](diecast::abi::host_hal&, launch_bench&) {});
  CHECK_THROWS_WITH(bench.buses[0]->attach(cube_id{1}, diecast::abi::region::tcm, 1, *bench.pes[0]),
                    Catch::Contains("two blocks answer at") && Catch::Contains("sip0 cube1 tcm[1]"));
}
