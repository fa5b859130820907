// SPDX-License-Identifier: Apache-2.0
// The runtime on the mock machine: what send, receive, exchange and tasks promise.
#include <array>
#include <stdexcept>
#include <vector>

#include "support/firmware_misuse.hpp"
#include "support/test.hpp"
#include "sw/runtime/firmware_trap.hpp"
#include "sw/runtime/pe_runtime.hpp"
#include "sw/runtime/queue_driver.hpp"
#include "unit/sw/collectives/rings/ring_bench.hpp"

namespace diecast::test {
namespace {

TEST_CASE("M sends before the first receive deadlock exactly when n_slots < M") {
  for (const auto order : orders) {
    for (std::uint32_t slots = 1; slots <= 4; ++slots) {
      for (std::uint32_t sends = 1; sends <= 5; ++sends) {
        ring_bench b{3, slots, {order, slots * 10 + sends}};
        for (std::uint32_t rank = 0; rank < 3; ++rank) {
          b.on(rank, [sends](pe_context& pe) {
            for (std::uint32_t i = 0; i < sends; ++i) pe.send(comm::east, 0, 16);
            for (std::uint32_t i = 0; i < sends; ++i) (void)pe.recv(comm::west, 64);
          });
        }
        const sw::mock_outcome outcome = b.run();
        INFO(slots << " slots, " << sends << " sends, " << sw::to_string(order));
        CHECK(outcome.finished == (slots >= sends));
        if (outcome.finished) continue;
        CHECK(outcome.deadlock.find("pod.sip0.cube_0_0.pe1 E waits for a free slot") != std::string::npos);
        CHECK(outcome.deadlock.find("3 PEs have not finished") != std::string::npos);
      }
    }
  }
}

TEST_CASE("a ring of two matches by address and deadlocks when matched by sender") {
  const auto swap_both_ways = [](ring_bench& b) {
    for (const std::uint32_t rank : {0u, 1u}) {
      b.on(rank, [](pe_context& pe) {
        pe.exchange(comm::east, {0, 16}, comm::west, {64, 16}, pe_context::arrival::copy);
        pe.exchange(comm::west, {16, 16}, comm::east, {80, 16}, pe_context::arrival::copy);
      });
      b.put(rank, 0, {rank, rank, rank, rank, rank + 10, rank + 10, rank + 10, rank + 10});
    }
    return b.run();
  };
  for (const auto order : orders) {
    ring_bench good{2, 2, {order}};
    CHECK(swap_both_ways(good).finished);
    CHECK(good.get(0, 64, 5) == words{1, 1, 1, 1, 11});
    CHECK(good.get(1, 64, 5) == words{0, 0, 0, 0, 10});

    ring_bench bad{2, 2, {order}, "ring_1d", [](config::machine_config& c) {
                     c.ipcq.match = config::match_policy::sender;
                   }};
    const sw::mock_outcome outcome = swap_both_ways(bad);
    CHECK_FALSE(outcome.finished);
    CHECK(outcome.deadlock.find("pod.sip0.cube_0_0.pe0 W waits for a message") != std::string::npos);
    CHECK(outcome.deadlock.find("pod.sip0.cube_0_0.pe1 W waits for a message") != std::string::npos);
  }
}

TEST_CASE("a message longer than a slot is an error the firmware sees") {
  for (const bool blocking : {true, false}) {
    for (const auto order : orders) {
      ring_bench b{2, 2, {order}};
      b.on(0, [blocking](pe_context& pe) {
        if (blocking) {
          pe.send(comm::east, 0, 65);
        } else {
          (void)pe.isend(comm::east, 0, 65);
        }
      });
      try {
        (void)b.run();
        FAIL("not seen");
      } catch (const sw::firmware_trap& trap) {
        CHECK(trap.error() == abi::engine_error::oversize);
        CHECK(trap.pe() == b.pe(0));
        CHECK(trap.direction() == comm::east);
        CHECK(std::string{trap.what()} ==
              "firmware on sip0.cube0.pe0: queue pair E: message longer than a slot");
      }
    }
  }
}

TEST_CASE("misuse of a queue pair traps instead of waiting for ever") {
  const auto trapped = [](const char* pattern, std::function<void(pe_context&)> code) -> std::string {
    ring_bench b{2, 2, {}, pattern};
    b.on(0, std::move(code));
    try {
      (void)b.run();
    } catch (const sw::firmware_trap& trap) {
      return trap.what();
    }
    return "nothing";
  };
  CHECK(trapped("ring_1d", [](pe_context& pe) {
          pe.send(comm::north, 0, 4);
        }).find("queue pair N is not installed") != std::string::npos);
  CHECK(trapped("ring_1d_unidir", [](pe_context& pe) {
          (void)pe.recv(comm::east);
        }).find("without a receive half") != std::string::npos);
  CHECK(trapped("ring_1d_unidir", [](pe_context& pe) {
          pe.send(comm::west, 0, 4);
        }).find("without a transmit half") != std::string::npos);
  CHECK(trapped("ring_1d", [](pe_context& pe) { pe.release(comm::west); }).find("holds no data") !=
        std::string::npos);
  CHECK(trapped("ring_1d", [](pe_context& pe) {
          pe.send_all(comm::east, {0, 6});
        }).find("multiple of the 4-byte") != std::string::npos);
  CHECK(trapped("ring_1d", [](pe_context& pe) { pe.wait_until([] { return false; }); }).find("wait_until") !=
        std::string::npos);
}

TEST_CASE("a message of another length than expected traps") {
  ring_bench b{2, 2};
  b.on(0, [](pe_context& pe) { pe.send(comm::east, 0, 8); });
  b.on(1, [](pe_context& pe) {
    CHECK(pe.recv(comm::west).bytes == 8);  // reads the length; the slot is not released
    pe.recv_all(comm::west, {0, 12}, pe_context::arrival::copy);
  });
  CHECK_THROWS_WITH(b.run(), Catch::Contains("message of 8 bytes on queue pair W; the kernel expected 12"));
}

TEST_CASE("a received slot stays until it is released, and its bytes lie at its address") {
  ring_bench b{2, 1};
  b.put(0, 0, {5, 6});
  b.on(0, [](pe_context& pe) {
    pe.send(comm::east, 0, 8);
    pe.send(comm::east, 4, 4);
  });
  b.on(1, [](pe_context& pe) {
    const sw::slot_view first = pe.recv(comm::west);
    const sw::slot_view again = pe.recv(comm::west);
    CHECK(first.at == again.at);
    CHECK(again.bytes == 8);
    pe.fetch(first, 128);
    pe.release(comm::west);
    CHECK(pe.recv(comm::west, 256) == 4);
    CHECK(pe.n_slots(comm::west) == 1);
    CHECK(pe.slot_bytes(comm::west) == 64);
  });
  CHECK(b.run().finished);
  CHECK(b.get(1, 128, 2) == words{5, 6});
  CHECK(b.get(1, 256, 1) == words{6});
}

TEST_CASE("recv_any finds the direction that has a message and leaves no request behind") {
  for (const auto order : orders) {
    for (const auto from : {comm::east, comm::west}) {
      ring_bench b{2, 2, {order}};
      b.on(0, [from](pe_context& pe) { pe.send(comm::opposite(from), 0, 4); });
      b.on(1, [from](pe_context& pe) {
        CHECK(pe.recv_any({comm::west, comm::east}) == from);
        (void)pe.recv(from, 0);
      });
      CHECK(b.run().finished);
      for (const auto& q : b.machine().engine(b.pe(1)).queue_pairs()) CHECK(q.armed == 0);
    }
  }
}

TEST_CASE("exchanges of unequal sizes on a ring never stand still") {
  for (const auto order : orders) {
    for (const std::uint32_t slots : {1u, 2u, 4u}) {
      for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        const std::array<std::uint64_t, 4> sent{0, 4, 64 * 9 + 4, 700};
        ring_bench b{4, slots, {order, seed}};
        for (std::uint32_t rank = 0; rank < 4; ++rank) {
          b.put(rank, 0, words(175, rank + 1));
          b.on(rank, [sent, rank](pe_context& pe) {
            pe.exchange(comm::east, {0, sent[rank]}, comm::west, {1024, sent[(rank + 3) % 4]},
                        pe_context::arrival::copy);
          });
        }
        CHECK(b.run().deadlock == "");
        CHECK(b.get(3, 1024, 145) == words(145, 3));
        CHECK(b.get(0, 1024, 175) == words(175, 4));
      }
    }
  }
}

TEST_CASE("polling firmware completes, and a poller that waits forever is a deadlock") {
  for (const auto order : orders) {
    ring_bench b{2, 1, {order}, "ring_1d", [](config::machine_config& c) {
                   c.ipcq.wait = config::backpressure::poll;
                 }};
    b.put(0, 0, {3});
    for (const std::uint32_t rank : {0u, 1u}) {
      b.on(rank, [rank](pe_context& pe) {
        for (int i = 0; i < 5; ++i) {
          if (rank == 0) pe.send(comm::east, 0, 4);
          if (rank == 1) (void)pe.recv(comm::west, 0);
        }
      });
    }
    CHECK(b.run().deadlock == "");
    CHECK(b.get(1, 0, 1) == words{3});
    b.on(0, [](pe_context& pe) { (void)pe.recv(comm::west); });
    const sw::mock_outcome outcome = b.run();
    CHECK_FALSE(outcome.finished);
    CHECK(outcome.deadlock.find("pe0 W waits for a message") != std::string::npos);
  }
}

TEST_CASE("a polled word ends the poll whenever it is written, and a word nobody writes is a deadlock") {
  for (const auto order : orders) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      ring_bench b{2, 1, {order, seed}};
      b.put(0, 0, {7, 0});
      b.put(1, 8, {0, 0});
      b.on(0, [](pe_context& pe) {
        pe.send(comm::east, 64, 4);
        pe.hal().write_register(abi::dma_source,
                                abi::encode({sip_id{0}, cube_id{0}, abi::region::tcm, 0, 0}));
        pe.hal().write_register(abi::dma_destination,
                                abi::encode({sip_id{0}, cube_id{0}, abi::region::tcm, 1, 8}));
        pe.hal().write_register(abi::dma_doorbell, 8);
      });
      b.on(1, [](pe_context& pe) {
        pe.hal().poll_until({8, abi::compare::eq, 7, {sip_id{0}, cube_id{0}, pe_id{0}}});
        (void)pe.recv(comm::west, 64);
      });
      CHECK(b.run().deadlock == "");
      b.on(1, [](pe_context& pe) {
        pe.hal().poll_until({8, abi::compare::gt, 7, {sip_id{0}, cube_id{0}, pe_id{0}}});
      });
      CHECK(b.run().deadlock.find("root: pod.sip0.cube_0_0.pe0 has finished its kernel") !=
            std::string::npos);
    }
  }
}

TEST_CASE("rings outside TCM: slots are fetched by DMA, tasks share the staging buffer") {
  for (const auto kind : {config::buffer_kind::sram, config::buffer_kind::hbm}) {
    for (const auto order : orders) {
      static config::buffer_kind rings;
      rings = kind;
      ring_bench two{3, 2, {order, 6}, "ring_1d", [](config::machine_config& c) { c.ipcq.rings = rings; }};
      for (std::uint32_t rank = 0; rank < 3; ++rank) {
        two.put(rank, 0, words(64, rank));
        two.put(rank, 512, words(64, 100));
        two.on(rank, [](pe_context& pe) {
          pe.run_tasks(
              {[&] {
                 pe.exchange(comm::east, {0, 128}, comm::west, {512, 128}, pe_context::arrival::reduce);
               },
               [&] {
                 pe.exchange(comm::west, {128, 128}, comm::east, {640, 128}, pe_context::arrival::reduce);
               }});
        });
      }
      CHECK(two.run().deadlock == "");
      CHECK(two.get(1, 512, 32) == words(32, 100));
      CHECK(two.get(1, 640, 32) == words(32, 102));
    }
  }
}

TEST_CASE("a stream tells which range it begins to send, and of a list of empty ones none") {
  ring_bench b{2, 2};
  std::array<std::vector<std::uint32_t>, 2> begun;
  b.put(1, 0, {7, 8});
  for (const std::uint32_t rank : {0U, 1U}) {
    b.on(rank, [&begun, rank](pe_context& pe) {
      pe_context::pipeline pipeline;
      pipeline.send = {comm::east};
      pipeline.recv = {comm::west};
      pipeline.sent = {{0, rank == 0 ? 0U : 8U}};
      pipeline.received = {{0, rank == 0 ? 8U : 0U}};
      pe.stream({pipeline}, [&begun, rank](std::uint32_t k) { begun[rank].push_back(k); });
    });
  }
  CHECK(b.run().deadlock == "");
  CHECK(b.get(0, 0, 2) == words{7, 8});
  CHECK(begun[0].empty());
  CHECK(begun[1] == std::vector<std::uint32_t>{0});
}

TEST_CASE("a task that waits for an earlier copy than another goes on first") {
  ring_bench b{2, 2};
  const sw::runtime_options options = b.machine().firmware_options(b.pe(0));
  std::string order;
  std::uint32_t done_at_first = 0;
  const auto code = [&](abi::hal& hal) {
    sw::pe_runtime runtime{hal, options};
    const std::uint32_t first = runtime.driver().start_copy(options.tcm_base, options.tcm_base + 512, 64);
    const std::uint32_t last = runtime.driver().start_copy(options.tcm_base, options.tcm_base + 1024, 64);
    runtime.tasks().run({[&] {
                           runtime.driver().wait_copy(last);
                           order += 'l';
                         },
                         [&] {
                           runtime.driver().wait_copy(first);
                           done_at_first = abi::status_halves::unpack(hal.read_register(abi::dma_status)).low;
                           order += 'f';
                         }});
  };
  CHECK(b.machine().run({{b.pe(0), code}}).deadlock == "");
  CHECK(order == "fl");
  CHECK(done_at_first == 1);
}

TEST_CASE("the mock refuses what the machine refuses, and in the same way") {
  ring_bench b{2, 2};
  b.also(0, [](abi::hal& hal) { CHECK(let_pass(hal, std::uint64_t{1} << 30) == ""); });
  b.also(1, [](abi::hal& hal) {
    constexpr std::uint64_t running = 2;
    CHECK(hal.read_register(abi::core_status) == running);
    CHECK(hal.read_register(abi::core_start_time) <= hal.now().fs);
    CHECK(hal.read_register(abi::core_end_time) == 0);
  });
  CHECK(b.run().deadlock == "");
}

TEST_CASE("one library tells before a PE idles; a second is refused, and the first still heard") {
  ring_bench b{2, 2};
  const sw::runtime_options options = b.machine().firmware_options(b.pe(1));
  unsigned told = 0;
  b.on(0, [](pe_context& pe) {
    pe.hal().wait_for_event_until(nanoseconds(1000));
    pe.send(comm::east, 0, 4);
  });
  b.also(1, [&](abi::hal& hal) {
    sw::pe_runtime runtime{hal, options};
    runtime.before_idle([&told] { ++told; });
    CHECK_THROWS_AS(runtime.before_idle([] {}), std::logic_error);
    abi::kernel_arguments a;
    a.type = numeric::dtype::i32;
    pe_context pe{runtime, a, {}};
    CHECK(pe.recv(comm::west, 0) == 4);  // comes later: it sleeps
  });
  CHECK(b.run().deadlock == "");
  CHECK(told > 0);
}

}  // namespace
}  // namespace diecast::test
