// SPDX-License-Identifier: Apache-2.0
// What firmware pays for what it touches, in cycles of a whole PE.
#include "pe_bench.hpp"
#include "support/firmware_misuse.hpp"
#include "support/test.hpp"

namespace diecast::test {
namespace {

const std::uint64_t tcm_bytes = config::machine_config{}.pe.tcm_kib * 1024;

/// Simulated time beyond the firmware's own clock: what it owes is not waited for yet.
double waited_ns() { return hw::now().ns(); }

abi::address tcm_at(std::uint64_t offset) { return pe_address(abi::region::tcm, 0, offset); }

/// Runs firmware on PE 0 alone, launched at 0 for 100 ns.
void run_alone(const std::function<void(abi::hal&)>& body, const config::machine_config& c = one_cube(1)) {
  bool ended = false;
  pe_bench b({[&](abi::hal& hal, const abi::launch_block&) {
               body(hal);
               ended = true;
             }},
             c);
  b.run();
  CHECK(text_of(b.faults).empty());
  CHECK(ended);
}

TEST_CASE("core: firmware starts at the common start, half a cycle off the clock") {
  pe_bench b({[&](abi::hal& hal, const abi::launch_block& block) {
    CHECK(waited_ns() == 100.5);
    CHECK(hal.now() == nanoseconds(100.5));
    CHECK(block.launch_id == 9);
    CHECK(hal.self() == pe_coord{sip_id{0}, cube_id{0}, pe_id{0}});
    hal.compute(30);
  }});
  b.launch(7, 0, 100, 9);
  b.steps.at(50, [&] { CHECK(b.peek(0, abi::core_status) == 1); });
  b.steps.at(120, [&] { CHECK(b.peek(0, abi::core_status) == 2); });
  run_to_starvation();
  CHECK(b.peek(0, abi::core_status) == 4);
  CHECK(b.peek(0, abi::core_start_time) == nanoseconds(100).fs);
  CHECK(b.peek(0, abi::core_end_time) == nanoseconds(130).fs);
  const auto io = b.fabric.topology.locate(pe_address(abi::region::launch_mailbox, abi::io_cpu_unit, 0));
  REQUIRE(b.fabric.at(io).received.size() == 1);
  CHECK(b.fabric.at(io).received[0].created == nanoseconds(130.5));
  CHECK(b.fabric.at(io).received[0].tag == 9);
}

TEST_CASE("core: launches that wait are run one after the other") {
  std::vector<double> starts;
  pe_bench b({[&](abi::hal& hal, const abi::launch_block&) {
    starts.push_back(hal.now().ns());
    hal.compute(50);
  }});
  b.launch(0, 0, 100, 0);
  b.launch(10, 0, 400, 1);
  run_to_starvation();
  CHECK(starts == std::vector<double>{100.5, 400.5});
}

TEST_CASE("core: a launch that comes after its common start ends the run") {
  pe_bench b({[](abi::hal&, const abi::launch_block&) { FAIL_CHECK("must not start"); }});
  b.fabric.faults.expected = true;
  b.launch(101, 0, 100, 3);
  run_to_starvation();
  REQUIRE(b.faults.fault());
  CHECK_THROWS_AS(std::rethrow_exception(b.faults.fault()), protocol_error);
  CHECK_THAT(text_of(b.faults), Catch::Contains("launch 3 arrived at 101 ns, after its common start at 100"));
}

TEST_CASE("core: a register access takes register_cycles") {
  run_alone([](abi::hal& hal) {
    CHECK(hal.read_register(abi::ipcq_queue_pairs) == 16);
    CHECK(waited_ns() == 107.5);
    hal.write_register(abi::core_errata, 5);
    CHECK(waited_ns() == 114.5);
    CHECK(hal.read_register(abi::core_errata) == 5);
    CHECK(waited_ns() == 121.5);
  });
}

TEST_CASE("core: owed cycles are waited for at the next access and never twice") {
  run_alone([](abi::hal& hal) {
    hal.compute(5);
    hal.compute(8);
    CHECK(waited_ns() == 100.5);
    CHECK(hal.now() == nanoseconds(113.5));
    hal.write_register(abi::dma_source, tcm_at(64));  // staged: its seven cycles are owed, too
    CHECK(waited_ns() == 100.5);
    CHECK(hal.now() == nanoseconds(120.5));
    CHECK(hal.read_register(abi::dma_source) == tcm_at(64));
    CHECK(waited_ns() == 127.5);
    CHECK(hal.now() == nanoseconds(127.5));
  });
}

TEST_CASE("core: a load is a cycle to the TCM, a bank cycle and the read latency; a store has none") {
  run_alone([](abi::hal& hal) {
    std::vector<std::byte> out(64, std::byte{0x5a});
    hal.store(128, out);
    CHECK(waited_ns() == 100.5 + 0.5 + 1 + 1 + 0.5);
    std::vector<std::byte> in(64);
    hal.load(128, in);
    CHECK(waited_ns() == 103.5 + 0.5 + 1 + 1 + 8 + 0.5);
    CHECK(in == out);
    hal.compute(4);
    hal.load(128, in);
    CHECK(waited_ns() == 114.5 + 4 + 11);
  });
}

/// Cycles of one vector operation on f16 elements, in so many lanes, of sums where they are not as many.
double vector_cycles(abi::vector_op op, std::uint64_t count, std::uint64_t lanes = 64,
                     std::uint64_t sum_lanes = 0) {
  config::machine_config c = one_cube(1);
  c.pe.vector_lanes = lanes;
  if (sum_lanes > 0) c.pe.sum_lanes = sum_lanes;
  double took = 0;
  run_alone(
      [&](abi::hal& hal) {
        const double before = waited_ns();
        hal.vector({op, numeric::dtype::f16, 0x10000, 0, 0x8000, count});
        took = waited_ns() - before;
      },
      c);
  return took;
}

/// The last block waits for its operands: two cycles to the TCM (half of each for the phase), the
/// operands' bank cycles, the read latency. Blocks before it go at the slower of lanes and TCM.
double last_block(double operand_cycles) { return 2 + operand_cycles + 8; }

TEST_CASE("vector: start-up, bytes over lanes, and the last block's read") {
  // 16 blocks of 1 KiB: 8 cycles each in 64 lanes of 2 bytes; the TCM would take 6.
  CHECK(vector_cycles(abi::vector_op::sum, 8192) == 10 + 15 * 8 + last_block(4));
}

TEST_CASE("vector: half the lanes take twice the time") {
  CHECK(vector_cycles(abi::vector_op::sum, 8192, 32) == 10 + 16 * 16);  // lanes end after the last read
}

TEST_CASE("vector: reductions add in the lanes that pe.sum_lanes gives them") {
  CHECK(vector_cycles(abi::vector_op::sum, 8192, 64, 32) == 10 + 16 * 16);
}

TEST_CASE("vector: copies do not take the lanes of reductions") {
  CHECK(vector_cycles(abi::vector_op::copy, 8192, 64, 1) == 10 + 15 * 8 + last_block(2));
}

TEST_CASE("vector: reductions have no more lanes than there are") {
  CHECK(vector_cycles(abi::vector_op::sum, 8192, 16, 32) == 10 + 16 * 32);
}

TEST_CASE("vector: more lanes than the TCM feeds are of no use") {
  // Two operands and a result of 1 KiB over 512 bytes per cycle.
  CHECK(vector_cycles(abi::vector_op::sum, 8192, 512) == 10 + 15 * 6 + last_block(4));
}

TEST_CASE("vector: a copy has one operand") {
  CHECK(vector_cycles(abi::vector_op::copy, 8192, 512) == 10 + 15 * 4 + last_block(2));
}

TEST_CASE("vector: a start-up is paid for nothing, too") {
  CHECK(vector_cycles(abi::vector_op::sum, 0) == 10);
}

TEST_CASE("vector: what it computes is in TCM when it returns") {
  run_alone([](abi::hal& hal) {
    const std::vector<std::int32_t> a{1, 2, 3}, b{10, 20, 30};
    hal.store(0x100, std::as_bytes(std::span{a}));
    hal.store(0x200, std::as_bytes(std::span{b}));
    std::vector<std::int32_t> sum(3);
    hal.vector({abi::vector_op::sum, numeric::dtype::i32, 0x300, 0x100, 0x200, 3});
    hal.load(0x300, std::as_writable_bytes(std::span{sum}));
    CHECK(sum == std::vector<std::int32_t>{11, 22, 33});
    hal.vector({abi::vector_op::divide_by, numeric::dtype::i32, 0x300, 0x300, 0x300, 3, 11});
    hal.load(0x300, std::as_writable_bytes(std::span{sum}));
    CHECK(sum == std::vector<std::int32_t>{1, 2, 3});
  });
}

/// A copy of 64 bytes within the TCM from its doorbell to its event: the next edge, launch and
/// start-up, read (1 + 1 + 8), write (1 + 1), one cycle to the event queue.
constexpr double copy_event = 0.5 + 41 + 10 + 2 + 1;

void start_copy(abi::hal& hal) {
  hal.write_register(abi::dma_source, tcm_at(0));
  hal.write_register(abi::dma_destination, tcm_at(64));
  hal.write_register(abi::dma_doorbell, 64);
}

TEST_CASE("core: an event wakes it interrupt_cycles later") {
  run_alone([](abi::hal& hal) {
    start_copy(hal);
    CHECK(waited_ns() == 121.5);
    hal.write_register(abi::dma_arm, 1);
    hal.wait_for_event();
    CHECK(waited_ns() == 121.5 + copy_event + 10 + 0.5);
    const auto event = abi::ipcq_event_word::unpack(hal.read_register(abi::ipcq_event));
    CHECK(event.kind == abi::event_kind::dma_done);
  });
}

TEST_CASE("core: an event that is older than its interrupt is seen at once, a younger one waits for it") {
  run_alone([](abi::hal& hal) {
    start_copy(hal);
    hal.write_register(abi::dma_arm, 1);
    hal.compute(200);
    hal.wait_for_event();
    CHECK(waited_ns() == 328.5);
    CHECK(hal.read_register(abi::ipcq_event) != 0);
    hal.write_register(abi::dma_arm, 1);  // holds already: the event is queued by the write itself
    CHECK(waited_ns() == 342.5);
    hal.compute(3);
    hal.wait_for_event();
    CHECK(waited_ns() == 342.5 + 0.5 + 10 + 0.5);
  });
}

/// What observers hear of a core's waits and work.
struct heard : events::observer {
  std::vector<events::core_waited> waits;
  std::vector<events::core_worked> pauses;
  using events::observer::on;
  void on(const events::core_waited& e) override { waits.push_back(e); }
  void on(const events::core_worked& e) override {
    if (e.what == events::core_work::pause) pauses.push_back(e);
  }
};

/// Runs firmware on PE 0 alone and hears of it.
void listen(heard& all, const std::function<void(abi::hal&)>& body,
            const config::machine_config& c = one_cube(1)) {
  pe_bench b({[&](abi::hal& hal, const abi::launch_block&) { body(hal); }}, c);
  b.fabric.hub.attach(all, events::work);
  b.run();
  CHECK(text_of(b.faults).empty());
}

/// What is told of a wait for a copy's end, and when it began and ended for the firmware.
void check_wait(const std::function<void(abi::hal&)>& wait) {
  double began = 0, ended = 0;
  heard all;
  listen(all, [&](abi::hal& hal) {
    start_copy(hal);
    hal.write_register(abi::dma_arm, 1);
    hal.compute(3);  // owed: waited for before the wait begins
    began = hal.now().ns();
    wait(hal);
    ended = waited_ns();
  });
  REQUIRE(all.waits.size() == 1);
  CHECK(all.waits[0].from.ns() == began);
  CHECK(all.waits[0].to.ns() == ended);
  CHECK(all.waits[0].cause == events::wait_cause::memory);
}

TEST_CASE("core: a wait is told from where it began") {
  check_wait([](abi::hal& hal) { hal.wait_for_event(); });
}

TEST_CASE("core: a wait with an alarm is told like one without") {
  check_wait([](abi::hal& hal) { hal.wait_for_event_until(nanoseconds(100'000)); });
}

TEST_CASE("core: a sleep that an alarm ends is a pause, and no wait that an event ended") {
  heard all;
  listen(all, [](abi::hal& hal) {
    hal.wait_for_event_until(nanoseconds(300));
    CHECK(waited_ns() == 300.5);
  });
  CHECK(all.waits.empty());
  REQUIRE(all.pauses.size() == 1);
  CHECK(all.pauses[0].to.ns() == 300.5);
  CHECK(all.pauses[0].from < all.pauses[0].to);
}

TEST_CASE("core: the pause of a slow core is told as long as it lasts") {
  config::machine_config c = one_cube(1);
  config::fault_setting slow;
  slow.kind = config::fault_kind::slow_pe;
  slow.where = "*";
  slow.factor = 4;
  c.faults = {slow};
  heard all;
  listen(
      all,
      [](abi::hal& hal) {
        hal.pause(100);
        (void)hal.read_register(abi::core_errata);
      },
      c);
  REQUIRE(all.pauses.size() == 1);
  CHECK((all.pauses[0].to - all.pauses[0].from).ns() == 400);
}

TEST_CASE("core: a wait that nothing ends starves and shows as asleep") {
  pe_bench b({[](abi::hal& hal, const abi::launch_block&) {
    hal.wait_for_event();
    FAIL_CHECK("must not wake");
  }});
  b.run();
  CHECK(hw::now() == nanoseconds(100.5));
  CHECK(b.pes[0]->core.state() == events::core_state::asleep);
  CHECK(text_of(b.faults).empty());
}

TEST_CASE("core: every misuse by firmware is a fault of one kind") {
  run_alone([](abi::hal& hal) { CHECK(let_pass(hal, tcm_bytes) == ""); });
}

TEST_CASE("core: what firmware throws ends the run as a fault of the core") {
  pe_bench b({[](abi::hal& hal, const abi::launch_block&) {
    std::vector<std::byte> in(64);
    hal.load(tcm_bytes, in);
  }});
  b.fabric.faults.expected = true;
  b.run();
  CHECK_THAT(text_of(b.faults), Catch::Contains("bench.pe0.tcm"));
}

}  // namespace
}  // namespace diecast::test
