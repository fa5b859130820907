// SPDX-License-Identifier: Apache-2.0
// Which receive a message goes to, and what counters tell of it.
#include "every_machine.hpp"

using namespace diecast;
using namespace diecast::test;
using sw::messaging;
using sw::pe_runtime;

TEST_CASE("messaging: wildcards of source and tag") {
  on_every_machine(3, [](message_bench& bench) {
    for (const std::uint32_t rank : {0U, 1U}) {
      bench.on(rank, [&bench, rank](messaging& m, pe_runtime&) {
        (void)m.wait(m.isend(bench.world, 2, 10 + rank, {0, 16}));
        (void)m.wait(m.isend(bench.world, 2, 20 + rank, {0, 16}));
      });
    }
    bench.on(2, [&bench](messaging& m, pe_runtime&) {
      const auto any_of_1 = m.wait(m.irecv(bench.world, 1, sw::any_tag, {0, 16}));
      CHECK(any_of_1.tag == 11);
      CHECK(m.wait(m.irecv(bench.world, sw::any_source, 20, {0, 16})).source == 0);
      const auto rest = m.wait(m.irecv(bench.world, sw::any_source, sw::any_tag, {0, 16}));
      const auto last = m.wait(m.irecv(bench.world, sw::any_source, sw::any_tag, {0, 16}));
      CHECK(rest.tag + last.tag == 10 + 21);
    });
  });
}

TEST_CASE("messaging: communicators keep messages apart") {
  on_every_machine(2, [](message_bench& bench) {
    bench.on(0, [&bench](messaging& m, pe_runtime&) {
      const sw::communicator other{5, {bench.world.members[1], bench.world.members[0]}};
      const auto a = m.isend(bench.world, 1, 1, {0, 16});
      const auto b = m.isend(other, 0, 1, {0, 32});
      m.wait_all(std::vector{a, b});
    });
    bench.on(1, [&bench](messaging& m, pe_runtime&) {
      const sw::communicator other{5, {bench.world.members[1], bench.world.members[0]}};
      const auto s = m.wait(m.irecv(other, sw::any_source, sw::any_tag, {0, 64}));
      CHECK(s.bytes == 32);
      CHECK(s.source == 1);
      CHECK(m.wait(m.irecv(bench.world, sw::any_source, sw::any_tag, {0, 64})).bytes == 16);
    });
  });
}

TEST_CASE("messaging: probe leaves a message, mprobe takes it from every other receive") {
  on_every_machine(2, [](message_bench& bench) {
    bench.on(0, [&bench](messaging& m, pe_runtime&) {
      for (std::uint32_t tag = 1; tag <= 3; ++tag) (void)m.wait(m.isend(bench.world, 1, tag, {0, 8 * tag}));
    });
    bench.on(1, [&bench](messaging& m, pe_runtime&) {
      CHECK(m.probe(bench.world, sw::any_source, 2).bytes == 16);
      CHECK(m.iprobe(bench.world, 0, 2).has_value());
      CHECK_FALSE(m.iprobe(bench.world, 1, 2).has_value());
      const auto taken = m.mprobe(bench.world, 0, sw::any_tag);
      CHECK(taken.status.tag == 1);
      CHECK_FALSE(m.iprobe(bench.world, 0, 1).has_value());
      CHECK(m.wait(m.irecv(bench.world, 0, sw::any_tag, {0x100, 64})).tag == 2);
      CHECK(m.wait(m.imrecv(taken, {0x200, 64})).bytes == 8);
      CHECK(m.wait(m.irecv(bench.world, 0, sw::any_tag, {0x100, 64})).tag == 3);
    });
  });
}

TEST_CASE("messaging: cancel before a match, during one and after one") {
  on_every_machine(2, [](message_bench& bench) {
    bench.on(0, [&bench](messaging& m, pe_runtime&) {
      (void)m.wait(m.irecv(bench.world, 1, 1, {0, 8}));
      const auto racing = m.isend(bench.world, 1, 2, {0, 8});
      (void)m.wait(racing);
    });
    bench.on(1, [&bench](messaging& m, pe_runtime&) {
      const auto before = m.irecv(bench.world, 0, 7, {0, 8});
      m.cancel(before);
      CHECK(m.wait(before).cancelled);
      const auto during = m.irecv(bench.world, 0, 2, {0x10, 8});
      (void)m.wait(m.isend(bench.world, 0, 1, {0, 8}));
      m.cancel(during);  // its message may be anywhere
      const auto s = m.wait(during);
      if (s.cancelled) {
        const auto after = m.irecv(bench.world, 0, 2, {0x10, 8});
        CHECK_FALSE(m.wait(after).cancelled);
      }
      // A synchronous send to itself has ended, so its receive has matched.
      const auto self = m.irecv(bench.world, 1, 3, {0x20, 8});
      (void)m.wait(m.isend(bench.world, 1, 3, {0, 8}, sw::send_mode::synchronous));
      m.cancel(self);
      CHECK_FALSE(m.wait(self).cancelled);
    });
  });
}

TEST_CASE("messaging: the same buffer posted twice is filled twice") {
  on_every_machine(2, [](message_bench& bench) {
    bench.on(0, [&bench](messaging& m, pe_runtime&) {
      (void)m.wait(m.isend(bench.world, 1, 1, {0, 8}));
      (void)m.wait(m.isend(bench.world, 1, 1, {0, 16}));
    });
    bench.on(1, [&bench](messaging& m, pe_runtime&) {
      const auto first = m.irecv(bench.world, 0, 1, {0x100, 64});
      const auto second = m.irecv(bench.world, 0, 1, {0x100, 64});
      CHECK(m.wait(second).bytes == 16);
      CHECK(m.wait(first).bytes == 8);
    });
  });
}

TEST_CASE("messaging: many receives posted, matched in any order of tags") {
  on_every_machine(2, [](message_bench& bench) {
    bench.on(0, [&bench](messaging& m, pe_runtime&) {
      for (std::uint32_t i = 0; i < 40; ++i) (void)m.wait(m.isend(bench.world, 1, (i * 7) % 40, {0, 8 + i}));
    });
    bench.on(1, [&bench](messaging& m, pe_runtime&) {
      std::vector<sw::message_request> posted;
      for (std::uint32_t tag = 0; tag < 40; ++tag)
        posted.push_back(m.irecv(bench.world, 0, tag, {64U * tag, 64}));
      for (std::uint32_t tag = 0; tag < 40; ++tag) {
        const auto s = m.wait(posted[tag]);
        CHECK(s.tag == tag);
        CHECK((s.bytes - 8) * 7 % 40 == tag);
      }
    });
  });
}

TEST_CASE("messaging: a flood into a ring of one message, received from the back") {
  on_every_machine(
      2,
      [](message_bench& bench) {
        bench.on(0, [&bench](messaging& m, pe_runtime&) {
          std::vector<sw::message_request> sends;
          for (std::uint32_t i = 0; i < 30; ++i) sends.push_back(m.isend(bench.world, 1, i, {0, 32 + i}));
          m.wait_all(sends);
        });
        bench.on(1, [&bench](messaging& m, pe_runtime&) {
          for (std::uint32_t i = 30; i-- > 0;) {
            CHECK(m.wait(m.irecv(bench.world, 0, i, {0x100, 64})).bytes == 32 + i);
          }
          CHECK(m.counts().copied_out > 0);
        });
      },
      [](const message_bench&) {}, [](config::machine_config& c) { c.tag_match.ring_messages = 1; });
}

TEST_CASE("messaging: to itself, eager and by rendezvous") {
  on_every_machine(
      1,
      [](message_bench& bench) {
        bench.put(0, 0, pattern(1000));
        bench.on(0, [&bench](messaging& m, pe_runtime&) {
          for (const std::uint64_t bytes : {8, 64, 150, 700}) {
            const auto s = m.sendrecv(bench.world, 0, 1, {0, bytes}, 0, 1, {0x1000, bytes});
            CHECK(s.bytes == bytes);
            const auto send = m.isend(bench.world, 0, 2, {0, bytes});
            CHECK(m.wait(m.irecv(bench.world, 0, 2, {0x2000, bytes})).bytes == bytes);
            (void)m.wait(send);
          }
        });
      },
      [](const message_bench& bench) {
        CHECK(bench.get(0, 0x1000, 700) == pattern(700));
        CHECK(bench.get(0, 0x2000, 700) == pattern(700));
      });
}

TEST_CASE("messaging: two sources and receives of any source") {
  on_every_machine(3, [](message_bench& bench) {
    for (const std::uint32_t rank : {0U, 1U}) {
      bench.on(rank, [&bench](messaging& m, pe_runtime&) {
        for (std::uint32_t i = 0; i < 10; ++i) (void)m.wait(m.isend(bench.world, 2, 5, {0, 8 * (i + 1)}));
      });
    }
    bench.on(2, [&bench](messaging& m, pe_runtime&) {
      std::vector<sw::message_request> posted;
      for (int i = 0; i < 20; ++i) posted.push_back(m.irecv(bench.world, sw::any_source, 5, {0x100, 128}));
      std::uint64_t next[2] = {8, 8}, last_arrival = 0;
      for (const auto r : posted) {
        const auto s = m.wait(r);
        CHECK(s.bytes == next[s.source]);
        next[s.source] += 8;
        CHECK(s.arrival > last_arrival);
        last_arrival = s.arrival;
      }
    });
  });
}

TEST_CASE("messaging: a ring of sendrecv over all ranks") {
  for (const std::uint64_t bytes : {16, 150, 600}) {
    on_every_machine(5, [bytes](message_bench& bench) {
      for (std::uint32_t rank = 0; rank < 5; ++rank) {
        bench.on(rank, [&bench, rank, bytes](messaging& m, pe_runtime&) {
          for (int round = 0; round < 3; ++round) {
            const auto s =
                m.sendrecv(bench.world, (rank + 1) % 5, 1, {0, bytes}, (rank + 4) % 5, 1, {0x1000, bytes});
            CHECK(s.source == (rank + 4) % 5);
          }
        });
      }
    });
  }
}

TEST_CASE("messaging: messages that come before a PE has begun are matched in their order") {
  on_every_machine(2, [](message_bench& bench) {
    bench.on(0, [&bench](messaging& m, pe_runtime&) {
      for (std::uint32_t i = 1; i <= 2; ++i) (void)m.wait(m.isend(bench.world, 1, 1, {0, 8 * i}));
    });
    bench.on(1, [&bench](messaging& m, pe_runtime&) {
      std::vector<sw::message_request> posted;
      for (int i = 0; i < 2; ++i) posted.push_back(m.irecv(bench.world, sw::any_source, 1, {0x100, 64}));
      CHECK(m.wait(posted[0]).bytes == 8);
      CHECK(m.wait(posted[1]).bytes == 16);
    });
  });
}

TEST_CASE("messaging: the counters tell who matched and why not the unit") {
  message_bench bench{message_machine(2, 1)};
  bench.on(0, [&bench](messaging& m, pe_runtime&) {
    (void)m.wait(m.irecv(bench.world, 1, 9, {0, 8}));
    for (std::uint32_t tag = 1; tag <= 3; ++tag) (void)m.wait(m.isend(bench.world, 1, tag, {0, 8}));
  });
  bench.on(1, [&bench](messaging& m, pe_runtime&) {
    std::vector<sw::message_request> posted;
    for (std::uint32_t tag = 1; tag <= 3; ++tag) posted.push_back(m.irecv(bench.world, 0, tag, {0, 8}));
    (void)m.wait(m.isend(bench.world, 0, 9, {0, 8}));
    m.wait_all(posted);
    const auto c = m.counts();
    CHECK(c.matching.posted == 3);
    CHECK(c.matching.matched_in_hardware == 1);
    CHECK(c.matching.matched_in_software == 2);
    CHECK(c.matching.blocked_full + c.matching.blocked_software_pending == 2);
    CHECK(c.unexpected_eager == 2);
    CHECK(c.compared > 0);
  });
  CHECK(bench.run().finished);
}
