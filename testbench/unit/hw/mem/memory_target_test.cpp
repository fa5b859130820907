// SPDX-License-Identifier: Apache-2.0
// The target half of the base protocol, on the SRAM.
#include "hw/mem/memory_target.hpp"

#include <vector>

#include "at_driver.hpp"
#include "models/types/error.hpp"
#include "protocol_checker.hpp"
#include "support/faults.hpp"
#include "support/sc_fixture.hpp"
#include "support/test.hpp"

using namespace diecast;

namespace {

struct target_bench {
  explicit target_bench(std::size_t outstanding, sim_time end_resp = {}, bool strict = false)
      : driver("driver", outstanding, end_resp), sram("sram", {}, strict, faults) {
    driver.socket.bind(checker.in);
    checker.out.bind(sram.socket);
  }
  sim_time run() { return test::run_to_starvation(); }
  test::watched_faults faults;
  test::at_driver driver;
  test::protocol_checker checker{"checker"};
  hw::simple_memory sram;
};

std::vector<unsigned char> filled(std::size_t n, unsigned char v) { return std::vector<unsigned char>(n, v); }

}  // namespace

TEST_CASE("sram: bytes at 512 GB/s and 2 ns") {
  target_bench b(8);
  b.driver.write(0, filled(1024, 7), nanoseconds(100));
  b.driver.read(0, 1024, nanoseconds(200));
  b.driver.read(512, 512, nanoseconds(200));
  b.run();
  const auto& a = b.driver.accesses;
  CHECK(a[0].done == nanoseconds(104));
  CHECK(a[1].done == nanoseconds(204));
  CHECK(a[2].done == nanoseconds(205));
  CHECK(a[1].data == filled(1024, 7));
  CHECK(b.checker.violations().empty());
  CHECK(b.checker.open() == 0);
}

TEST_CASE("sram: a full queue holds END_REQ back and loses nothing") {
  target_bench b(1000);
  for (unsigned i = 0; i < 500; ++i) b.driver.write(i * 1024, filled(1024, static_cast<unsigned char>(i)));
  const sim_time end = b.run();
  CHECK(b.driver.completed() == 500);
  CHECK(b.checker.most_open() == 65);  // 64 in the queue and the one that waits for END_REQ
  CHECK(b.driver.accesses[63].accepted == sim_time{});
  CHECK(b.driver.accesses[64].accepted == nanoseconds(4));
  CHECK(b.sram.statistics().held_requests == 500 - 64);
  CHECK(end == nanoseconds(500 * 2 + 2));
  CHECK(b.checker.violations().empty());
}

TEST_CASE("sram: late END_RESP delays the responses behind it") {
  target_bench b(8, nanoseconds(10));
  for (unsigned i = 0; i < 4; ++i) b.driver.write(i * 512, filled(512, 1));
  b.run();
  for (unsigned i = 0; i < 4; ++i) CHECK(b.driver.accesses[i].done == nanoseconds(3 + 10 * i));
  CHECK(b.checker.violations().empty());
  CHECK(b.checker.open() == 0);
}

TEST_CASE("sram: accesses outside or without length get an error response") {
  target_bench b(1);
  b.driver.read(16384 * 1024 - 8, 16);
  b.driver.read(16384 * 1024 - 8, 8);
  b.run();
  CHECK(b.driver.accesses[0].status == tlm::TLM_ADDRESS_ERROR_RESPONSE);
  CHECK(b.driver.accesses[1].status == tlm::TLM_OK_RESPONSE);
  CHECK(b.checker.violations().empty());
}

TEST_CASE("sram: strict memory refuses a read of bytes never written") {
  target_bench b(1, {}, true);
  b.driver.write(0, filled(64, 1));
  b.driver.read(0, 65, nanoseconds(10));
  CHECK_THROWS_WITH(b.run(), Catch::Contains("sram") && Catch::Contains("never written"));
}

TEST_CASE("sram: blocking and debug transport see the same bytes") {
  struct blocking : sc_core::sc_module {
    tlm::tlm_initiator_socket<> socket{"socket"};
    struct none : tlm::tlm_bw_transport_if<> {
      tlm::tlm_sync_enum nb_transport_bw(tlm::tlm_generic_payload&, tlm::tlm_phase&,
                                         sc_core::sc_time&) override {
        CHECK(false);
        return tlm::TLM_COMPLETED;
      }
      void invalidate_direct_mem_ptr(sc_dt::uint64, sc_dt::uint64) override {}
    } backward;
    SC_HAS_PROCESS(blocking);
    explicit blocking(sc_core::sc_module_name n) : sc_module(n) {
      socket.bind(backward);
      SC_THREAD(run);
    }
    void run() {
      unsigned char data[8] = {1, 2, 3, 4, 5, 6, 7, 8};
      unsigned char enables[2] = {TLM_BYTE_ENABLED, TLM_BYTE_DISABLED};
      tlm::tlm_generic_payload t;
      t.set_command(tlm::TLM_WRITE_COMMAND);
      t.set_address(100);
      t.set_data_ptr(data);
      t.set_data_length(8);
      t.set_streaming_width(8);
      t.set_byte_enable_ptr(enables);
      t.set_byte_enable_length(2);
      sc_core::sc_time delay(3, sc_core::SC_NS);
      socket->b_transport(t, delay);
      CHECK(t.is_response_ok());
      CHECK(hw::now() + sim_time{delay.value()} == nanoseconds(3) + nanoseconds(8 / 512.0) + nanoseconds(2));
      unsigned char out[8] = {};
      t.set_data_ptr(out);
      t.set_command(tlm::TLM_READ_COMMAND);
      t.set_byte_enable_ptr(nullptr);
      CHECK(socket->transport_dbg(t) == 8);
      for (int i = 0; i < 8; ++i) CHECK(out[i] == (i % 2 == 0 ? data[i] : 0xff));
      ended = true;
    }
    bool ended = false;
  } b("b");
  test::watched_faults faults;
  hw::simple_memory sram("sram", {}, false, faults);
  b.socket.bind(sram.socket);
  test::run_to_starvation();
  CHECK(b.ended);
}
