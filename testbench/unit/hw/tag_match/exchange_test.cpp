// SPDX-License-Identifier: Apache-2.0
// One message between two PEs: by every protocol, expected or not, into buffers of every kind.
#include "every_machine.hpp"

using namespace diecast;
using namespace diecast::test;
using sw::message_buffer;
using sw::messaging;
using sw::pe_runtime;

namespace {

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
