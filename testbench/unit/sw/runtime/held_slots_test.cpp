// SPDX-License-Identifier: Apache-2.0
// Slots that are sent on from where they lie, and copies in the background.
#include <array>
#include <numeric>

#include "support/test.hpp"
#include "sw/runtime/pe_runtime.hpp"
#include "sw/runtime/queue_driver.hpp"
#include "sw/runtime/stream.hpp"
#include "unit/sw/collectives/rings/ring_bench.hpp"

namespace diecast::test {
namespace {

/// Nothing is left in any engine: every message taken, every credit returned, nobody waits.
void check_idle(ring_bench& b, std::uint32_t pes) {
  for (std::uint32_t rank = 0; rank < pes; ++rank) {
    for (const auto& q : b.machine().engine(b.pe(rank)).queue_pairs()) {
      if (q.rx) CHECK(q.available() == 0);
      if (q.tx) CHECK(q.free_slots() == q.n_slots);
      CHECK(q.armed == 0);
    }
  }
}

words counting(std::uint32_t first, std::size_t count) {
  words values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

/// Jobs that the PE's DMA has been given since reset.
std::uint32_t copies_started(pe_context& pe) {
  return abi::status_halves::unpack(pe.hal().read_register(abi::dma_status)).high;
}

/// An all-gather of `bytes` of every rank round a ring, from `base` on.
pe_context::pipeline gathering(std::uint32_t rank, std::uint32_t pes, std::uint64_t base, std::uint64_t bytes,
                               bool eastward) {
  const auto place = [&](std::uint32_t from) { return base + from * bytes; };
  pe_context::pipeline pipeline{{eastward ? comm::east : comm::west},
                                {pe_context::outgoing{place(rank), bytes}},
                                {eastward ? comm::west : comm::east},
                                {}};
  pipeline.overlaps = true;
  for (std::uint32_t i = 1; i < pes; ++i) {
    const pe_context::stage s{place((rank + (eastward ? pes - i : i)) % pes), bytes};
    i + 1 < pes ? pipeline.pass(s) : pipeline.received.push_back(s);
  }
  return pipeline;
}

TEST_CASE("slots that the DMA copies are sent on from where they lie and stay until they have been read") {
  // Round a ring, which is full at n_slots = 1: who holds a slot must not wait for space.
  constexpr std::uint32_t pes = 5;
  for (const auto order : orders) {
    for (const std::uint32_t slots : {1U, 2U, 4U}) {
      for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        const std::array<std::uint64_t, pes> bytes{64 * 9 + 4, 0, 4, 64, 64 * 2 + 60};
        constexpr std::uint64_t apart = 640;
        CAPTURE(slots, seed);
        ring_bench b{pes, slots, {order, seed}};
        for (std::uint32_t rank = 0; rank < pes; ++rank) {
          b.put(rank, rank * apart, counting(rank * 1000, bytes[rank] / 4));
          b.on(rank, [&bytes, rank](pe_context& pe) {
            pe_context::pipeline pipeline{
                {comm::east}, {pe_context::outgoing{rank * apart, bytes[rank]}}, {comm::west}, {}};
            pipeline.overlaps = true;
            for (std::uint32_t i = 1; i < pes; ++i) {
              const std::uint32_t from = (rank + pes - i) % pes;
              const pe_context::stage s{from * apart, bytes[from]};
              i + 1 < pes ? pipeline.pass(s) : pipeline.received.push_back(s);
            }
            pe.stream({pipeline}, "all_gather");
            std::uint64_t came = 0;
            for (const std::uint64_t all : bytes) came += (all + 63) / 64;
            CHECK(copies_started(pe) == came - (bytes[rank] + 63) / 64);
          });
        }
        CHECK(b.run().deadlock == "");
        for (std::uint32_t rank = 0; rank < pes; ++rank) {
          for (std::uint32_t from = 0; from < pes; ++from) {
            CHECK(b.get(rank, from * apart, bytes[from] / 4) == counting(from * 1000, bytes[from] / 4));
          }
        }
        check_idle(b, pes);
      }
    }
  }
}

TEST_CASE("a pipeline that overlaps adds no copy behind those of others in the DMA") {
  // The long copy is as if it never ended: the slot is copied all the same.
  ring_bench b{2, 2, {sw::schedule::round_robin}};
  const sw::runtime_options options = b.machine().firmware_options(b.pe(1));
  b.put(0, 0, counting(1, 16));
  b.on(0, [](pe_context& pe) { pe.send(comm::east, 0, 64); });
  std::uint32_t started = 0;
  const auto code = [&](abi::hal& hal) {
    sw::pe_runtime runtime{hal, options};
    abi::kernel_arguments a;
    a.type = numeric::dtype::i32;
    pe_context pe{runtime, a, {}};
    (void)runtime.driver().start_copy(options.tcm_base + 4096, options.tcm_base + 8192, 2048);
    pe_context::pipeline pipeline{{}, {}, {comm::west}, {pe_context::stage{0, 64}}};
    pipeline.overlaps = true;
    pe.stream({pipeline}, "receive");
    started = copies_started(pe);
    pe.finish();
  };
  b.also(1, code);
  CHECK(b.run().deadlock == "");
  CHECK(b.get(1, 0, 16) == counting(1, 16));
  CHECK(started == 1);
}

TEST_CASE("a range of one slot is sent on before its credit goes back, slots of a longer one after") {
  for (const std::uint64_t bytes : {64U, 128U}) {
    CAPTURE(bytes);
    ring_bench b{3, 4, {sw::schedule::round_robin}};
    const sw::runtime_options options = b.machine().firmware_options(b.pe(1));
    b.on(0, [&](pe_context& pe) { pe.send_all(comm::east, {0, bytes}); });
    b.on(2, [&](pe_context& pe) { pe.recv_all(comm::west, {0, bytes}, pe_context::arrival::copy); });
    std::vector<std::uint64_t> released;  // when a slot is sent
    b.also(1, [&](abi::hal& hal) {
      sw::pe_runtime runtime{hal, options};
      sw::queue_driver& driver = runtime.driver();
      sw::held_slots held{driver, runtime.tasks()};
      const auto nothing = [](sw::queue_state&, const sw::stage_cursor&) {};
      const auto put = [&](sw::queue_state& q, const sw::send_cursor& at) {
        released.push_back(hal.read_register(abi::qp_register(comm::west, abi::qp_my_tail)));
        (void)driver.ring_doorbell(q, at.at(), at.piece());
      };
      std::vector<sw::stream_pipeline> pipelines(1);
      const std::vector<pe_context::outgoing> sent{{0, bytes, {{{0}}}}};
      const std::vector<pe_context::stage> received{{0, bytes}};
      pipelines[0].outs.push_back({&driver.tx(comm::east), sw::send_cursor(sent, 64)});
      pipelines[0].ins.push_back({&driver.rx(comm::west), sw::stage_cursor(received, 64)});
      sw::run_pipelines({driver, runtime.tasks(), put, nothing, [] {}, held, {}, {}, {}, [](std::size_t) {}},
                        pipelines);
      driver.finish();
    });
    CHECK(b.run().deadlock == "");
    CHECK(released == (bytes == 64 ? std::vector<std::uint64_t>{0} : std::vector<std::uint64_t>{1, 2}));
  }
}

TEST_CASE("two tasks of a kernel stream at a time, each with slots of its own held") {
  constexpr std::uint32_t pes = 4;
  constexpr std::uint64_t bytes = 64 * 3 + 8, other = 1024;
  for (const auto order : orders) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      CAPTURE(seed);
      ring_bench b{pes, 1, {order, seed}};
      for (std::uint32_t rank = 0; rank < pes; ++rank) {
        b.put(rank, rank * bytes, counting(rank * 1000, bytes / 4));
        b.put(rank, other + rank * bytes, counting(rank * 1000 + 500, bytes / 4));
        b.on(rank, [rank](pe_context& pe) {
          pe.run_tasks({[&] { pe.stream({gathering(rank, pes, 0, bytes, true)}, "east"); },
                        [&] { pe.stream({gathering(rank, pes, other, bytes, false)}, "west"); }});
        });
      }
      CHECK(b.run().deadlock == "");
      for (std::uint32_t rank = 0; rank < pes; ++rank) {
        for (std::uint32_t from = 0; from < pes; ++from) {
          CHECK(b.get(rank, from * bytes, bytes / 4) == counting(from * 1000, bytes / 4));
          CHECK(b.get(rank, other + from * bytes, bytes / 4) == counting(from * 1000 + 500, bytes / 4));
        }
      }
      check_idle(b, pes);
    }
  }
}

TEST_CASE(
    "what a call of stream leaves to the DMA is completed by the next one on its queue pair, and at the "
    "end") {
  constexpr std::uint32_t pes = 4;
  constexpr std::uint64_t bytes = 64 * 2 + 8, calls = 2, from_west = 1024;
  for (const auto order : orders) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      CAPTURE(seed);
      ring_bench b{pes, 1, {order, seed}};
      for (std::uint32_t rank = 0; rank < pes; ++rank) {
        b.put(rank, 0, counting(rank * 1000, calls * bytes / 4));
        b.on(rank, [rank](pe_context& pe) {
          const sim_time late = pe.hal().now() + nanoseconds(1000);
          if (rank == 2) pe.sleep_until(late);
          if (rank == 2) CHECK(pe.hal().now() >= late);
          pe_context::left_copies left(pe);
          for (std::uint64_t call = 0; call < calls; ++call) {
            pe_context::pipeline pipeline{{comm::east},
                                          {pe_context::outgoing{call * bytes, bytes}},
                                          {comm::west},
                                          {pe_context::stage{from_west + call * bytes, bytes}}};
            pipeline.overlaps = true;
            pe.stream({pipeline}, "round", left);
            pe.look_at_sources(comm::east);
          }
          left.finish();
          CHECK(copies_started(pe) == calls * 3);
        });
      }
      CHECK(b.run().deadlock == "");
      for (std::uint32_t rank = 0; rank < pes; ++rank) {
        CHECK(b.get(rank, from_west, calls * bytes / 4) ==
              counting((rank + pes - 1) % pes * 1000, calls * bytes / 4));
      }
      check_idle(b, pes);
    }
  }
}

TEST_CASE("a kernel that does not finish what it left to the DMA is stopped") {
  ring_bench b{2, 2, {sw::schedule::round_robin}};
  b.on(0, [](pe_context& pe) { pe.send(comm::east, 0, 64); });
  b.on(1, [](pe_context& pe) {
    pe_context::left_copies left(pe);
    pe_context::pipeline pipeline{{}, {}, {comm::west}, {pe_context::stage{0, 64}}};
    pipeline.overlaps = true;
    pe.stream({pipeline}, "receive", left);
  });
  CHECK_THROWS_WITH(b.run(), Catch::Contains("the kernel ends with 1 left_copies open"));
}

TEST_CASE("a slot of another length than the kernel expects is not sent on") {
  ring_bench b{3, 2, {sw::schedule::round_robin}};
  b.on(0, [](pe_context& pe) { pe.send(comm::east, 0, 32); });
  b.on(1, [](pe_context& pe) {
    CHECK(pe.recv(comm::west).bytes == 32);  // reads the length; the slot is not released
    pe_context::pipeline pipeline{{comm::east}, {}, {comm::west}, {}};
    pipeline.overlaps = true;
    pipeline.pass({0, 64});
    pe.stream({pipeline}, "relay");
  });
  CHECK_THROWS_WITH(b.run(), Catch::Contains("message of 32 bytes on queue pair W; the kernel expected 64"));
  for (const auto& q : b.machine().engine(b.pe(1)).queue_pairs()) CHECK(q.free_slots() == q.n_slots);
}

TEST_CASE("a pipeline whose slots wait for those of another pipeline waits, though it overlaps") {
  // Both bring the same range; the one that is to come last is there first.
  for (const auto order : orders) {
    ring_bench b{3, 1, {order, 1}};
    b.put(0, 0, counting(1, 16));
    b.put(2, 0, counting(100, 16));
    b.on(0, [](pe_context& pe) {
      pe.hal().wait_for_event_until(nanoseconds(1000));
      pe.send(comm::east, 0, 64);
    });
    b.on(2, [](pe_context& pe) { pe.send(comm::west, 0, 64); });
    b.on(1, [](pe_context& pe) {
      const pe_context::pipeline first{{}, {}, {comm::west}, {pe_context::stage{0, 64}}};
      pe_context::stage after{0, 64};
      after.after = {0, 0};
      pe_context::pipeline last{{}, {}, {comm::east}, {after}};
      last.overlaps = true;
      pe.stream({first, last}, "receive");
    });
    CHECK(b.run().deadlock == "");
    CHECK(b.get(1, 0, 16) == counting(100, 16));
  }
}

}  // namespace
}  // namespace diecast::test
