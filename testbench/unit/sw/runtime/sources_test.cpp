// SPDX-License-Identifier: Apache-2.0
// The runtime on the mock machine: until when the source of a message must stay as it is.
#include <array>
#include <vector>

#include "support/test.hpp"
#include "unit/sw/collectives/rings/ring_bench.hpp"

namespace diecast::test {
namespace {

TEST_CASE("a source overwritten right after send() or wait(isend()) has been read") {
  for (const auto order : orders) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      ring_bench b{2, 2, {order, seed}};
      b.put(0, 0, {1, 2, 3, 4});
      b.on(0, [](pe_context& pe) {
        pe.send(comm::east, 0, 16);
        overwrite(pe, 0, 7);
        const sw::ticket t = pe.isend(comm::east, 0, 16);
        pe.wait(t);
        overwrite(pe, 0, 8);
      });
      b.on(1, [](pe_context& pe) {
        CHECK(pe.recv(comm::west, 100) == 16);
        CHECK(pe.recv(comm::west, 200) == 16);
      });
      CHECK(b.run().deadlock == "");
      CHECK(b.get(1, 100, 4) == words{1, 2, 3, 4});
      CHECK(b.get(1, 200, 4) == words{7, 7, 7, 7});
    }
  }
}

TEST_CASE("finish() ends with every source read") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    ring_bench b{2, 2, {sw::schedule::random, seed}};
    b.put(0, 0, {1, 2, 3, 4});
    b.on(0, [](pe_context& pe) {
      (void)pe.isend(comm::east, 0, 16);
      (void)pe.isend(comm::west, 0, 16);
      pe.finish();
      overwrite(pe, 0, 7);
    });
    b.on(1, [](pe_context& pe) {
      (void)pe.recv(comm::west, 100);
      (void)pe.recv(comm::east, 200);
    });
    CHECK(b.run().finished);
    CHECK(b.get(1, 100, 4) == words{1, 2, 3, 4});
    CHECK(b.get(1, 200, 4) == words{1, 2, 3, 4});
  }
}

TEST_CASE("isend alone does not wait: an overwritten source shows") {
  // The counterpart of the case above: without wait() some order must deliver the new bytes.
  bool overtaken = false;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    ring_bench b{2, 2, {sw::schedule::random, seed}};
    b.put(0, 0, {1, 2, 3, 4});
    b.on(0, [](pe_context& pe) {
      (void)pe.isend(comm::east, 0, 16);
      overwrite(pe, 0, 7);
    });
    b.on(1, [](pe_context& pe) { (void)pe.recv(comm::west, 100); });
    CHECK(b.run().finished);
    overtaken = overtaken || b.get(1, 100, 1).front() == 7;
  }
  CHECK(overtaken);
}

TEST_CASE("the runtime's own writes wait for sends that still read their destination") {
  for (const auto order : orders) {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      ring_bench b{2, 4, {order, seed}};
      b.put(0, 0, {1, 2, 3, 4});
      b.put(0, 64, {9, 9, 9, 9});
      b.on(0, [](pe_context& pe) {
        (void)pe.isend(comm::east, 0, 16);
        pe.copy(0, 64, 16);
        (void)pe.isend(comm::east, 0, 16);
        pe.reduce(8, 64, 4);  // overlaps the source's third word only
      });
      b.on(1, [](pe_context& pe) {
        (void)pe.recv(comm::west, 100);
        (void)pe.recv(comm::west, 200);
      });
      CHECK(b.run().finished);
      CHECK(b.get(1, 100, 4) == words{1, 2, 3, 4});
      CHECK(b.get(1, 200, 4) == words{9, 9, 9, 9});
      CHECK(b.get(0, 0, 4) == words{9, 9, 18, 9});
    }
  }
}

TEST_CASE("an exchange in place with slots of two sizes adds what was sent, not what came") {
  constexpr std::uint32_t count = 40;
  const auto short_east = [](comm::install_plan& plan) {
    for (comm::queue_pair_install& q : plan.queue_pairs) {
      const bool first = q.owner.pe == pe_id{0};
      if (q.dir == (first ? comm::east : comm::west)) q.slot_bytes = 16;
    }
  };
  for (const auto order : orders) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      ring_bench b{2, 2, {order, seed}, "ring_1d", nullptr, short_east};
      words sum(count);
      for (const std::uint32_t rank : {0U, 1U}) {
        words mine(count);
        for (std::uint32_t i = 0; i < count; ++i) {
          mine[i] = (rank + 1) * 1000 + i;
          sum[i] += mine[i];
        }
        b.put(rank, 0, mine);
        b.on(rank, [](pe_context& pe) {
          pe.exchange(comm::east, {0, count * 4}, comm::west, {0, count * 4}, pe_context::arrival::reduce);
        });
      }
      CHECK(b.run().deadlock == "");
      CHECK(b.get(0, 0, count) == sum);
      CHECK(b.get(1, 0, count) == sum);
    }
  }
}

TEST_CASE("of tasks that wait for the same source to be read, one writes at a time") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    ring_bench b{2, 4, {sw::schedule::random, seed}};
    b.put(0, 0, {1, 1});
    b.put(0, 64, {2, 2});
    b.put(0, 128, {3, 3});
    b.on(0, [](pe_context& pe) {
      // Neither can wait between its copy and its doorbell: there is a slot for each.
      const auto replace = [&pe](std::uint64_t source) {
        pe.copy(0, source, 8);
        (void)pe.isend(comm::east, 0, 8);
      };
      (void)pe.isend(comm::east, 0, 8);
      pe.run_tasks({[&] { replace(64); }, [&] { replace(128); }});
    });
    b.on(1, [](pe_context& pe) {
      for (std::uint64_t i = 0; i < 3; ++i) CHECK(pe.recv(comm::west, i * 8) == 8);
    });
    CHECK(b.run().deadlock == "");
    const words got = b.get(1, 0, 6);
    CAPTURE(seed, got);
    CHECK(got[0] == 1);
    CHECK(got[2] + got[4] == 5);  // in either order
  }
}

}  // namespace
}  // namespace diecast::test
