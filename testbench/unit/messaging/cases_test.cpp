// SPDX-License-Identifier: Apache-2.0
// Each case that a tag matcher must get right, by name, with 0, 1 and 16 entries of the unit, on the mock
// machine.
#include "message_bench.hpp"
#include "support/test.hpp"
#include "sw/runtime/firmware_trap.hpp"

using namespace diecast;
using namespace diecast::test;
using sw::message_buffer;
using sw::messaging;
using sw::pe_runtime;

namespace {

constexpr std::uint64_t entry_counts[] = {0, 1, 16};
constexpr sw::schedule schedules[] = {sw::schedule::round_robin, sw::schedule::random,
                                      sw::schedule::adversarial};

/// Runs `prepare` on benches of every kind.
void on_every_machine(
    std::uint64_t pes, const std::function<void(message_bench&)>& prepare,
    const std::function<void(const message_bench&)>& check = [](const message_bench&) {},
    const std::function<void(config::machine_config&)>& adjust = [](auto&) {}) {
  for (const std::uint64_t entries : entry_counts) {
    for (const sw::schedule order : schedules) {
      for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        CAPTURE(entries, sw::to_string(order), seed);
        config::machine_config c = message_machine(pes, entries);
        adjust(c);
        message_bench bench{c, {order, seed}};
        prepare(bench);
        const sw::mock_outcome outcome = bench.run();
        INFO(outcome.deadlock);
        REQUIRE(outcome.finished);
        check(bench);
      }
    }
  }
}

std::string pattern(std::size_t bytes, char first = 'a') {
  std::string s(bytes, ' ');
  for (std::size_t i = 0; i < bytes; ++i) s[i] = static_cast<char>(first + static_cast<char>(i % 23));
  return s;
}

enum class protocol_of : std::uint8_t { eager, rndv, sw_rndv };

/// The protocol of a contiguous send, as docs/tag-matching.md has it.
protocol_of protocol_for(const config::tag_match_block& c, std::uint64_t bytes, sw::send_mode mode) {
  if (bytes <= c.eager_bytes && mode == sw::send_mode::standard) return protocol_of::eager;
  return bytes <= c.rndv_max_bytes ? protocol_of::rndv : protocol_of::sw_rndv;
}

/// Counters of the sender, whose handshake is another eager message when the message is to be unexpected.
void check_sent(const sw::message_counts& c, protocol_of p, bool expected) {
  CHECK(c.sent_eager == (p == protocol_of::eager ? 1U : 0U) + (expected ? 0U : 1U));
  CHECK(c.sent_rndv == (p == protocol_of::rndv ? 1U : 0U));
  CHECK(c.sent_sw_rndv == (p == protocol_of::sw_rndv ? 1U : 0U));
}

std::uint64_t unexpected(const sw::message_counts& c) {
  return c.unexpected_eager + c.unexpected_rndv + c.unexpected_sw_rndv;
}

/// Of the receiver. In hardware: the unit has the receive when the message comes.
void check_matched(const sw::message_counts& c, protocol_of p, bool hardware) {
  if (hardware) {
    CHECK(c.matching.matched_in_hardware == 1);
    CHECK(unexpected(c) == 0);
    return;
  }
  CHECK(c.matching.matched_in_software >= 1);
  CHECK((p == protocol_of::eager  ? c.unexpected_eager
         : p == protocol_of::rndv ? c.unexpected_rndv
                                  : c.unexpected_sw_rndv) >= 1);
}

/// Posted before the message can come (expected), or long after (unexpected): a handshake on another tag
/// decides, and the counters must show it.
void exchange(
    std::uint64_t bytes, bool expected, sw::send_mode mode, std::uint64_t block = 0,
    const std::function<void(config::machine_config&)>& adjust = [](auto&) {}) {
  on_every_machine(
      2,
      [=](message_bench& bench) {
        bench.put(0, 0x1000, pattern(2 * bytes + 64));
        bench.on(0, [&bench, bytes, expected, mode](messaging& m, pe_runtime&) {
          if (expected) (void)m.wait(m.irecv(bench.world, 1, 99, {0, 8}));
          const auto send = m.isend(bench.world, 1, 7, {0x1000, bytes}, mode);
          if (!expected) (void)m.wait(m.isend(bench.world, 1, 98, {0x40, 8}));
          const auto s = m.wait(send);
          CHECK(s.bytes == bytes);
          check_sent(m.counts(), protocol_for(bench.config.tag_match, bytes, mode), expected);
        });
        bench.on(1, [&bench, bytes, expected, mode, block](messaging& m, pe_runtime&) {
          const message_buffer to{0x2000, bytes, block, 2 * block};
          const protocol_of p = protocol_for(bench.config.tag_match, bytes, mode);
          if (expected) {
            const auto r = m.irecv(bench.world, 0, 7, to);
            // The unit executes commands in order: it answers this one's REMOVE when it has the other, if it
            // took both.
            const auto behind = m.irecv(bench.world, 0, 96, {0x40, 8});
            m.cancel(behind);
            CHECK(m.wait(behind).cancelled);
            (void)m.wait(m.isend(bench.world, 0, 99, {0, 8}));
            CHECK(m.wait(r).bytes == bytes);
            const std::uint64_t entries = to.contiguous() ? bench.config.tag_match.entries : 0;
            if (entries != 1 || bench.order == sw::schedule::round_robin) {
              check_matched(m.counts(), p, entries > 0);
            }
            const auto matching = m.counts().matching;
            CHECK(matching.matched_in_hardware + matching.matched_in_software == 1);
          } else {
            (void)m.wait(m.irecv(bench.world, 0, 98, {0, 8}));  // arrives behind the other one
            const sw::message_counts before = m.counts();
            CHECK(unexpected(before) ==
                  1 + before.matching.matched_in_software);  // the handshake's, if it was
            const auto s = m.wait(m.irecv(bench.world, 0, 7, to));
            CHECK(s.bytes == bytes);
            CHECK(s.source == 0);
            CHECK(s.tag == 7);
            check_matched(m.counts(), p, false);
          }
        });
      },
      [=](const message_bench& bench) {
        const std::string sent = pattern(2 * bytes + 64);
        const message_buffer to{0x2000, bytes, block, 2 * block};
        for (std::uint64_t at = 0; at < bytes;) {
          const auto place = to.at(at);
          CHECK(bench.get(1, place.offset, place.run) == sent.substr(at, place.run));
          at += place.run;
        }
      },
      adjust);
}

/// Synchronously, from a buffer of 4 bytes at every 12 into one that holds just that.
void send_strided(std::uint64_t bytes, bool expected) {
  const message_buffer from{0x1000, bytes, 4, 12};
  on_every_machine(
      2,
      [=](message_bench& bench) {
        bench.put(0, 0x1000, pattern(200));
        bench.on(0, [&bench, from, expected](messaging& m, pe_runtime&) {
          if (expected) (void)m.wait(m.irecv(bench.world, 1, 99, {0, 8}));
          const auto send = m.isend(bench.world, 1, 7, from, sw::send_mode::synchronous);
          if (!expected) (void)m.wait(m.isend(bench.world, 1, 98, {0x40, 8}));
          (void)m.wait(send);
        });
        bench.on(1, [&bench, bytes, expected](messaging& m, pe_runtime&) {
          if (!expected) (void)m.wait(m.irecv(bench.world, 0, 98, {0, 8}));
          const auto r = m.irecv(bench.world, 0, 7, {0x2000, bytes});
          if (expected) (void)m.wait(m.isend(bench.world, 0, 99, {0, 8}));
          CHECK(m.wait(r).bytes == bytes);
        });
      },
      [=](const message_bench& bench) {
        const std::string source = pattern(200);
        std::string sent;
        for (std::uint64_t at = 0; at < bytes; ++at) sent += source[at / 4 * 12 + at % 4];
        CHECK(bench.get(1, 0x2000, bytes) == sent);
      });
}

}  // namespace

TEST_CASE("messaging: expected eager") { exchange(40, true, sw::send_mode::standard); }
TEST_CASE("messaging: unexpected eager") { exchange(40, false, sw::send_mode::standard); }
TEST_CASE("messaging: expected rendezvous") { exchange(150, true, sw::send_mode::standard); }
TEST_CASE("messaging: unexpected rendezvous") { exchange(150, false, sw::send_mode::standard); }
TEST_CASE("messaging: expected synchronous") { exchange(40, true, sw::send_mode::synchronous); }
TEST_CASE("messaging: unexpected synchronous") { exchange(40, false, sw::send_mode::synchronous); }
TEST_CASE("messaging: expected and longer than the unit takes") {
  exchange(999, true, sw::send_mode::standard);
}
TEST_CASE("messaging: unexpected and longer than the unit takes") {
  exchange(999, false, sw::send_mode::standard);
}
TEST_CASE("messaging: expected into a strided buffer") {
  for (const std::uint64_t bytes : {40, 150, 500}) exchange(bytes, true, sw::send_mode::standard, 12);
}
TEST_CASE("messaging: unexpected into a strided buffer") {
  for (const std::uint64_t bytes : {40, 150, 500}) exchange(bytes, false, sw::send_mode::standard, 12);
}
TEST_CASE("messaging: a strided send shorter than a rendezvous request") {
  for (const std::uint64_t bytes : {16, 31, 32, 40}) {
    for (const bool expected : {true, false}) {
      CAPTURE(bytes, expected);
      send_strided(bytes, expected);
    }
  }
}
TEST_CASE("messaging: more blocks than reads can be under way") {
  // A byte at every second address: 70,000 reads, which have 16-bit names.
  constexpr std::uint64_t bytes = 70'000;
  message_bench bench{message_machine(2, 0)};
  bench.put(0, 0, pattern(bytes));
  bench.on(0, [&](messaging& m, pe_runtime&) { (void)m.wait(m.isend(bench.world, 1, 1, {0, bytes})); });
  bench.on(1, [&](messaging& m, pe_runtime&) {
    const auto r = m.irecv(bench.world, 0, 1, {0x20000, bytes, 1, 2});
    const auto other = m.irecv(bench.world, 1, 2, {0x10, 9});  // is not held up for ever either
    (void)m.wait(m.isend(bench.world, 1, 2, {0, 9}));
    CHECK(m.wait(other).bytes == 9);
    CHECK(m.wait(r).bytes == bytes);
  });
  const sw::mock_outcome outcome = bench.run();
  INFO(outcome.deadlock);
  REQUIRE(outcome.finished);
  const std::string sent = pattern(bytes), got = bench.get(1, 0x20000, 2 * bytes);
  std::uint64_t wrong = 0;
  for (std::uint64_t at = 0; at < bytes; ++at) wrong += got[2 * at] != sent[at] ? 1 : 0;
  CHECK(wrong == 0);
}
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
TEST_CASE("messaging: empty messages") {
  for (const bool expected : {false, true}) exchange(0, expected, sw::send_mode::standard);
}

TEST_CASE("messaging: a synchronous send does not complete before a receive has matched") {
  on_every_machine(2, [](message_bench& bench) {
    bench.on(0, [&bench](messaging& m, pe_runtime&) {
      const auto send = m.isend(bench.world, 1, 1, {0, 16}, sw::send_mode::synchronous);
      (void)m.wait(m.irecv(bench.world, 1, 2, {0x100, 8}));  // the other has posted nothing for it yet
      CHECK_FALSE(m.test(send).has_value());
      (void)m.wait(m.isend(bench.world, 1, 3, {0, 8}));
      (void)m.wait(send);
    });
    bench.on(1, [&bench](messaging& m, pe_runtime&) {
      (void)m.wait(m.isend(bench.world, 0, 2, {0, 8}));
      (void)m.wait(m.irecv(bench.world, 0, 3, {0, 8}));
      (void)m.wait(m.irecv(bench.world, 0, 1, {0, 16}));
    });
  });
}

TEST_CASE("messaging: a message in several fragments") {
  for (const bool expected : {false, true}) {
    exchange(1000, expected, sw::send_mode::standard, 0, [](config::machine_config& c) {
      c.noc.max_packet_bytes = 64;
      c.tag_match.eager_bytes = 1024;
    });
  }
}

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
      "end of messaging: 1 of 1 messages to sip0.cube0.pe1 not received, tag 1 of communicator 0";
  CHECK_THAT(deadlock_of({1}, false), Catch::Contains(one));
  CHECK_THAT(deadlock_of({1}, true), Catch::Contains(one));
  CHECK_THAT(deadlock_of({1, 2}, false),
             Catch::Contains("end of messaging: 2 of 2 messages to sip0.cube0.pe1 not received") &&
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
             Catch::Contains("end of messaging: 1 of 2 messages to sip0.cube0.pe1 not received") &&
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
