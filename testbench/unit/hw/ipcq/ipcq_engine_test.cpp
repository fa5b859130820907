// SPDX-License-Identifier: Apache-2.0
// The IPCQ engine with time: from a register write or a token to what is seen of it.
#include "hw/ipcq/ipcq_engine.hpp"

#include "support/sc_fixture.hpp"
#include "support/test.hpp"
#include "unit/hw/pe/stubs.hpp"

namespace diecast::test {
namespace {

constexpr pe_coord self{sip_id{0}, cube_id{0}, pe_id{0}};
constexpr std::uint16_t qp = 2;

/// One engine with queue pair 2 installed both ways: 2 slots of 256 bytes. Registers are accessed half
/// a cycle off the clock, as a core does.
class ipcq_bench : public sc_core::sc_module {
 public:
  ipcq_bench() : ipcq_bench(sc_core::sc_module_name("bench")) {}
  explicit ipcq_bench(const sc_core::sc_module_name& bench_name)
      : sc_module(bench_name),
        config(one_cube(2)),
        steps("steps"),
        dma("dma"),
        engine("ipcq", hw::pe_setup{config, hub, faults, self}) {
    engine.dma.bind(dma);
    access.socket.bind(registers.socket);
    steps.at(0, [this] { install(); });
  }
  void install() {
    set(abi::qp_control, abi::qp_control_tx_enable | abi::qp_control_rx_enable);
    set(abi::qp_rx_base, mine);
    set(abi::qp_n_slots, 2);
    set(abi::qp_slot_bytes, 256);
    set(abi::qp_peer_rx_base, theirs);
    set(abi::qp_peer_ipcq, pe_address(abi::region::ipcq_mailbox, 1, 0));
  }
  const abi::address mine = pe_address(abi::region::tcm, 0, 0x1000);
  const abi::address theirs = pe_address(abi::region::tcm, 1, 0x2000);

  config::machine_config config;
  events::hub hub;
  watched_faults faults;
  script steps;
  stub_dma dma;
  hw::ipcq_engine engine;
  hw::register_target registers{"registers", engine};
  hw::register_initiator access{"access"};

  void set(abi::register_offset field, std::uint64_t value) {
    access.debug_write(abi::qp_register(qp, field), value);
  }
  [[nodiscard]] std::uint64_t get(abi::register_offset field) {
    return access.debug_read(abi::qp_register(qp, field));
  }
  void write(double ns, abi::register_offset reg, std::uint64_t value) {
    steps.at(ns, [this, reg, value] { access.write(reg, value); });
  }
  void write_field(double ns, abi::register_offset field, std::uint64_t value) {
    write(ns, abi::qp_register(qp, field), value);
  }
  void token(double ns, std::uint32_t sequence) {
    steps.at(ns, [this, sequence] {
      engine.message_arrived({mine + 256 * (sequence % 2), sequence, 64, {}, 0});
    });
  }
  void credit(double ns, std::uint32_t sequence) {
    steps.at(ns, [this, sequence] { engine.credit_arrived({theirs, sequence, 0, {}, 0}); });
  }
  [[nodiscard]] abi::ipcq_event_word pop() {
    return abi::ipcq_event_word::unpack(access.read(abi::ipcq_event));
  }
  [[nodiscard]] double pending_ns() const { return engine.pending_since().ns(); }
};

TEST_CASE("ipcq: a doorbell reaches the DMA check_cycles after the next edge") {
  ipcq_bench b;
  b.write_field(100.5, abi::qp_tx_source, pe_address(abi::region::tcm, 0, 0x40));
  b.write_field(100.5, abi::qp_tx_doorbell, 200);
  run_to_starvation();
  REQUIRE(b.dma.messages.size() == 1);
  const auto& [ns, m] = b.dma.messages[0];
  CHECK(ns == 101 + 2);
  CHECK(m.qp == qp);
  CHECK(m.source == pe_address(abi::region::tcm, 0, 0x40));
  CHECK(m.mailbox == pe_address(abi::region::ipcq_mailbox, 1, 0));
  CHECK(m.fields == abi::ipcq_fields{b.theirs, 0, 200, self, qp});
  CHECK(b.get(abi::qp_my_head) == 1);
  CHECK(b.engine.messages_sent() == 1);
  CHECK(b.engine.bytes_sent() == 200);
}

TEST_CASE("ipcq: check_cycles and match_cycles are those of the config") {
  ipcq_bench b;
  b.config.ipcq.check_cycles = 9;
  b.config.ipcq.match_cycles = 7;
  b.write_field(90.5, abi::qp_arm, abi::arm_receive);
  b.write_field(100.5, abi::qp_tx_doorbell, 8);
  b.token(200, 0);
  run_to_starvation();
  REQUIRE(b.dma.messages.size() == 1);
  CHECK(b.dma.messages[0].first == 101 + 9);
  CHECK(b.pending_ns() == 200 + 7);
}

TEST_CASE("ipcq: a token is visible match_cycles after it arrived, with event and interrupt") {
  ipcq_bench b;
  b.write_field(90.5, abi::qp_arm, abi::arm_receive);
  b.token(100, 0);
  b.steps.at(101.5, [&] {
    CHECK(b.access.read(abi::qp_register(qp, abi::qp_rx_status)) == 0);
    CHECK(b.engine.pending_since() == sim_time::never());
  });
  b.steps.at(102.5, [&] {
    CHECK(b.access.read(abi::qp_register(qp, abi::qp_rx_status)) == abi::status_halves{1, 64}.pack());
    CHECK(b.pending_ns() == 102);
    const auto event = b.pop();
    CHECK(event.kind == abi::event_kind::receive);
    CHECK(event.qp == qp);
    CHECK(event.value == 1);
    CHECK(b.engine.pending_since() == sim_time::never());
  });
  run_to_starvation();
  CHECK(b.engine.empty_wait() == nanoseconds(102 - 90.5));
  CHECK(b.engine.credit_stall() == sim_time{});
}

TEST_CASE("ipcq: a release sends a credit, a credit frees a slot") {
  ipcq_bench b;
  b.token(50, 0);
  b.write_field(60.5, abi::qp_my_tail, 1);
  b.write_field(100.5, abi::qp_tx_doorbell, 8);
  b.write_field(100.5, abi::qp_tx_doorbell, 8);
  b.write_field(110.5, abi::qp_arm, abi::arm_send_space);
  b.credit(200, 1);
  run_to_starvation();
  REQUIRE(b.dma.credits.size() == 1);
  CHECK(b.dma.credits[0].first == 61 + 2);
  CHECK(b.dma.credits[0].second.fields == abi::ipcq_fields{b.mine, 1, 0, self, qp});
  CHECK(b.pending_ns() == 202);
  CHECK(b.get(abi::qp_peer_tail_cache) == 1);
  CHECK(b.engine.credit_stall() == nanoseconds(202 - 110.5));
}

TEST_CASE("ipcq: what is refused is an error event with an interrupt, and nothing is sent") {
  ipcq_bench b;
  struct refusal {
    abi::register_offset reg;
    std::uint64_t value;
    abi::engine_error error;
  };
  const auto field = [](abi::register_offset f) { return abi::qp_register(qp, f); };
  b.write_field(50.5, abi::qp_tx_doorbell, 8);
  b.write_field(50.5, abi::qp_tx_doorbell, 8);
  const std::vector<refusal> refusals{
      {field(abi::qp_tx_doorbell), 257, abi::engine_error::oversize},
      {field(abi::qp_tx_doorbell), 8, abi::engine_error::ring_full},
      {abi::qp_register(3, abi::qp_tx_doorbell), 8, abi::engine_error::tx_disabled},
      {abi::qp_register(3, abi::qp_my_tail), 1, abi::engine_error::rx_disabled},
      {field(abi::qp_my_tail), 1, abi::engine_error::tail_beyond_head},
      {field(abi::qp_tx_status), 1, abi::engine_error::bad_register},
  };
  double ns = 100.5;
  for (const refusal& r : refusals) {
    b.write(ns, r.reg, r.value);
    b.steps.at(ns, [&b, r, ns] {
      CHECK(b.pending_ns() == ns);
      const auto event = b.pop();
      CHECK(event.kind == abi::event_kind::error);
      CHECK(event.value == static_cast<std::uint32_t>(r.error));
    });
    ns += 10;
  }
  run_to_starvation();
  CHECK(b.dma.messages.size() == 2);
  CHECK(b.dma.credits.empty());
}

TEST_CASE("ipcq: reading a register that does not exist raises the interrupt, too") {
  ipcq_bench b;
  b.steps.at(100.5, [&] {
    CHECK(b.access.read(abi::qp_register(qp, 0xf8)) == UINT64_MAX);
    CHECK(b.pending_ns() == 100.5);
    CHECK(b.pop().value == static_cast<std::uint32_t>(abi::engine_error::bad_register));
  });
  run_to_starvation();
}

TEST_CASE("ipcq: events keep their order, the interrupt lasts until the last is popped") {
  ipcq_bench b;
  b.write_field(90.5, abi::qp_arm, abi::arm_receive);
  b.token(100, 0);
  b.write_field(150.5, abi::qp_tx_doorbell, 1000);
  b.steps.at(200.5, [&] {
    CHECK(b.pending_ns() == 102);
    const auto first = b.pop();
    CHECK(first.kind == abi::event_kind::receive);
    CHECK(first.more);
    CHECK(b.pending_ns() == 102);
    const auto second = b.pop();
    CHECK(second.kind == abi::event_kind::error);
    CHECK(!second.more);
    CHECK(b.engine.pending_since() == sim_time::never());
    CHECK(b.pop().kind == abi::event_kind::none);
  });
  run_to_starvation();
}

TEST_CASE("ipcq: a source is seen as read one cycle after the DMA has read it") {
  ipcq_bench b;
  b.write_field(100.5, abi::qp_tx_doorbell, 8);
  b.write_field(101.5, abi::qp_arm, abi::arm_source_read);
  b.steps.at(150, [&] { b.engine.source_read(qp); });
  run_to_starvation();
  CHECK(b.pending_ns() == 151);
  CHECK(b.get(abi::qp_tx_status) == abi::status_halves{1, 1}.pack());
}

TEST_CASE("ipcq: copies are started by their doorbell and reported when enough are done") {
  ipcq_bench b;
  b.write(100.5, abi::dma_source, b.theirs);
  b.write(100.5, abi::dma_destination, b.mine);
  b.write(100.5, abi::dma_doorbell, 512);
  b.write(110.5, abi::dma_doorbell, 64);
  b.write(120.5, abi::dma_arm, 2);
  b.steps.at(130.5, [&] {
    CHECK(b.access.read(abi::dma_source) == b.theirs);
    CHECK(b.access.read(abi::dma_destination) == b.mine);
  });
  b.steps.at(200, [&] { b.engine.copies_done(1); });
  b.steps.at(210.5, [&] {
    CHECK(b.access.read(abi::dma_status) == abi::status_halves{1, 2}.pack());
    CHECK(b.engine.pending_since() == sim_time::never());
  });
  b.steps.at(300, [&] { b.engine.copies_done(2); });
  b.steps.at(310.5, [&] {
    CHECK(b.pending_ns() == 301);
    const auto event = b.pop();
    CHECK(event.kind == abi::event_kind::dma_done);
    CHECK(event.value == 2);
  });
  b.write(320.5, abi::dma_arm, 1);  // holds already
  run_to_starvation();
  REQUIRE(b.dma.copies.size() == 2);
  CHECK(b.dma.copies[0].first == 100.5);
  CHECK(b.dma.copies[0].second.source == b.theirs);
  CHECK(b.dma.copies[0].second.destination == b.mine);
  CHECK(b.dma.copies[0].second.bytes == 512);
  CHECK(b.dma.copies[1].second.bytes == 64);
  CHECK(b.pending_ns() == 320.5);
}

TEST_CASE("ipcq: a token no ring holds ends the run with the address and the map of rings") {
  ipcq_bench b;
  b.faults.expected = true;
  b.steps.at(100, [&] { b.engine.message_arrived({b.theirs, 0, 64, {}, 0}); });
  run_to_starvation();
  const std::string text = text_of(b.faults);
  CHECK_THAT(text, Catch::Contains("no receive ring holds the address"));
  CHECK_THAT(text, Catch::Contains("rx_base"));
  CHECK(hw::now() == nanoseconds(102));
}

TEST_CASE("ipcq: what a packet writes into a register that cannot hold it is a fault of who sent it") {
  ipcq_bench b;
  b.faults.expected = true;
  b.steps.at(100, [&] { b.engine.register_written(abi::qp_register(qp, abi::qp_n_slots), UINT64_MAX); });
  run_to_starvation();
  REQUIRE(b.faults.fault());
  CHECK_THROWS_AS(std::rethrow_exception(b.faults.fault()), protocol_error);
  CHECK_THAT(text_of(b.faults), Catch::Contains("cannot hold 0xffffffffffffffff"));
}

}  // namespace
}  // namespace diecast::test
