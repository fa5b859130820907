// SPDX-License-Identifier: Apache-2.0
// What ends a program with an error, and what is said of messages that never come.
#include "every_machine.hpp"
#include "sw/runtime/firmware_trap.hpp"

using namespace diecast;
using namespace diecast::test;
using sw::message_buffer;
using sw::messaging;
using sw::pe_runtime;

TEST_CASE("messaging: a send that the heap can never hold is refused") {
  const auto trap_of = [](const message_buffer& from, sw::send_mode mode) -> std::string {
    config::machine_config c = message_machine(2, 1);
    c.tag_match.heap_kib = 0;
    message_bench bench{c};
    bench.on(0, [&](messaging& m, pe_runtime&) { (void)m.wait(m.isend(bench.world, 1, 1, from, mode)); });
    bench.on(1, [&](messaging& m, pe_runtime&) { (void)m.wait(m.irecv(bench.world, 0, 1, {0x1000, 256})); });
    try {
      return "ended without a trap: " + bench.run().deadlock;
    } catch (const sw::firmware_trap& e) {
      return e.what();
    }
  };
  CHECK_THAT(trap_of({0, 256}, sw::send_mode::standard),  // longer than the unit takes
             Catch::Contains("send to rank 1 of communicator 0, tag 1, 256 bytes") &&
                 Catch::Contains("takes 64 bytes of the heap, which has 0; expected a larger "
                                 "tag_match.heap_kib"));
  CHECK_THAT(trap_of({0, 48, 8, 16}, sw::send_mode::standard), Catch::Contains("tag_match.heap_kib"));
  CHECK_THAT(trap_of({0, 16, 8, 16}, sw::send_mode::synchronous), Catch::Contains("tag_match.heap_kib"));
}

TEST_CASE("messaging: a message longer than the receive is a clear error, and writes nothing past it") {
  for (const std::uint64_t bytes : {40, 150, 999}) {
    on_every_machine(
        2,
        [bytes](message_bench& bench) {
          bench.put(0, 0, pattern(1024));
          bench.put(1, 0x1000, std::string(1024, '#'));
          bench.on(0, [&bench, bytes](messaging& m, pe_runtime&) {
            (void)m.wait(m.isend(bench.world, 1, 3, {0, bytes}));
          });
          bench.on(1, [&bench, bytes](messaging& m, pe_runtime&) {
            const auto r = m.irecv(bench.world, 0, 3, {0x1000, 33});
            const auto s = m.wait(r, messaging::on_truncation::report);
            CHECK(s.truncated);
            CHECK(s.bytes == bytes);
          });
        },
        [](const message_bench& bench) {
          CHECK(bench.get(1, 0x1000, 33) == pattern(33));
          CHECK(bench.get(1, 0x1000 + 33, 64) == std::string(64, '#'));
        });
  }
  // A software rendezvous matched by the unit: the buffer is too short for the request, which names the
  // source.
  on_every_machine(
      2,
      [](message_bench& bench) {
        bench.put(1, 0x1000, std::string(128, '#'));
        bench.on(0, [&bench](messaging& m, pe_runtime&) {
          (void)m.wait(m.isend(bench.world, 1, 3, {0, 999}));
        });
        bench.on(1, [&bench](messaging& m, pe_runtime&) {
          const auto s = m.wait(m.irecv(bench.world, 0, 3, {0x1000, 16}), messaging::on_truncation::report);
          CHECK(s.truncated);
          CHECK(s.bytes == 999);
        });
      },
      [](const message_bench& bench) { CHECK(bench.get(1, 0x1000 + 16, 112) == std::string(112, '#')); });
  message_bench bench{message_machine(2, 4)};
  bench.on(0, [&bench](messaging& m, pe_runtime&) { (void)m.wait(m.isend(bench.world, 1, 3, {0, 40})); });
  bench.on(1, [&bench](messaging& m, pe_runtime&) { (void)m.wait(m.irecv(bench.world, 0, 3, {0, 33})); });
  CHECK_THROWS_WITH(bench.run(),
                    Catch::Contains("message of 40 bytes from rank 0, tag 3; expected at most 33"));
}

TEST_CASE("messaging: what no program may do ends it with a clear error") {
  const auto error_of = [](const message_bench::code& run) {
    message_bench bench{message_machine(2, 4)};
    bench.on(0, run);
    std::string what;
    try {
      (void)bench.run();
    } catch (const sw::firmware_trap& trap) {
      what = trap.what();
    }
    return what;
  };
  message_bench shape{message_machine(2, 4)};
  const sw::communicator world = shape.world;
  CHECK_THAT(error_of([&](messaging& m, pe_runtime&) {
               (void)m.isend(world, 2, 0, {0, 8});
             }),
             Catch::Contains("rank 2 of communicator 0; expected less than 2"));
  CHECK_THAT(error_of([&](messaging& m, pe_runtime&) {
               (void)m.irecv(world, 0, 1ULL << 32, {0, 8});
             }),
             Catch::Contains("tag 4294967296; expected at most 4294967295"));
  CHECK_THAT(error_of([&](messaging& m, pe_runtime&) {
               (void)m.irecv(world, 0, 1, {0, 8});
             }),
             Catch::Contains("ends with 1 open requests, the first a receive from rank 0"));
  CHECK_THAT(error_of([&](messaging& m, pe_runtime&) {
               const auto r = m.isend(world, 0, 1, {0, 8});
               (void)m.wait(r);
             }),
             Catch::Contains("messages that nobody received, the first from rank 0, tag 1, 8 bytes"));
  CHECK_THAT(error_of([&](messaging& m, pe_runtime&) {
               const auto r = m.irecv(world, 0, 1, {0, 8});
               (void)m.wait(m.isend(world, 0, 1, {0, 8}));
               (void)m.wait(r);
               (void)m.wait(r);
             }),
             Catch::Contains("has been waited for before"));
}

TEST_CASE("messaging: a receive without a send is a deadlock that names it") {
  message_bench bench{message_machine(2, 4)};
  bench.on(0, [&bench](messaging& m, pe_runtime&) { (void)m.wait(m.irecv(bench.world, 1, 42, {0, 8})); });
  const auto outcome = bench.run();
  CHECK_FALSE(outcome.finished);
  CHECK_THAT(outcome.deadlock, Catch::Contains("receive from rank 1 of communicator 0, tag 42"));
}

TEST_CASE("messaging: a message that nobody receives is named by its sender") {
  const auto deadlock_of = [](const std::vector<std::uint32_t>& tags, bool cancelled) {
    message_bench bench{message_machine(2, 4)};
    bench.on(0, [&bench, tags, cancelled](messaging& m, pe_runtime&) {
      if (cancelled) (void)m.wait(m.irecv(bench.world, 1, 5, {0, 8}));
      for (const std::uint32_t tag : tags) (void)m.wait(m.isend(bench.world, 1, tag, {0, 16}));
    });
    bench.on(1, [&bench, cancelled](messaging& m, pe_runtime&) {
      if (!cancelled) return;
      const auto r = m.irecv(bench.world, 0, 1, {0, 16});
      m.cancel(r);
      CHECK(m.wait(r).cancelled);
      (void)m.wait(m.isend(bench.world, 0, 5, {0, 8}));
    });
    const auto outcome = bench.run();
    CHECK_FALSE(outcome.finished);
    return outcome.deadlock;
  };
  const std::string one =
      "end of messaging: 1 of 1 messages to sip0.cube0.pe1 not received yet, tag 1 of communicator 0";
  CHECK_THAT(deadlock_of({1}, false), Catch::Contains(one));
  CHECK_THAT(deadlock_of({1}, true), Catch::Contains(one));
  CHECK_THAT(deadlock_of({1, 2}, false),
             Catch::Contains("end of messaging: 2 of 2 messages to sip0.cube0.pe1 not received yet") &&
                 !Catch::Contains("tag 1 of"));
}

TEST_CASE("messaging: what the sender names is what is missing then, not when it began to wait") {
  message_bench bench{message_machine(2, 4)};
  bench.on(0, [&bench](messaging& m, pe_runtime&) {
    for (const std::uint32_t tag : {1U, 2U}) (void)m.wait(m.isend(bench.world, 1, tag, {0, 16}));
  });
  bench.on(1, [&bench](messaging& m, pe_runtime& r) {
    r.work(100'000);
    (void)m.wait(m.irecv(bench.world, 0, sw::any_tag, {0, 16}));
    (void)m.wait(m.irecv(bench.world, 0, 1, {0, 16}));
  });
  const auto outcome = bench.run();
  CHECK_FALSE(outcome.finished);
  CHECK_THAT(outcome.deadlock,
             Catch::Contains("end of messaging: 1 of 2 messages to sip0.cube0.pe1 not received yet") &&
                 Catch::Contains("receive from rank 0 of communicator 0, tag 1"));
}

TEST_CASE("messaging: a deadlock for want of heap names the heap and its key") {
  const auto deadlock_of = [](std::uint64_t heap_kib, std::uint32_t first) {
    config::machine_config c = message_machine(2, 4);
    c.tag_match.heap_kib = heap_kib;
    message_bench bench{c};
    bench.on(0, [&bench, first](messaging& m, pe_runtime&) {
      std::vector<sw::message_request> sends;
      for (std::uint32_t i = 0; i < first; ++i) sends.push_back(m.isend(bench.world, 1, 1, {0, 64}));
      sends.push_back(m.isend(bench.world, 1, 2, {0, 64}));
      m.wait_all(sends);
    });
    bench.on(1, [&bench, first](messaging& m, pe_runtime&) {
      (void)m.wait(m.irecv(bench.world, 0, 2, {0, 64}));
      for (std::uint32_t i = 0; i < first; ++i) (void)m.wait(m.irecv(bench.world, 0, 1, {0, 64}));
    });
    return bench.run().deadlock;
  };
  const std::string wanted = "receive from rank 0 of communicator 0, tag 2; heap of tag_match.heap_kib full";
  CHECK_THAT(deadlock_of(0, 2), Catch::Contains(wanted));   // the ring's two slots are taken
  CHECK_THAT(deadlock_of(1, 18), Catch::Contains(wanted));  // and the heap's 16 times 64 bytes
  CHECK(deadlock_of(0, 1) == "");
  CHECK(deadlock_of(1, 17) == "");
}

namespace {

/// Returns when so many messages have come that no receive has matched.
void await_unexpected(const messaging& m, pe_runtime& r, std::uint64_t messages) {
  r.tasks().block([&m, messages] { return m.counts().unexpected_eager >= messages; });
}

}  // namespace

TEST_CASE("messaging: room that one task's receives leave in the heap is of use to another task's wait") {
  constexpr std::uint32_t in_heap = 16, in_ring = 2;  // messages of 64 bytes
  for (const bool probed : {false, true}) {
    on_every_machine(
        2,
        [probed](message_bench& bench) {
          bench.on(0, [&bench](messaging& m, pe_runtime&) {
            std::vector<sw::message_request> sends;
            for (std::uint32_t i = 0; i < in_heap + in_ring; ++i)
              sends.push_back(m.isend(bench.world, 1, 1, {0, 64}));
            sends.push_back(m.isend(bench.world, 1, 2, {0, 64}));
            m.wait_all(sends);
          });
          bench.on(1, [&bench, probed](messaging& m, pe_runtime& r) {
            const auto awaits_last = [&] { (void)m.wait(m.irecv(bench.world, 0, 2, {0x100, 64})); };
            const auto makes_room = [&] {
              await_unexpected(m, r, in_heap + in_ring);
              std::vector<sw::message_request> received;
              if (probed) {
                std::vector<sw::matched_message> found;
                for (std::uint32_t i = 0; i < in_heap; ++i)
                  found.push_back(m.improbe(bench.world, 0, 1).value());
                for (const auto& f : found) received.push_back(m.imrecv(f, {0x200, 64}));
              } else {
                for (std::uint32_t i = 0; i < in_heap; ++i)
                  received.push_back(m.irecv(bench.world, 0, 1, {0x200, 64}));
              }
              m.wait_all(received);
            };
            r.tasks().run({awaits_last, makes_room});
            for (std::uint32_t i = 0; i < in_ring; ++i) (void)m.wait(m.irecv(bench.world, 0, 1, {0x200, 64}));
          });
        },
        [](const message_bench&) {}, [](config::machine_config& c) { c.tag_match.heap_kib = 1; });
  }
}

TEST_CASE("messaging: a message too long for what is left of the heap does not hold up those of other PEs") {
  constexpr std::uint32_t in_heap = 5, in_ring = 2;  // 5 times 192 bytes leave 64 of a KiB
  on_every_machine(
      3,
      [](message_bench& bench) {
        bench.on(0, [&bench](messaging& m, pe_runtime&) {
          std::vector<sw::message_request> sends;
          for (std::uint32_t i = 0; i < in_heap + in_ring; ++i)
            sends.push_back(m.isend(bench.world, 1, 1, {0, 192}));
          m.wait_all(sends);
        });
        bench.on(1, [&bench](messaging& m, pe_runtime& r) {
          await_unexpected(m, r, in_heap + in_ring);
          (void)m.wait(m.isend(bench.world, 2, 0, {0, 8}));
          (void)m.wait(m.irecv(bench.world, 2, 3, {0x100, 8}));
          for (int i = 0; i < 2; ++i) (void)m.wait(m.irecv(bench.world, 2, 2, {0x100, 8}));
          for (std::uint32_t i = 0; i < in_heap + in_ring; ++i)
            (void)m.wait(m.irecv(bench.world, 0, 1, {0x200, 192}));
        });
        bench.on(2, [&bench](messaging& m, pe_runtime&) {
          (void)m.wait(m.irecv(bench.world, 1, 0, {0, 8}));
          std::vector<sw::message_request> sends;
          for (const std::uint32_t tag : {2U, 2U, 3U}) sends.push_back(m.isend(bench.world, 1, tag, {0, 8}));
          m.wait_all(sends);
        });
      },
      [](const message_bench&) {},
      [](config::machine_config& c) {
        c.tag_match.heap_kib = 1;
        c.tag_match.eager_bytes = c.tag_match.rndv_max_bytes = 192;
      });
}

TEST_CASE("messaging: a wait says what it lacks when the core idles, and nothing while another task works") {
  config::machine_config c = message_machine(2, 4);
  c.tag_match.heap_kib = 0;
  std::string shown;
  sw::mock_options options{sw::schedule::random, 1};
  options.on_step = [&shown](pe_coord pe, const diecast::abi::step_marker& step) {
    if (pe.pe.value == 1) shown = step.name;
  };
  message_bench bench{c, options};
  bench.on(0, [&bench](messaging& m, pe_runtime&) {
    std::vector<sw::message_request> sends;
    for (const std::uint32_t tag : {1U, 1U, 2U}) sends.push_back(m.isend(bench.world, 1, tag, {0, 64}));
    m.wait_all(sends);
  });
  bench.on(1, [&bench, &shown](messaging& m, pe_runtime& r) {
    const auto receive = [&] { (void)m.wait(m.irecv(bench.world, 0, 2, {0, 64})); };
    const auto work = [&] {
      r.hal().mark_step({"work"});
      for (int i = 0; i < 1000 && m.counts().unexpected_eager < 2; ++i) r.work(1000);
      CHECK(m.counts().unexpected_eager == 2);
      r.work(1000);  // the receive's task is looked at once more: what it lacks has changed
      CHECK(shown == "work");
    };
    r.tasks().run({receive, work});
  });
  const std::string lacks = "receive from rank 0 of communicator 0, tag 2; heap of tag_match.heap_kib full";
  CHECK_THAT(bench.run().deadlock, Catch::Contains(lacks));
  CHECK(shown == lacks);
}
