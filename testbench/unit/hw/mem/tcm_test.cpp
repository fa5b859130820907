// SPDX-License-Identifier: Apache-2.0
#include "hw/mem/tcm.hpp"

#include <algorithm>
#include <cstring>
#include <malloc.h>
#include <memory>
#include <string>
#include <vector>

#include "models/types/error.hpp"
#include "support/faults.hpp"
#include "support/sc_fixture.hpp"
#include "support/test.hpp"

using namespace diecast;
using hw::tcm_port;
using hw::tcm_request;

namespace {

/// Posts requests at given cycles and keeps the cycle each one finished.
class tcm_bench : public sc_core::sc_module, public hw::tcm_client {
 public:
  SC_HAS_PROCESS(tcm_bench);
  explicit tcm_bench(const config::machine_config& c = {}) : tcm_bench(sc_core::sc_module_name("bench"), c) {}
  tcm_bench(sc_core::sc_module_name n, const config::machine_config& c)
      : sc_module(n), dut("tcm", c, 3, faults) {
    SC_METHOD(post_all);
  }
  struct posted {
    std::uint64_t cycle;
    tcm_request request;
  };
  std::vector<posted> posts;
  std::vector<std::uint64_t> finish;  ///< by tag
  std::vector<std::uint64_t> order;   ///< tags in order of arbitration
  test::watched_faults faults;
  hw::tcm dut;
  hw::tcm_if* access{&dut};

  std::uint64_t post(std::uint64_t cycle, tcm_port port, std::uint64_t offset, std::uint64_t bytes,
                     bool write, std::byte* data = nullptr) {
    const std::uint64_t tag = posts.size();
    posts.push_back({cycle, {port, offset, bytes, write, data, tag, this}});
    return tag;
  }
  void run() {
    finish.assign(posts.size(), 0);
    test::run_to_starvation();
  }
  void tcm_done(std::uint64_t tag, sim_time at) override {
    CHECK(at.fs % 1'000'000 == 0);
    finish[tag] = at.fs / 1'000'000;
    order.push_back(tag);
  }

 private:
  void post_all() {
    for (const posted& p : posts) access->request(p.request, nanoseconds(static_cast<double>(p.cycle)));
  }
};

}  // namespace

TEST_CASE("tcm: one block takes one cycle, a read 8 more") {
  tcm_bench b;
  const auto w = b.post(10, tcm_port::core, 64, 16, true);
  const auto r = b.post(20, tcm_port::core, 64, 16, false);
  const auto unaligned = b.post(30, tcm_port::core, 8, 16, true);  // halves of two blocks in two banks
  b.run();
  CHECK(b.finish[w] == 11);
  CHECK(b.finish[r] == 29);
  CHECK(b.finish[unaligned] == 31);
}

TEST_CASE("tcm: 32 banks of 16 bytes move 512 bytes per cycle") {
  tcm_bench b;
  const auto all = b.post(10, tcm_port::dma_write, 0, 512, true);
  const auto more = b.post(100, tcm_port::dma_write, 0, 1024, true);
  const auto over = b.post(200, tcm_port::dma_write, 0, 1040, true);
  b.run();
  CHECK(b.finish[all] == 11);
  CHECK(b.finish[more] == 102);
  CHECK(b.finish[over] == 203);
}

TEST_CASE("tcm: disjoint banks do not disturb each other, a common bank serves in port order") {
  tcm_bench b;
  const auto dma = b.post(10, tcm_port::dma_write, 512, 64, true);  // banks 0..3, posted first
  const auto vector = b.post(10, tcm_port::vector, 0, 64, true);    // banks 0..3
  const auto other = b.post(10, tcm_port::dma_read, 64, 64, true);  // banks 4..7
  const auto core = b.post(10, tcm_port::core, 1024, 16, true);     // bank 0
  b.run();
  CHECK(b.finish[core] == 11);
  CHECK(b.finish[vector] == 12);
  CHECK(b.finish[other] == 11);
  CHECK(b.finish[dma] == 13);
  CHECK(b.order == std::vector<std::uint64_t>{core, vector, other, dma});
  CHECK(b.dut.statistics().wait_cycles == 1 + 2);
}

TEST_CASE("tcm: accesses to one bank are served one per cycle") {
  tcm_bench b;
  for (unsigned i = 0; i < 40; ++i) b.post(10, tcm_port::core, 512 * i, 16, true);
  b.run();
  for (unsigned i = 0; i < 40; ++i) CHECK(b.finish[i] == 11 + i);
  CHECK(b.dut.busy_bank_cycles() == 40);
}

TEST_CASE("tcm: streams saturate at banks x bank_bytes per cycle") {
  tcm_bench b;
  constexpr std::uint64_t packets = 1000;
  for (std::uint64_t i = 0; i < packets; ++i) {
    b.post(10, tcm_port::dma_read, i * 512 % 65536, 512, true);
    b.post(10, tcm_port::dma_write, (i * 512 + 32768) % 65536, 512, true);
  }
  b.run();
  CHECK(*std::max_element(b.finish.begin(), b.finish.end()) == 10 + 2 * packets);
  CHECK(b.dut.statistics().bytes_written == 1024 * packets);
}

TEST_CASE("tcm: an unaligned instant is served at the next edge") {
  tcm_bench b;
  struct poster : sc_core::sc_module {
    tcm_bench& b;
    SC_HAS_PROCESS(poster);
    poster(sc_core::sc_module_name n, tcm_bench& owner) : sc_module(n), b(owner) { SC_METHOD(go); }
    void go() { b.access->request({tcm_port::core, 0, 16, true, nullptr, 0, &b}, picoseconds(10'300)); }
  } p("poster", b);
  b.finish.assign(1, 0);
  test::run_to_starvation();
  CHECK(b.finish[0] == 12);
}

TEST_CASE("tcm: bytes move at arbitration, in port order") {
  tcm_bench b;
  std::vector<std::byte> first(32, std::byte{1}), second(32, std::byte{2}), out(32), late(32);
  b.post(10, tcm_port::dma_write, 100, 32, true, second.data());
  b.post(10, tcm_port::vector, 100, 32, true, first.data());
  b.post(10, tcm_port::dma_read, 100, 32, false, out.data());
  b.post(11, tcm_port::core, 100, 32, false, late.data());
  b.run();
  CHECK(out == first);
  CHECK(late == second);
}

TEST_CASE("tcm: the backdoor takes physical addresses of its own PE only") {
  tcm_bench b;
  std::vector<unsigned char> in{1, 2, 3, 4}, out(4);
  tlm::tlm_generic_payload t;
  const auto access = [&](tlm::tlm_command c, std::uint32_t unit, diecast::abi::region kind,
                          std::vector<unsigned char>& data) {
    t.set_command(c);
    t.set_address(diecast::abi::encode({sip_id{1}, cube_id{2}, kind, unit, 0x1234}));
    t.set_data_ptr(data.data());
    t.set_data_length(static_cast<unsigned>(data.size()));
    return b.dut.on_debug(t);
  };
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  CHECK(access(tlm::TLM_WRITE_COMMAND, 3, diecast::abi::region::tcm, in) == 4);
  CHECK(access(tlm::TLM_READ_COMMAND, 3, diecast::abi::region::tcm, out) == 4);
  CHECK(out == in);
  std::vector<std::byte> direct(4);
  b.access->debug_read(0x1234, direct);
  CHECK(std::memcmp(direct.data(), in.data(), 4) == 0);
  CHECK_THROWS_WITH(access(tlm::TLM_READ_COMMAND, 4, diecast::abi::region::tcm, out),
                    Catch::Contains("bench.tcm"));
  CHECK_THROWS_AS(access(tlm::TLM_READ_COMMAND, 3, diecast::abi::region::hbm, out), protocol_error);
}

TEST_CASE("tcm: an access outside, of nothing or posted too late is refused by name") {
  tcm_bench b;
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  const tcm_request outside{tcm_port::core, 1464 * 1024 - 8, 16, true, nullptr, 0, &b};
  const tcm_request nothing{tcm_port::core, 0, 0, true, nullptr, 0, &b};
  const tcm_request fine{tcm_port::core, 0, 16, true, nullptr, 0, &b};
  CHECK_THROWS_WITH(b.access->request(outside, nanoseconds(5)),
                    Catch::Contains("bench.tcm") && Catch::Contains("0x16dff8"));
  CHECK_THROWS_AS(b.access->request(nothing, nanoseconds(5)), protocol_error);
  CHECK_THROWS_WITH(b.access->request(fine, picoseconds(999)), Catch::Contains("too late"));
}

TEST_CASE("tcm: strict memory ends the run as a fault") {
  config::machine_config c;
  c.sim.strict_memory = true;
  tcm_bench b(c);
  b.faults.expected = true;
  std::vector<std::byte> out(32);
  b.post(10, tcm_port::vector, 4096, 32, false, out.data());
  b.run();
  REQUIRE(b.faults.fault());
  CHECK_THROWS_WITH(std::rethrow_exception(b.faults.fault()),
                    Catch::Contains("bench.tcm") && Catch::Contains("0x1000"));
}

namespace {

/// As in a SIP: one agenda for all.
class sip_of_tcms : public sc_core::sc_module, public hw::agenda_owner {
 public:
  sip_of_tcms(sc_core::sc_module_name module_name, unsigned instances, const config::machine_config& c,
              hw::fault_sink& faults)
      : sc_module(module_name) {
    for (unsigned i = 0; i < instances; ++i)
      all_.push_back(std::make_unique<hw::tcm>(("tcm" + std::to_string(i)).c_str(), c, 0, faults));
  }
  [[nodiscard]] hw::agenda& timed_work() override { return agenda_; }

 private:
  hw::agenda agenda_{"agenda"};
  std::vector<std::unique_ptr<hw::tcm>> all_;
};

}  // namespace

TEST_CASE("tcm: a module costs a few kilobytes") {
  const config::machine_config c;
  test::watched_faults faults;
  const auto before = mallinfo2().uordblks + mallinfo2().hblkhd;
  constexpr unsigned instances = 2048;
  const sip_of_tcms sip("sip", instances, c, faults);
  const auto each = (mallinfo2().uordblks + mallinfo2().hblkhd - before) / instances;
  INFO("bytes per module: " << each);
  CHECK(each < 8192);
}
