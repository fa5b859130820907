// SPDX-License-Identifier: Apache-2.0
// What an IPCQ slot costs in each memory of the seed machine: TCM 512 GB/s + 0 ns;
// SRAM 512 GB/s + 2 ns behind a router link of 128 GB/s; HBM 256 GB/s + 6 ns behind a router link.
#include <memory>
#include <vector>

#include "hw/hbm/hbm_controller.hpp"
#include "hw/mem/memory_target.hpp"
#include "hw/mem/tcm.hpp"
#include "hw/traffic/memory_traffic.hpp"
#include "platforms/config_io/config_json.hpp"
#include "support/faults.hpp"
#include "support/sc_fixture.hpp"
#include "support/test.hpp"

using namespace diecast;

namespace {

config::machine_config seed_machine() {
  return platforms::load_config({platforms::configs_dir() / "seed_machine.json", {}, {}}).config;
}

/// Time of one access of a slot, at the memory's own socket.
template <class Memory>
double slot_ns(Memory& memory, hw::fault_sink& faults, std::uint64_t bytes, bool write) {
  const std::vector<traffic::memory_request> list{{0, static_cast<std::uint32_t>(bytes), write, {}}};
  traffic::recorded_requests source(list);
  hw::memory_traffic initiator("initiator", {hw::memory_pacing::kind::closed, 0, 1}, source, false, faults);
  initiator.socket.bind(memory.socket);
  test::run_to_starvation();
  CHECK(initiator.finished());
  return initiator.statistics().last_response.ns();
}

class tcm_bench : public sc_core::sc_module, public hw::tcm_client {
 public:
  SC_HAS_PROCESS(tcm_bench);
  tcm_bench(sc_core::sc_module_name n, const config::machine_config& c, bool write)
      : sc_module(n), dut("tcm", c, 0, faults), bytes_(c.ipcq.slot_bytes), write_(write) {
    SC_METHOD(post);
  }
  test::watched_faults faults;
  hw::tcm dut;
  hw::tcm_if* access{&dut};
  double finish_ns{};

 private:
  void post() {
    access->request({hw::tcm_port::dma_read, 0, bytes_, write_, nullptr, 0, this}, nanoseconds(1));
  }
  void tcm_done(std::uint64_t, sim_time finish) override { finish_ns = finish.ns(); }
  std::uint64_t bytes_;
  bool write_;
};

}  // namespace

TEST_CASE("slot cost on the seed machine: SRAM, 512 GB/s and 2 ns") {
  const auto c = seed_machine();
  test::watched_faults faults;
  hw::simple_memory sram("sram", c.sram, false, faults);
  CHECK(slot_ns(sram, faults, c.ipcq.slot_bytes, true) == Approx(4096.0 / 512 + 2));
}

TEST_CASE("slot cost on the seed machine: HBM, 256 GB/s and 6 ns") {
  const auto c = seed_machine();
  test::watched_faults faults;
  const auto hbm = hw::make_hbm("hbm", c.hbm, false, faults);
  CHECK(slot_ns(*hbm, faults, c.ipcq.slot_bytes, false) == Approx(4096.0 / 256 + 6));
}

TEST_CASE("slot cost on the seed machine: TCM, 512 GB/s and the cycle that every interface costs") {
  const auto c = seed_machine();
  tcm_bench b("bench", c, true);
  test::run_to_starvation();
  CHECK(b.finish_ns - 1 == Approx(4096.0 / 512));
}

TEST_CASE("slot cost on the seed machine: reading a slot in TCM adds one cycle") {
  const auto c = seed_machine();
  tcm_bench b("bench", c, false);
  test::run_to_starvation();
  CHECK(b.finish_ns - 1 == Approx(4096.0 / 512 + 1));
}

TEST_CASE("slot cost on the seed machine: the router link before a memory carries 128 GB/s") {
  const auto c = seed_machine();
  CHECK(static_cast<double>(c.noc.flit_bytes) * c.noc.clock_ghz == Approx(128));
}
