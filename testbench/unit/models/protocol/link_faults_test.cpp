// SPDX-License-Identifier: Apache-2.0
#include "models/protocol/link_faults.hpp"

#include <bit>
#include <utility>
#include <vector>

#include "testbench/support/test.hpp"

using namespace diecast;
using config::fault_setting;

namespace {

constexpr sim_time one_ns{1'000'000};

diecast::abi::packet_header data_packet() {
  diecast::abi::packet_header h;
  h.kind = diecast::abi::packet_kind::ipcq_data;
  h.payload_bytes = 64;
  return h;
}
diecast::abi::packet_header credit_packet() {
  diecast::abi::packet_header h;
  h.kind = diecast::abi::packet_kind::ipcq_credit;
  return h;
}

fault_setting fault(config::fault_kind kind, std::uint64_t after = 0, std::uint64_t count = 1) {
  fault_setting f;
  f.kind = kind;
  f.after = after;
  f.count = count;
  return f;
}

std::vector<config::placed_fault> placed(const std::vector<fault_setting>& settings) {
  std::vector<config::placed_fault> all;
  all.reserve(settings.size());
  for (const fault_setting& f : settings) all.push_back({f, 7 + all.size()});
  return all;
}

/// Part of a message of 128 bytes in two packets.
diecast::abi::packet_header part(bool last, std::uint16_t sender = 0) {
  diecast::abi::packet_header h = data_packet();
  h.source.terminal = sender;
  h.offset = last ? 64 : 0;
  h.ipcq.message_bytes = 128;
  return h;
}

unsigned bits_changed(const std::vector<std::byte>& bytes) {
  unsigned bits = 0;
  for (const std::byte b : bytes) bits += static_cast<unsigned>(std::popcount(std::to_integer<unsigned>(b)));
  return bits;
}

}  // namespace

TEST_CASE("a fault strikes after so many packets, so often, and no others") {
  protocol::link_faults faults(placed({fault(config::fault_kind::drop, 2, 3)}), "here", one_ns);
  std::vector<bool> lost;
  for (unsigned i = 0; i < 8; ++i) {
    std::vector<std::byte> data(64);
    CHECK_FALSE(faults.pass(credit_packet(), data, 1, one_ns * i, one_ns * i).lost);
    lost.push_back(faults.pass(data_packet(), data, 2, one_ns * i, one_ns * i).lost);
  }
  CHECK(lost == std::vector{false, false, true, true, true, false, false, false});
}

TEST_CASE("a flipped bit is one bit, the same for the same seed and place") {
  const auto flipped = [](std::uint64_t seed, const char* place) {
    fault_setting f = fault(config::fault_kind::bit_flip);
    f.seed = seed;
    protocol::link_faults faults(placed({f}), place, one_ns);
    std::vector<std::byte> data(64);
    CHECK_FALSE(faults.pass(data_packet(), data, 2, one_ns, one_ns).lost);
    return data;
  };
  const auto once = flipped(1, "a");
  CHECK(bits_changed(once) == 1);
  CHECK(flipped(1, "a") == once);
  CHECK(flipped(2, "a") != once);
  CHECK(flipped(1, "b") != once);
}

TEST_CASE("a link that is down stays down for every packet") {
  protocol::link_faults faults(placed({fault(config::fault_kind::link_down, 1)}), "here", one_ns);
  std::vector<std::byte> data(64);
  CHECK_FALSE(faults.pass(data_packet(), data, 2, one_ns, one_ns).held);
  for (unsigned i = 0; i < 5; ++i) CHECK(faults.pass(credit_packet(), data, 1, one_ns, one_ns).held);
}

TEST_CASE("late credits stay in order, and data does not wait for them") {
  fault_setting f = fault(config::fault_kind::late_credit);
  f.delay_ns = 100;
  protocol::link_faults faults(placed({f}), "here", one_ns);
  std::vector<std::byte> data(64);
  CHECK(faults.pass(credit_packet(), data, 1, one_ns * 10, one_ns * 10).delay == one_ns * 100);
  CHECK(faults.pass(credit_packet(), data, 1, one_ns * 50, one_ns * 50).delay == one_ns * 60);
  CHECK(faults.pass(data_packet(), data, 1, one_ns * 60, one_ns * 60).delay == sim_time{});
  CHECK(faults.pass(credit_packet(), data, 1, one_ns * 110, one_ns * 110).delay == sim_time{});
}

TEST_CASE("a late credit whose tail is behind its head is not overtaken") {
  fault_setting f = fault(config::fault_kind::late_credit);
  f.delay_ns = 100;
  protocol::link_faults faults(placed({f}), "here", one_ns);
  std::vector<std::byte> data(64);
  const auto arrival_of = [&](unsigned head, unsigned tail) {
    const auto v = faults.pass(credit_packet(), data, 1, one_ns * head, one_ns * tail);
    return std::pair(one_ns * head + v.delay, one_ns * tail + v.delay + v.stretch);
  };
  auto before = arrival_of(10, 11);
  for (const auto& [head, tail] :
       {std::pair{20U, 20U}, {30U, 32U}, {109U, 109U}, {112U, 112U}, {130U, 130U}}) {
    const auto next = arrival_of(head, tail);
    CAPTURE(head);
    CHECK(next.first >= before.first);
    CHECK(next.second >= before.second);
    before = next;
  }
  CHECK(before == std::pair(one_ns * 130, one_ns * 130));
}

TEST_CASE("a degraded link serves packets one after the other at its rate") {
  fault_setting f = fault(config::fault_kind::link_degraded);
  f.factor = 4;
  protocol::link_faults faults(placed({f}), "here", one_ns);
  std::vector<std::byte> data(64);
  // At a quarter of the rate the second flit comes 4 ns after the first, and the wire is free 4 ns later.
  const auto first = faults.pass(data_packet(), data, 2, one_ns * 10, one_ns * 11);
  CHECK(first.delay == sim_time{});
  CHECK(first.stretch == one_ns * 3);
  const auto second = faults.pass(data_packet(), data, 2, one_ns * 12, one_ns * 13);
  CHECK(second.delay == one_ns * 6);
  CHECK(second.stretch == one_ns * 3);
}

TEST_CASE("a probability strikes about that often and nothing before its time") {
  fault_setting f = fault(config::fault_kind::drop, 0, 0);
  f.probability = 0.25;
  f.from_us = 1.0;
  protocol::link_faults faults(placed({f}), "here", one_ns);
  std::vector<std::byte> data(64);
  unsigned early = 0, late = 0;
  for (unsigned i = 0; i < 1000; ++i)
    if (faults.pass(data_packet(), data, 2, one_ns * i, one_ns * i).lost) ++early;
  for (unsigned i = 0; i < 4000; ++i)
    if (faults.pass(data_packet(), data, 2, one_ns * (1000 + i), one_ns * (1001 + i)).lost) ++late;
  CHECK(early == 0);
  CHECK(late > 850);
  CHECK(late < 1150);
}

TEST_CASE("the end of a message in the buffer of a link loses that of the sender's next") {
  fault_setting f = fault(config::fault_kind::premature_barrier, 1, 0);
  f.delay_ns = 100;
  protocol::link_faults faults(placed({f}), "here", one_ns);
  std::vector<std::byte> data(64);
  const auto pass = [&](const diecast::abi::packet_header& h, unsigned at) {
    return faults.pass(h, data, 2, one_ns * at, one_ns * at);
  };
  CHECK(pass(part(true), 5).delay == sim_time{});  // the first goes right
  CHECK(pass(part(false), 10).delay == sim_time{});
  CHECK(pass(part(true), 12).delay == one_ns * 100);
  // What is not the end passes, and others have places of their own.
  CHECK_FALSE(pass(part(false), 20).lost);
  CHECK(pass(part(true, 1), 30).delay == one_ns * 100);
  CHECK(pass(part(true), 40).lost);
  CHECK_FALSE(pass(credit_packet(), 50).lost);
  CHECK(pass(part(true), 112).delay == one_ns * 100);  // flushed meanwhile
}

TEST_CASE("two faults of one link that hold ends of messages have a buffer each") {
  fault_setting f = fault(config::fault_kind::premature_barrier, 0, 0);
  f.delay_ns = 100;
  protocol::link_faults faults(placed({f, f}), "here", one_ns);
  std::vector<std::byte> data(64);
  const auto first = faults.pass(part(true), data, 2, one_ns * 5, one_ns * 5);
  CHECK_FALSE(first.lost);
  CHECK(first.delay == one_ns * 200);
  CHECK(faults.pass(part(true), data, 2, one_ns * 50, one_ns * 50).lost);
}

TEST_CASE("a place tells the chances and hits of each of its faults") {
  protocol::link_faults faults(
      placed({fault(config::fault_kind::drop, 2, 1), fault(config::fault_kind::late_credit)}), "here",
      one_ns);
  std::vector<std::byte> data(64);
  for (unsigned i = 0; i < 4; ++i)
    static_cast<void>(faults.pass(data_packet(), data, 2, one_ns * i, one_ns * i));
  const auto tallies = faults.tallies();
  REQUIRE(tallies.size() == 2);
  CHECK(tallies[0].number == 7);
  CHECK(tallies[0].chances == 4);
  CHECK(tallies[0].met == 1);
  CHECK(tallies[1].number == 8);
  CHECK(tallies[1].chances == 0);
  CHECK(tallies[1].met == 0);
}

TEST_CASE("another draw strikes other packets, in the same bits") {
  fault_setting f = fault(config::fault_kind::bit_flip, 0, 0);
  f.probability = 0.5;
  const auto struck = [&f](std::uint64_t draw) {
    protocol::link_faults faults({{f, 0, draw}}, "here", one_ns);
    std::vector<std::vector<std::byte>> all(64, std::vector<std::byte>(64));
    for (auto& data : all) static_cast<void>(faults.pass(data_packet(), data, 2, one_ns, one_ns));
    return all;
  };
  const auto given = struck(0), other = struck(1);
  CHECK(given == struck(0));
  CHECK(other != given);
  for (std::size_t i = 0; i < given.size(); ++i)
    if (bits_changed(given[i]) == 1 && bits_changed(other[i]) == 1) CHECK(given[i] == other[i]);
  f.probability = 1;
  CHECK(struck(0) == struck(1));  // what always acts is the same in every draw
}

TEST_CASE("what a rendezvous reads is data, other reads are not") {
  for (const config::fault_kind kind :
       {config::fault_kind::bit_flip, config::fault_kind::drop, config::fault_kind::duplicate}) {
    protocol::link_faults faults(placed({fault(kind, 0, 0)}), "here", one_ns);
    diecast::abi::packet_header h = data_packet();
    h.kind = diecast::abi::packet_kind::read_response;
    std::vector<std::byte> data(64);
    static_cast<void>(faults.pass(h, data, 2, one_ns, one_ns));
    CHECK(faults.tallies()[0].chances == 0);
    h.transaction = diecast::abi::tag_read_bit | 3;
    static_cast<void>(faults.pass(h, data, 2, one_ns, one_ns));
    CHECK(faults.tallies()[0].met == 1);
  }
}
